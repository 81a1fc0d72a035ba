// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/health.h"

#include <utility>

#include "cmd/registrar/registration_socket.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "proto/pluginregistration/v1/api.pb.h"

namespace csinative::registrar {

HealthCheck::HealthCheck(Config config) : config_(std::move(config)), scope_(*config_.loop) {}

async::Task<HealthReport> HealthCheck::Report() {
  if (!running_) {
    running_ = std::make_shared<Running>();
    scope_.Spawn(RunOnce(running_));
  }
  const std::shared_ptr<Running> running = running_;
  while (!running->report) {
    const Status woken = co_await running->done.Wait();
    if (!woken.ok()) co_return HealthReport{};
  }
  co_return *running->report;
}

async::Task<void> HealthCheck::RunOnce(std::shared_ptr<Running> running) {
  HealthReport report = co_await Check();
  running->report = std::move(report);
  running->done.WakeAll();
  running_.reset();
}

HealthReport HealthCheck::Failed(const std::string& error) {
  config_.log.Error(error, "Health check failed");
  return {500, error};
}

async::Task<HealthReport> HealthCheck::Check() {
  const std::string& path = config_.socket_path;
  const Result<bool> exists = SocketExists(path);
  if (!exists.ok()) co_return Failed(exists.status().message());
  if (!*exists) {
    config_.log.Error(nullptr, "Health check failed, registration socket does not exist");
    co_return HealthReport{404, "registration socket does not exist"};
  }
  config_.log.V(4).Info("Attempting to open a gRPC connection", "socketfile", path);
  csi::ConnectConfig connect{.loop = config_.loop, .random = config_.random};
  connect.observed.log = config_.log;
  connect.limit = config_.connect_limit;
  auto channel = co_await csi::Connect(std::move(connect), path);
  if (!channel.ok()) {
    co_return Failed(StrCat("error connecting to node-registrar socket ", path, ": ",
                            channel.status().message()));
  }
  config_.log.V(4).Info("Calling node registrar to check if it still responds");
  ::pluginregistration::PluginInfo info;
  const Status answered = co_await async::WithTimeout(
      config_.timeout, (*channel)->Call("/pluginregistration.Registration/GetInfo",
                                        ::pluginregistration::InfoRequest(), &info));
  if (!answered.ok()) {
    co_return Failed(StrCat("error getting info from node-registrar socket: ", answered.message()));
  }
  if (info.name() != config_.driver) co_return Failed("invalid driver name " + info.name());
  config_.log.V(5).Info("Health check succeeded");
  co_return HealthReport{200, "ok"};
}

}  // namespace csinative::registrar
