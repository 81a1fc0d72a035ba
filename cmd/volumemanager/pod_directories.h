// SPDX-License-Identifier: Apache-2.0
//
// Removes what is left on disk of pods that are gone (volumemanager 14.2): of pods that were seen,
// and of those that were found on disk at the start and that the API does not know. Only ever
// directories, and only empty ones: whatever else is found stays and is reported. What a container
// agent keeps there (kubernetes.io~empty-dir, containers) stays even when it is empty, and the
// pod's directory with it. Loop only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cmd/volumemanager/config.h"
#include "cmd/volumemanager/node_state.h"
#include "cmd/volumemanager/paths.h"
#include "lib/async/blocking.h"
#include "lib/async/task.h"
#include "lib/log/logger.h"
#include "lib/mount/file_system.h"

namespace csinative::volumemanager {

class PodDirectories {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    async::EventLoop* loop;
    mount::FileSystem* fs;
    async::BlockingExecutor* blocking;
    NodeState* state;
    Config config;
    log::Logger log;
  };
  explicit PodDirectories(Deps deps) : deps_(std::move(deps)), paths_(deps_.config.root) {}

  // Until cancelled.
  async::Task<void> Run();

 private:
  async::Task<void> Sweep();
  void ReportLeft(const std::string& uid, bool ours);
  // Nothing of the pod is, or can be, in use on this node.
  bool IsOver(const std::string& uid) const;

  const Deps deps_;
  const Paths paths_;
  std::set<std::string> stuck_;  // reported
};

}  // namespace csinative::volumemanager
