// SPDX-License-Identifier: Apache-2.0
#include "cmd/livenessprobe/program.h"

#include <cstdio>
#include <utility>

#include "lib/async/sync.h"
#include "lib/base/strings.h"
#include "lib/csi/connect.h"
#include "lib/csi/identity.h"
#include "lib/metrics/process_collector.h"
#include "lib/sidecar/debug_process.h"
#include "lib/sidecar/diagnostics.h"

namespace csinative::livenessprobe {
namespace {

// Clients of one server at a time; later ones wait to be accepted. A client costs 7 KiB while it
// waits, so that all of them fit into the 32 MiB that published manifests give the container.
constexpr size_t kMaxClients = 2048;

// Longer than the checks of a kubelet are apart: a start of the library costs more, in processor
// time and in wakeups, than half a minute of keeping it.
constexpr Duration kLibraryHold = std::chrono::seconds(60);

}  // namespace

Program::Program(sidecar::RealProcess& process, const Options& options)
    : process_(process),
      options_(options),
      operations_(std::make_shared<metrics::CsiOperations>(process.metrics())) {
  metrics::AddProcessCollector(process.metrics(), process.loop(), {.start_time_only = true});
}

async::Task<int> Program::Run() {
  const log::Logger& log = process_.log();
  if (options_.once) {
    const int code = co_await CheckOnce();
    co_return code;
  }
  const Result<std::string> driver = co_await LearnDriverName();
  if (!driver.ok()) co_return 1;
  log.Info("CSI driver name", "driver", *driver);
  operations_->SetDriverName(*driver);
  if (!ServeMetricsAlone()) co_return 1;
  AddHealthCheck(*driver);
  // Upstream: a server that cannot start is not a failure of the program.
  if (!ServeHealth()) co_return 0;
  async::Event never;
  (void)co_await never.Wait();
  co_return 1;
}

async::Task<int> Program::CheckOnce() {
  AddHealthCheck("");
  const HealthReport report = co_await health_->Report();
  std::printf("%s\n", report.body.c_str());
  co_return report.status == 200 ? 0 : 1;
}

async::Task<Result<std::unique_ptr<rpc::Channel>>> Program::Connect() {
  csi::ConnectConfig config{.loop = &process_.loop(), .random = &process_.random()};
  config.observed = {.log = process_.log(), .operations = operations_, .running = calls_};
  config.limit = std::nullopt;
  auto channel = co_await csi::Connect(std::move(config), options_.csi_address);
  if (!channel.ok()) co_return channel.status();
  co_return std::unique_ptr<rpc::Channel>(std::move(channel).value());
}

async::Task<Result<std::string>> Program::LearnDriverName() {
  const log::Logger& log = process_.log();
  auto channel = co_await Connect();
  if (!channel.ok()) {
    log.Error(channel.status(), "Failed to establish connection to CSI driver");
    co_return channel.status();
  }
  log.Info("Calling CSI driver to discover driver name");
  Result<std::string> name = co_await csi::GetDriverName(**channel);
  if (!name.ok()) log.Error(name.status(), "Failed to get CSI driver name");
  co_return name;
}

bool Program::ServeMetricsAlone() {
  const std::string& address = options_.metrics_address;
  if (address.empty()) return true;
  const Status handled =
      sidecar::HandleMetrics(process_, metrics_mux_, {.metrics_path = options_.metrics_path});
  if (!handled.ok()) return false;
  process_.log().Info("Separate metrics ServeMux listening", "address", address);
  auto server =
      http::Listen(process_.real_loop(), {.address = address, .max_connections = kMaxClients},
                   metrics_mux_.AsHandler());
  if (!server.ok()) {
    process_.log().Error(
        server.status(),
        "Failed to start prometheus metrics endpoint on specified address and path", "addr",
        address, "path", options_.metrics_path);
    return false;
  }
  metrics_server_ = *std::move(server);
  return true;
}

void Program::AddHealthCheck(const std::string& driver) {
  driver_ = driver;
  health_.emplace(HealthCheck::Config{.log = process_.log(),
                                      .driver = driver,
                                      .timeout = options_.probe_timeout,
                                      .connect = [this] { return Connect(); }});
}

bool Program::ServeHealth() {
  const std::string address = options_.HealthAddress();
  Status handled;
  if (options_.metrics_beside_health()) {
    handled =
        sidecar::HandleMetrics(process_, health_mux_, {.metrics_path = options_.metrics_path});
  }
  if (handled.ok()) {
    handled = health_mux_.Handle(
        "/healthz",
        [this](http::ServerRequest, http::ResponseWriter* writer) { return AnswerHealth(writer); });
    if (!handled.ok()) process_.Panic(handled.message());
  }
  if (!handled.ok()) return false;
  if (!options_.http_endpoint.empty()) {
    // A metrics path of that name has been there first.
    (void)serve::HandleDebug(health_mux_, [this] { return TakeSnapshot(); });
  }
  process_.log().Info("ServeMux listening", "address", address);
  auto server =
      http::Listen(process_.real_loop(), {.address = address, .max_connections = kMaxClients},
                   health_mux_.AsHandler());
  if (!server.ok()) {
    process_.log().Error(server.status(), "Failed to start http server");
    return false;
  }
  health_server_ = *std::move(server);
  return true;
}

async::Task<void> Program::AnswerHealth(http::ResponseWriter* writer) {
  HoldLibrary();
  HealthReport report = co_await health_->Report();
  HoldLibrary();
  last_report_ = report;
  last_report_time_ = process_.loop().Now();
  http::Response response{.status = report.status, .body = std::move(report.body)};
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  // Fails when the client has left.
  (void)co_await writer->Send(std::move(response));
}

serve::DebugSnapshot Program::TakeSnapshot() {
  serve::DebugSnapshot snapshot = sidecar::NewDebugSnapshot(process_);
  const MonotonicTime now = process_.loop().Now();
  snapshot.facts = {
      {"driver", driver_},
      {"driver's socket", options_.csi_address},
      {"checks", StrCat(health_->running(), " run, ", health_->waiting(), " wait")},
      {"last check", last_report_ ? StrCat(last_report_->status, " ", last_report_->body, ", ",
                                           serve::ShortDuration(now - last_report_time_), " ago")
                                  : "none"}};
  sidecar::AddDebugCalls(*calls_, now, &snapshot);
  return snapshot;
}

void Program::HoldLibrary() {
  if (!library_) library_.emplace();
  async::EventLoop& loop = process_.loop();
  release_ = async::ScopedTimer(loop, loop.Now() + kLibraryHold, [this] { library_.reset(); });
}

}  // namespace csinative::livenessprobe
