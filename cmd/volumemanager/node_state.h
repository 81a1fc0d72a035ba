// SPDX-License-Identifier: Apache-2.0
//
// What the controllers of one node share, and how they wake each other. Loop only.
#pragma once

#include <optional>

#include "cmd/volumemanager/actual_state.h"
#include "cmd/volumemanager/desired_state.h"
#include "cmd/volumemanager/pending_operations.h"
#include "cmd/volumemanager/pod_state.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"

namespace csinative::volumemanager {

// "Look again": remembered until somebody does.
class Wakeup {
 public:
  void Notify() { event_.Set(); }
  // Until notified, or `until`. Fails only when cancelled.
  async::Task<Status> Wait(MonotonicTime until) {
    (void)co_await async::WithDeadline(until, event_.Wait());
    event_.Reset();
    co_return co_await async::CancellationStatus();
  }

 private:
  async::Event event_;
};

struct NodeState {
  NodeState(const Clock& clock, PodStates::Options options)
      : pods(clock, options), pending(clock) {}

  DesiredState desired;
  ActualState actual;
  PodStates pods;
  PendingOperations pending;
  // Every pod of the first list was looked at once: from now on what is not desired may go.
  bool pods_added = false;
  // For what could not be read on disk somebody else was asked.
  bool disk_known = false;
  // The Node has told what is attached: what was found on disk is complete.
  bool states_synced = false;

  Wakeup reconcile;    // desired or actual state may have changed
  Wakeup report;       // what is in use may have changed
  Wakeup directories;  // nothing of some pod may be left
};

}  // namespace csinative::volumemanager
