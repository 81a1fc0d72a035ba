// SPDX-License-Identifier: Apache-2.0
//
// The flags of csi-attacher (attacher 2). Start-up only.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/attacher/config.h"
#include "lib/base/clock.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/common_flags.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"

namespace csinative::attacher {

struct Options {
  cli::CommonFlags common;
  cli::LoggingFlags logging;
  cli::GateMap gates;

  Duration resync = std::chrono::minutes(10);
  Duration timeout = std::chrono::seconds(15);
  Duration retry_interval_start = std::chrono::seconds(1);
  Duration retry_interval_max = std::chrono::minutes(5);
  uint64_t worker_threads = 10;
  int64_t max_entries = 0;
  std::string default_fstype;
  Duration reconcile_sync = std::chrono::minutes(1);
  int64_t max_grpc_log_length = -1;

  // Binds all flags to the members. `gates_known` and this outlive the parse.
  void Register(cli::FlagSet& flags, const cli::FeatureGates& gates_known,
                cli::AutoMaxProcs* auto_max_procs);

  // What the controllers are told. Gates have been applied.
  AttachConfig ToConfig(const cli::FeatureGates& gates) const;
};

}  // namespace csinative::attacher
