// SPDX-License-Identifier: Apache-2.0
//
// What a controller's program does once everything is connected: lead, if that has to be won first,
// and end (common 11, 17.1). Loop only.
#pragma once

#include <chrono>
#include <functional>

#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/sidecar/election.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

// How long calls to the driver may take to finish after the process was told to end; well within
// the 30 s that Kubernetes gives a pod by default.
inline constexpr Duration kLastCalls = std::chrono::seconds(10);

// kAtSignal: a signal cancels the work instead of ending the process at once (graceful.h).
enum class Ending { kAtOnce, kAtSignal };

// Runs `lead` as the leader, or at once without an election (null). The exit code of the program.
// Borrowed: both outlive the task.
async::Task<int> RunAsLeader(RealProcess* process, Election* election, Ending ending,
                             std::function<async::Task<void>()> lead);

// Election::CheckMayAct; without an election (null) there is no limit.
Result<MonotonicTime> CheckMayAct(const Election* election);

}  // namespace csinative::sidecar
