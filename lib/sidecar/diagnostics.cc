// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/diagnostics.h"

#include <utility>

#include "lib/metrics/exposition.h"
#include "lib/metrics/process_collector.h"

namespace csinative::sidecar {
namespace {

async::Task<http::Response> Metrics(Process* process, std::string start_time,
                                    http::ServerRequest request) {
  const std::vector<std::string> only = serve::QueryValues(request.target, "name[]");
  http::Response response =
      serve::MetricsResponse(request, metrics::ExposeText(process->metrics(), only));
  if (!start_time.empty()) response.headers.Set("Process-Start-Time-Unix", start_time);
  co_return response;
}

}  // namespace

Result<std::unique_ptr<Diagnostics>> Diagnostics::Start(RealProcess& process,
                                                        DiagnosticsOptions options) {
  auto diagnostics = std::make_unique<Diagnostics>();
  std::string start_time;
  if (options.start_time_header) {
    start_time =
        std::to_string(static_cast<int64_t>(metrics::ProcessStartTime("", process.loop())));
  }
  Status handled = diagnostics->mux_.Handle(
      options.metrics_path, [process = &process, start_time](http::ServerRequest request) {
        return Metrics(process, start_time, std::move(request));
      });
  if (!handled.ok()) {
    process.Panic(handled.message());
    return handled;
  }
  http::ServerConfig config;
  config.address = options.address;
  CSI_ASSIGN_OR_RETURN(diagnostics->server_, http::Listen(process.real_loop(), std::move(config),
                                                          diagnostics->mux_.AsHandler()));
  return diagnostics;
}

}  // namespace csinative::sidecar
