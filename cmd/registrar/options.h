// SPDX-License-Identifier: Apache-2.0
//
// The flags of csi-node-driver-registrar (registrar 3.1). Start-up only.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/common_flags.h"
#include "lib/cli/flag_set.h"

namespace csinative::registrar {

// The value of --mode that once made an exec probe of the program. All others mean nothing.
inline constexpr char kProbeMode[] = "kubelet-registration-probe";

struct Options {
  cli::LoggingFlags logging;
  bool version = false;
  std::string csi_address = "/run/csi/socket";
  std::string kubelet_registration_path;  // required; told to the kubelet, never looked at
  std::string plugin_registration_path = "/registration";
  // Of GetPluginInfo, and of GetInfo when /healthz asks itself.
  Duration timeout = std::chrono::seconds(1);
  Duration connection_timeout{};  // deprecated, without effect
  int64_t health_port = 0;        // deprecated; 0 and less: off
  std::string http_endpoint;      // empty: no HTTP server
  bool enable_pprof = false;
  std::string mode;  // deprecated
  // Not in upstream: makes a registration socket that was removed again, without a restart.
  bool recreate_socket = false;

  // Binds all flags to the members. This outlives the parse.
  void Register(cli::FlagSet& flags, cli::AutoMaxProcs* auto_max_procs);

  bool probe_mode() const { return mode == kProbeMode; }
  // Fails when both listener flags are set.
  Status CheckListener() const;
  // The address to listen on, or "".
  std::string ListenAddress() const;
};

}  // namespace csinative::registrar
