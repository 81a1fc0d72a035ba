// SPDX-License-Identifier: Apache-2.0
//
// The diagnostics server of a sidecar: metrics, and what the program adds (common 10). Loop only.
#pragma once

#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/http/server.h"
#include "lib/serve/mux.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

struct DiagnosticsOptions {
  std::string address;
  std::string metrics_path;
  // Process-Start-Time-Unix header on metrics answers: all but csi-provisioner (common 9.8).
  bool start_time_header = true;
  // Families promhttp_metric_handler_*, about the scrapes themselves: csi-provisioner (provisioner
  // 18).
  bool scrape_metrics = false;
};

// Adds the metrics path to a mux of a program with servers of its own. A path that cannot be served
// panics: exit 2. `process` outlives the mux.
Status HandleMetrics(RealProcess& process, serve::Mux& mux, const DiagnosticsOptions& options);

class Diagnostics {
 public:
  // Binds and serves the metrics path; other paths may be added to mux() at any time. A metrics
  // path that cannot be served panics: exit 2. `process` outlives it.
  static Result<std::unique_ptr<Diagnostics>> Start(RealProcess& process,
                                                    DiagnosticsOptions options);

  serve::Mux& mux() { return mux_; }
  int port() const { return server_->port(); }
  // REQUIRED before destruction.
  async::Task<void> Close() { return server_->Close(); }

 private:
  serve::Mux mux_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace csinative::sidecar
