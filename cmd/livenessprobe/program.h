// SPDX-License-Identifier: Apache-2.0
//
// livenessprobe after its flags are read: waits for the driver, learns its name, and then answers
// /healthz with what the driver says (registrar 4.2). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/livenessprobe/health.h"
#include "cmd/livenessprobe/options.h"
#include "lib/async/task.h"
#include "lib/csi/observed_channel.h"
#include "lib/http/server.h"
#include "lib/metrics/csi_operations.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/library.h"
#include "lib/serve/debug_page.h"
#include "lib/serve/mux.h"
#include "lib/sidecar/process.h"

namespace csinative::livenessprobe {

class Program {
 public:
  // Borrowed: both outlive the program.
  Program(sidecar::RealProcess& process, const Options& options);

  // The exit code, if it ends at all.
  async::Task<int> Run();

 private:
  async::Task<int> CheckOnce();
  // Waits without limit for the driver to come up.
  async::Task<Result<std::string>> LearnDriverName();
  // A new connection. Fails at once only for addresses that no driver can have.
  async::Task<Result<std::unique_ptr<rpc::Channel>>> Connect();
  // Both false when the program has to end. A metrics path that cannot be served panics.
  bool ServeMetricsAlone();
  bool ServeHealth();
  void AddHealthCheck(const std::string& driver);
  async::Task<void> AnswerHealth(http::ResponseWriter* writer);
  serve::DebugSnapshot TakeSnapshot();
  // Checks that follow each other soon share the library's start.
  void HoldLibrary();

  sidecar::RealProcess& process_;
  const Options& options_;
  std::shared_ptr<metrics::CsiOperations> operations_;
  // For /debug.
  const std::shared_ptr<csi::ObservedChannel::Calls> calls_ =
      std::make_shared<csi::ObservedChannel::Calls>();
  std::string driver_;  // empty with --once
  std::optional<HealthReport> last_report_;
  MonotonicTime last_report_time_{};
  std::optional<HealthCheck> health_;
  std::optional<rpc::LibraryHold> library_;  // until release_
  async::ScopedTimer release_;
  serve::Mux health_mux_;
  serve::Mux metrics_mux_;
  std::unique_ptr<http::Server> health_server_;
  std::unique_ptr<http::Server> metrics_server_;
};

}  // namespace csinative::livenessprobe
