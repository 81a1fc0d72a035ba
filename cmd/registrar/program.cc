// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/program.h"

#include <csignal>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/connect.h"
#include "lib/csi/identity.h"
#include "lib/serve/pprof.h"
#include "lib/sidecar/debug_process.h"

namespace csinative::registrar {
namespace {

// Six wakeups a minute, as DriverWatch.
constexpr Duration kSocketInterval = std::chrono::seconds(10);

}  // namespace

async::Task<int> Program::Run() {
  const bool named = co_await LearnDriverName();
  if (!named) co_return 1;
  // Before there is a socket, so that none stays; it runs once this step has ended.
  HandleSigterm();
  if (!Listen()) co_return 1;
  if (!ServeHttp()) co_return 1;
  async::TaskContext context = co_await async::CurrentContext();
  async::Scope keeping(*context.loop, context.cancel);
  if (options_.recreate_socket) keeping.Spawn(KeepSocket());
  const Result<std::string> other = co_await watch_->WaitForOtherName();
  if (other.ok()) TakeBackRenamed(*other);
  co_await keeping.Close();
  co_return 1;
}

bool Program::Fail(const Status& status, std::string text) {
  process_.log().Error(status, text);
  process_.Exit(1);
  return false;
}

async::Task<Result<std::unique_ptr<csi::ObservedChannel>>> Program::DialDriver() {
  process_.log().V(1).Info("Attempting to open a gRPC connection", "csiAddress",
                           options_.csi_address);
  csi::ConnectConfig config{.loop = &process_.loop(), .random = &process_.random()};
  config.observed.log = process_.log();
  config.observed.running = calls_;
  return csi::Connect(std::move(config), options_.csi_address);
}

async::Task<Result<std::string>> Program::AskName(rpc::Channel* channel) {
  process_.log().V(1).Info("Calling CSI driver to discover driver name");
  return async::WithTimeout(options_.timeout, csi::GetDriverName(*channel));
}

async::Task<bool> Program::LearnDriverName() {
  const log::Logger& log = process_.log();
  auto channel = co_await DialDriver();
  if (!channel.ok()) co_return Fail(channel.status(), "Error connecting to CSI driver");
  Result<std::string> name = co_await AskName(channel->get());
  // Spelled as upstream spells it.
  if (!name.ok()) co_return Fail(name.status(), "Error retreiving CSI driver name");
  driver_ = *std::move(name);
  driver_asked_ = Asked{driver_, process_.loop().Now()};
  log.V(2).Info("CSI driver name", "csiDriverName", driver_);
  watch_.emplace(DriverWatch::Config{
      .address = options_.csi_address, .driver = driver_, .log = log, .ask_name = [this] {
        return AskAgain();
      }});
  // Differs: the connection ends here. Upstream keeps it, unused, for the life of the process.
  co_return true;
}

async::Task<Result<std::string>> Program::DialAndAskName() {
  CSI_CO_ASSIGN_OR_RETURN(const std::unique_ptr<csi::ObservedChannel> channel,
                          co_await DialDriver());
  co_return co_await AskName(channel.get());
}

async::Task<Result<std::string>> Program::AskAgain() {
  Result<std::string> name = co_await DialAndAskName();
  driver_asked_ = Asked{name.ok() ? *name : name.status().message(), process_.loop().Now()};
  co_return name;
}

bool Program::Listen() {
  const log::Logger& log = process_.log();
  socket_.emplace(SocketPath(options_.plugin_registration_path, driver_));
  Status status = RemoveStaleSocket(socket_->path());
  if (!status.ok()) return Fail(status, "");
  service_.emplace(RegistrationService::Config{
      .driver = driver_,
      .endpoint = options_.kubelet_registration_path,
      .log = log,
      .on_refused = [this] { process_.Exit(1); },
  });
  if (!StartRegistration()) {
    process_.Exit(1);
    return false;
  }
  return true;
}

bool Program::StartRegistration() {
  const log::Logger& log = process_.log();
  registration_ = rpc::NewServer(process_.loop());
  service_->Register(*registration_);
  log.Info("Starting Registration Server", "socketPath", socket_->path());
  const Status status =
      socket_->Create([this] { return registration_->Start("unix:" + socket_->path()); });
  if (!status.ok()) {
    log.Error(status, "Failed to listen on socket", "socketPath", socket_->path());
    registration_.reset();
    return false;
  }
  log.Info("Registration Server started", "socketPath", socket_->path());
  return true;
}

async::Task<void> Program::KeepSocket() {
  while (true) {
    const Status slept = co_await async::Sleep(kSocketInterval);
    if (!slept.ok()) co_return;
    if (!socket_->Missing()) continue;
    process_.log().Info("Registration socket was removed, making it again", "socketPath",
                        socket_->path());
    // The end of a server takes away what is at its path: before the next one begins.
    if (registration_) co_await registration_->Close();
    (void)StartRegistration();  // otherwise after the next interval
  }
}

void Program::HandleSigterm() {
  process_.real_loop().OnSignal({SIGTERM}, [this](int) { TakeBack(); });
}

void Program::TakeBack() {
  const Result<RegistrationSocket::Removal> removed = socket_->Remove();
  if (!removed.ok()) {
    process_.log().Error(removed.status(), "Failed to remove socket with error", "socket",
                         socket_->path());
    process_.Exit(1);
    return;
  }
  if (*removed == RegistrationSocket::Removal::kNotOurs) {
    process_.log().Info("Leaving the registration socket to the process that replaced it",
                        "socketPath", socket_->path());
  }
  process_.Exit(0);
}

void Program::TakeBackRenamed(const std::string& name) {
  process_.log().Error(nullptr,
                       "CSI driver has another name now, restarting registration container",
                       "csiDriverName", driver_, "newName", name);
  const Result<RegistrationSocket::Removal> removed = socket_->Remove();
  if (!removed.ok()) {
    process_.log().Error(removed.status(), "Failed to remove socket with error", "socket",
                         socket_->path());
  }
  process_.Exit(1);
}

bool Program::ServeHttp() {
  const log::Logger& log = process_.log();
  const std::string address = options_.ListenAddress();
  if (address.empty()) {
    log.Info("Skipping HTTP server");
    return true;
  }
  log.Info("Starting HTTP server", "endpoint", address);
  health_.emplace(HealthCheck::Config{
      .loop = &process_.loop(),
      .random = &process_.random(),
      .log = log,
      .socket_path = socket_->path(),
      .driver = driver_,
      .timeout = options_.timeout,
  });
  Status status = mux_.Handle(
      "/healthz",
      [this](http::ServerRequest, http::ResponseWriter* writer) { return AnswerHealth(writer); });
  if (status.ok() && options_.enable_pprof) {
    log.Info("Starting profiling", "endpoint", address);
    status = serve::HandlePprof(mux_);
  }
  if (!status.ok()) return Fail(status, "");
  if (!options_.http_endpoint.empty()) {
    status = serve::HandleDebug(mux_, [this] { return TakeSnapshot(); });
    if (!status.ok()) return Fail(status, "");
  }
  auto server = http::Listen(process_.real_loop(), {.address = address}, mux_.AsHandler());
  if (!server.ok()) return Fail(server.status(), "");
  http_ = *std::move(server);
  return true;
}

async::Task<void> Program::AnswerHealth(http::ResponseWriter* writer) {
  HealthReport report = co_await health_->Report();
  if (report.status != 0) {
    health_asked_ = Asked{StrCat(report.status, " ", report.body), process_.loop().Now()};
  }
  http::Response response{.status = report.status, .body = std::move(report.body)};
  if (response.status == 0) co_return;  // the client has gone
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  (void)co_await writer->Send(std::move(response));
}

serve::DebugSnapshot Program::TakeSnapshot() {
  serve::DebugSnapshot snapshot = sidecar::NewDebugSnapshot(process_);
  const MonotonicTime now = process_.loop().Now();
  const auto add = [&](const char* name, std::string value) {
    snapshot.facts.emplace_back(name, std::move(value));
  };
  const auto ago = [now](MonotonicTime when) {
    return StrCat(", ", serve::ShortDuration(now - when), " ago");
  };
  add("driver", driver_);
  add("driver's socket", options_.csi_address);
  add("driver's last answer",
      driver_asked_ ? driver_asked_->answer + ago(driver_asked_->when) : "none");
  add("registration socket", socket_->path());
  add("registration server", !registration_       ? "stopped: the socket cannot be made"
                             : socket_->Missing() ? "listening, but its socket was removed"
                                                  : "listening");
  const auto& told = service_->told();
  add("registration", !told ? "waiting for the kubelet"
                            : (told->registered ? "registered" : "refused") + ago(told->when));
  add("last health check",
      health_asked_ ? health_asked_->answer + ago(health_asked_->when) : "none");
  sidecar::AddDebugCalls(*calls_, now, &snapshot);
  return snapshot;
}

}  // namespace csinative::registrar
