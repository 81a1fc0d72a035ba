// SPDX-License-Identifier: Apache-2.0
#include "cmd/livenessprobe/options.h"

#include "lib/base/strings.h"

namespace csinative::livenessprobe {

void Options::Register(cli::FlagSet& flags, cli::AutoMaxProcs* auto_max_procs) {
  logging.Register(flags, auto_max_procs);
  flags.StringFlag("csi-address", &csi_address, "Socket of the CSI driver to check.");
  flags.DurationFlag("probe-timeout", &probe_timeout,
                     "Time limit of one check: connecting to the driver and its answer to Probe.");
  flags.StringFlag("health-port", &health_port,
                   "Deprecated, see http-endpoint. Port on all addresses for /healthz.");
  flags.StringFlag("http-endpoint", &http_endpoint,
                   "Address (host:port, :port) of the HTTP server with /healthz and metrics; "
                   "replaces health-port and metrics-address.");
  flags.StringFlag("metrics-address", &metrics_address,
                   "Deprecated, see http-endpoint. Address of a server for metrics alone.");
  flags.StringFlag("metrics-path", &metrics_path, "Path of the metrics.");
  flags.BoolFlag("once", &once,
                 "Check the driver once within probe-timeout and exit with 0 if it is ready and "
                 "with 1 if not; opens no port. For exec probes.");
}

Status Options::CheckListeners() const {
  if (http_endpoint.empty()) return Status();
  if (health_port != kDefaultHealthPort) {
    return InvalidArgumentError("Only one of `--health-port` and `--http-endpoint` can be set");
  }
  if (!metrics_address.empty()) {
    return InvalidArgumentError("Only one of `--metrics-address` and `--http-endpoint` can be set");
  }
  return Status();
}

std::string Options::HealthAddress() const {
  return http_endpoint.empty() ? StrCat("0.0.0.0:", health_port) : http_endpoint;
}

}  // namespace csinative::livenessprobe
