// SPDX-License-Identifier: Apache-2.0
//
// Ending on request instead of at once: what the gate ReleaseLeaderElectionOnExit turns on
// (common 17.1). Loop only.
#pragma once

#include "lib/async/task.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

// Runs the work; TERM or INT cancels it, the second one ends the process with exit code 1. Returns
// when the work has ended. Once. `process` outlives the task.
async::Task<void> RunUntilSignal(RealProcess* process, async::Task<void> work);

}  // namespace csinative::sidecar
