// SPDX-License-Identifier: Apache-2.0
//
// Takes our finalizer off snapshots that no waiting claim is to be filled from any more: restores
// that failed for good, were given up, or whose process died (provisioner 15.2). Loop only.
//
// Differs: snapshots are listed at each sweep, page by page; upstream keeps all of them in a cache
// between two sweeps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cmd/provisioner/document.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class SnapshotSweep {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    kube::Client* client;
    log::Logger log;
    Duration interval;  // between the end of a sweep and the next one; 0 and less: never
    std::function<bool(const std::string& snapshot_key)> needed;  // by a claim
  };
  explicit SnapshotSweep(Deps deps) : deps_(std::move(deps)) {}

  // Asks whether the cluster has snapshots at all; upstream does at its start, on every replica.
  // Run() does where this was not called.
  async::Task<void> Prepare();
  // Sweeps at once and then again and again, until cancelled. Returns at once when the cluster does
  // not let us list snapshots. One that does not know them may learn of them later.
  async::Task<void> Run();

 private:
  async::Task<bool> SnapshotsAreServed();
  async::Task<bool> MayList();
  async::Task<Status> SweepOnce();
  async::Task<Result<rapidjson::Document>> ListPage(std::string continue_token, int limit);
  async::Task<void> ReleaseOrphan(kube::ObjectName name);

  const Deps deps_;
  std::optional<bool> served_;
};

}  // namespace csinative::provisioner
