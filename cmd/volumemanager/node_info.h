// SPDX-License-Identifier: Apache-2.0
//
// What the API says of this node's drivers: the CSINode object, and annotation and labels of the
// Node (volumemanager-csi 15). Loop only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/async/sync.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::volumemanager {

// What NodeGetInfo of a driver says.
struct DriverNodeInfo {
  std::string node_id;
  int64_t max_volumes = 0;  // 0: no limit
  std::map<std::string, std::string> topology;
};

class NodeInfo {
 public:
  // Borrowed parts outlive this.
  NodeInfo(kube::Client& client, Random& random, log::Logger log, std::string node)
      : client_(client), random_(random), log_(std::move(log)), node_(std::move(node)) {}

  // Makes a CSINode that belongs to this Node, and tells the control plane that it attaches volumes
  // here. Tries until it works or is cancelled. Differs: upstream ends after six attempts, and
  // lets drivers register before it is done.
  async::Task<Status> Initialize();
  // Initialize(), and then, until cancelled, makes again what somebody has deleted together with
  // the Node or alone: the CSINode of this Node, with the drivers that are installed. Looks every
  // minute or so, and at once when the Node is another one. Differs: with upstream the node has no
  // CSINode until kubelet starts again.
  async::Task<void> Run();
  // The Node has this UID.
  void OnNode(const std::string& uid);

  // Each waits for Initialize(), and tries four times.
  async::Task<Status> Install(std::string driver, DriverNodeInfo info);
  async::Task<Status> Uninstall(std::string driver);

 private:
  async::Task<Status> InitializeOnce();
  async::Task<Status> InstallOnce(std::string driver, DriverNodeInfo info);
  async::Task<Status> UninstallOnce(std::string driver);
  async::Task<Status> AnnotateNode(std::string driver, DriverNodeInfo info);
  async::Task<Status> WriteCsiNode(std::string driver, DriverNodeInfo info);
  async::Task<Status> CreateCsiNode();
  // Deletes one of an earlier Node of this name; Ok: there is none.
  async::Task<Status> DeleteCsiNode(std::string uid);
  void LookSoon();
  async::Task<Status> Restore();
  async::Task<Result<bool>> IsComplete();
  async::Task<Status> PatchNode(std::string body);
  // Runs `attempt` up to four times.
  async::Task<Status> Retry(const char* what, std::function<async::Task<Status>()> attempt);

  kube::Client& client_;
  Random& random_;
  const log::Logger log_;
  const std::string node_;
  std::string node_uid_;  // as last read
  std::string seen_uid_;  // as last told by OnNode()
  std::map<std::string, DriverNodeInfo> installed_;
  async::Event initialized_;
  bool complete_ = true;  // false: something of Node or CSINode is to be written again
  async::Event look_;
  async::Semaphore one_at_a_time_{1};
};

}  // namespace csinative::volumemanager
