// SPDX-License-Identifier: Apache-2.0
//
// The flags of livenessprobe (registrar 4.1). There is no --version. Start-up only.
#pragma once

#include <string>

#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/common_flags.h"
#include "lib/cli/flag_set.h"

namespace csinative::livenessprobe {

// A --health-port of this value counts as not given.
inline constexpr char kDefaultHealthPort[] = "9808";

struct Options {
  cli::LoggingFlags logging;
  std::string csi_address = "/run/csi/socket";
  // Of one check: connecting to the driver, and its Probe.
  Duration probe_timeout = std::chrono::seconds(3);
  std::string health_port = kDefaultHealthPort;  // deprecated; also a service's name
  std::string http_endpoint;                     // of /healthz and of the metrics
  std::string metrics_address;                   // deprecated; of the metrics alone
  std::string metrics_path = "/metrics";
  // Not in upstream: one check, no server. The health check of pods that must open no port.
  bool once = false;

  // Binds all flags to the members. This outlives the parse.
  void Register(cli::FlagSet& flags, cli::AutoMaxProcs* auto_max_procs);

  // Fails when more than one of the listener flags is set.
  Status CheckListeners() const;
  // Where /healthz is served.
  std::string HealthAddress() const;
  // Whether the server of /healthz has the metrics too.
  bool metrics_beside_health() const { return metrics_address.empty() && !http_endpoint.empty(); }
};

}  // namespace csinative::livenessprobe
