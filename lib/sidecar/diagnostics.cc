// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/diagnostics.h"

#include <utility>

#include "lib/metrics/exposition.h"
#include "lib/metrics/process_collector.h"
#include "lib/serve/endpoints.h"

namespace csinative::sidecar {

Status HandleMetrics(RealProcess& process, serve::Mux& mux, const DiagnosticsOptions& options) {
  serve::MetricsOptions exposed;
  exposed.gather = [process = &process] {
    return serve::GatheredMetrics{metrics::ExposeText(process->metrics()), Status()};
  };
  if (options.start_time_header) {
    exposed.process_start_time_unix =
        static_cast<int64_t>(metrics::ProcessStartTime("", process.loop()));
  } else {
    exposed.on_error = serve::MetricsOptions::OnError::kFail;
  }
  Status handled = mux.Handle(options.metrics_path, serve::MetricsHandler(std::move(exposed)));
  if (!handled.ok()) process.Panic(handled.message());
  return handled;
}

Result<std::unique_ptr<Diagnostics>> Diagnostics::Start(RealProcess& process,
                                                        DiagnosticsOptions options) {
  auto diagnostics = std::make_unique<Diagnostics>();
  CSI_RETURN_IF_ERROR(HandleMetrics(process, diagnostics->mux_, options));
  http::ServerConfig config;
  config.address = options.address;
  CSI_ASSIGN_OR_RETURN(diagnostics->server_, http::Listen(process.real_loop(), std::move(config),
                                                          diagnostics->mux_.AsHandler()));
  return diagnostics;
}

}  // namespace csinative::sidecar
