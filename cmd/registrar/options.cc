// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/options.h"

#include "lib/base/strings.h"

namespace csinative::registrar {

void Options::Register(cli::FlagSet& flags, cli::AutoMaxProcs* auto_max_procs) {
  logging.Register(flags, auto_max_procs);
  flags.BoolFlag("version", &version, "Print the version and exit.");
  flags.StringFlag("csi-address", &csi_address, "Socket of the CSI driver to register.");
  flags.StringFlag("kubelet-registration-path", &kubelet_registration_path,
                   "Path of the CSI driver's socket on the host, which the kubelet is told. "
                   "Required.");
  flags.StringFlag("plugin-registration-path", &plugin_registration_path,
                   "Existing folder for the registration socket: the kubelet's plugins_registry.");
  flags.DurationFlag("timeout", &timeout, "Time limit of each call to the CSI driver.");
  flags.DurationFlag("connection-timeout", &connection_timeout, "Deprecated, without effect.");
  flags.IntFlag("health-port", &health_port,
                "Deprecated, see http-endpoint. Port on all addresses for the HTTP server; 0 for "
                "none.");
  flags.StringFlag("http-endpoint", &http_endpoint,
                   "Address (host:port, :port) of the HTTP server with /healthz; empty for none.");
  flags.BoolFlag("enable-pprof", &enable_pprof,
                 "Serve profiles under /debug/pprof/ of the HTTP server.");
  flags.StringFlag("mode", &mode,
                   "Deprecated. With kubelet-registration-probe the program exits at once with "
                   "success; other values have no effect.");
  flags.BoolFlag("recreate-socket", &recreate_socket,
                 "Make the registration socket again when it was removed, as when the kubelet's "
                 "folder was wiped, instead of waiting for the restart of the container.");
}

Status Options::CheckListener() const {
  if (health_port > 0 && !http_endpoint.empty()) {
    return InvalidArgumentError("Only one of `--health-port` and `--http-endpoint` can be set");
  }
  return Status();
}

std::string Options::ListenAddress() const {
  return health_port > 0 ? StrCat(":", health_port) : http_endpoint;
}

}  // namespace csinative::registrar
