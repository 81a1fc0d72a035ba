// SPDX-License-Identifier: Apache-2.0
//
// Tells the control plane which volumes this node uses, so that none of them is detached
// (volumemanager 12, 19.5). Written when it changes, not by the clock. Loop only.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "apis/core/v1/node.pb.h"
#include "apis/namespaces.h"
#include "cmd/volumemanager/config.h"
#include "cmd/volumemanager/node_state.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/kube/informer.h"
#include "lib/log/logger.h"

namespace csinative::volumemanager {

// Desired volumes that can be attached, and those that are or may be attached.
std::set<std::string> ComputeVolumesInUse(const NodeState& state);

class VolumesInUse {
 public:
  // Borrowed parts outlive this. `nodes` holds the own Node only.
  struct Deps {
    async::EventLoop* loop;
    kube::Client* client;
    kube::Informer<core::Node>* nodes;
    NodeState* state;
    Config config;
    log::Logger log;
  };
  explicit VolumesInUse(Deps deps) : deps_(std::move(deps)) {}

  // What the Node's object says now.
  void OnNode(const core::Node& node);
  // Until cancelled. The list stays in the API when this ends.
  async::Task<void> Run();

 private:
  async::Task<Status> Write();
  void MarkReported(const core::Node& node);

  const Deps deps_;
};

}  // namespace csinative::volumemanager
