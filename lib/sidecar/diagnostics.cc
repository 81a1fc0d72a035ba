// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/diagnostics.h"

#include <utility>

#include "lib/metrics/exposition.h"
#include "lib/metrics/process_collector.h"
#include "lib/serve/endpoints.h"

namespace csinative::sidecar {
namespace {

// The families of Go's promhttp handler: a scrape is in flight while it is answered, and counted
// afterwards. Gathering does not fail here, so the other codes stay at zero.
std::function<serve::GatheredMetrics()> CountScrapes(
    RealProcess& process, std::function<serve::GatheredMetrics()> gather) {
  auto* in_flight =
      &process.metrics().AddGauge({.name = "promhttp_metric_handler_requests_in_flight",
                                   .help = "Scrapes that are being answered.",
                                   .labels = {}});
  auto* requests = &process.metrics().AddCounter({.name = "promhttp_metric_handler_requests_total",
                                                  .help = "Scrapes by their HTTP status.",
                                                  .labels = {"code"}});
  for (const std::string_view code : {"200", "500", "503"}) requests->With({code});
  return [in_flight, requests, gather = std::move(gather)] {
    in_flight->Only().Set(1);
    serve::GatheredMetrics gathered = gather();
    in_flight->Only().Set(0);
    requests->With({"200"}).Add();
    return gathered;
  };
}

}  // namespace

Status HandleMetrics(RealProcess& process, serve::Mux& mux, const DiagnosticsOptions& options) {
  serve::MetricsOptions exposed;
  exposed.gather = [process = &process] {
    return serve::GatheredMetrics{metrics::ExposeText(process->metrics()), Status()};
  };
  if (options.scrape_metrics) exposed.gather = CountScrapes(process, std::move(exposed.gather));
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
