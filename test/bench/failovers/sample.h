// SPDX-License-Identifier: Apache-2.0
//
// What was measured of one failover, and the table of many. Values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "test/bench/failovers/replica.h"

namespace csinative::failovers {

// How the leader is lost.
enum class Kind {
  kKill,       // kill -9
  kStop,       // SIGSTOP, and SIGCONT once another leads
  kReset,      // its connections break and new ones are refused
  kBlackHole,  // what it sends is acknowledged and goes nowhere
};

struct Sample {
  Kind kind;
  Timing timing;
  Duration takeover{0};  // from the fault until another holds the lease
  // From the fault (kStop: from SIGCONT) to the end of the old leader's process.
  std::optional<Duration> exit;
  // Of the old leader, after another held the lease.
  size_t late_writes = 0;
};

// Takeovers may take this long, by what the options promise.
Duration Limit(const Timing& timing);

// Prints one line for each kind and timing. Fails when a sample breaks a promise: a takeover or an
// exit that took too long, more than one late write of a leader that was stopped, any of another.
Status Report(const std::vector<Sample>& samples);

}  // namespace csinative::failovers
