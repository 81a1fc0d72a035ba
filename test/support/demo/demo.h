// SPDX-License-Identifier: Apache-2.0
//
// One run of the demo. What it plays itself: the user, the scheduler's choice of a node, and of
// kubelet the container: it writes to the volumes, reads them, ends, and the pod object goes when
// its volumes are gone. Everything else is done by the programs. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/pod.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/volumecontroller/attach_detach.h"
#include "cmd/volumecontroller/caches.h"
#include "cmd/volumecontroller/volume_binder.h"
#include "lib/async/real_loop.h"
#include "lib/kube/client.h"
#include "lib/kube/informer.h"
#include "test/support/apiserver/api_server.h"
#include "test/support/child_process.h"
#include "test/support/demo/driver_log.h"
#include "test/support/demo/narrator.h"

namespace csinative::demo {

class Demo {
 public:
  // The programs are in bin_dir. Borrowed: loop and random.
  Demo(async::RealLoop& loop, Random& random, std::string bin_dir);
  ~Demo();

  async::Task<Status> Run();
  void KeepFiles() { dir_.Keep(); }
  const std::string& dir() const { return dir_.path(); }

 private:
  struct Program {
    std::string name;
    test::ChildProcess process;
  };

  async::Task<Status> Live(apiserver::EmbeddedApiServer* api);
  async::Task<Status> Act();
  async::Task<Status> CreateObjects();
  async::Task<Status> RunPod();
  async::Task<Status> EndPod();
  Status StartPrograms(const std::string& kubeconfig);
  Status StartProgram(std::string name, std::vector<std::string> arguments);
  Status UseContainer();
  Status CheckNothingIsLeft();

  // What is shown of each kind.
  void Watch();
  void WatchClaims();
  void WatchVolumes();
  void WatchAttachments();
  void WatchNode();

  async::Task<Status> CreateClass(std::string name, std::string binding_mode);
  async::Task<Status> CreateClaim(std::string name, std::string storage_class);
  // Waits until `done`, watching that the programs live.
  async::Task<Status> Until(std::string what, std::function<bool()> done);
  bool IsBound(const std::string& claim) const;
  // Where the pod finds the volume of a claim.
  std::string TargetOf(const std::string& claim) const;
  bool IsMounted(const std::string& path) const;
  size_t VolumesInDriver() const;
  void OnDriverCall(const DriverCall& call);

  async::RealLoop& loop_;
  Random& random_;
  const std::string bin_dir_;
  test::TempDir dir_;
  const std::string root_;  // kubelet's folder
  Narrator narrator_;
  std::unique_ptr<kube::ApiTransport> transport_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<volumecontroller::Caches> caches_;
  std::unique_ptr<volumecontroller::VolumeBinder> binder_;
  std::unique_ptr<volumecontroller::AttachDetach> attach_detach_;
  std::unique_ptr<kube::Informer<storage::CSINode>> csi_nodes_;
  std::set<std::string> attached_to_node_;
  std::string pod_uid_;
  std::vector<Program> programs_;
};

}  // namespace csinative::demo
