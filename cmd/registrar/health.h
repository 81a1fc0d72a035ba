// SPDX-License-Identifier: Apache-2.0
//
// /healthz: does somebody answer for this driver at the registration socket? (registrar 3.6). It
// says nothing about the kubelet or the driver. Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/scope.h"
#include "lib/async/task.h"
#include "lib/async/waiter.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/csi/connect.h"
#include "lib/log/logger.h"

namespace csinative::registrar {

struct HealthReport {
  int status = 0;  // HTTP
  std::string body;
};

class HealthCheck {
 public:
  struct Config {
    async::EventLoop* loop = nullptr;  // outlives the check
    Random* random = nullptr;          // outlives the check
    log::Logger log;
    std::string socket_path;
    std::string driver;
    Duration timeout = std::chrono::seconds(1);  // of GetInfo
    Duration connect_limit = csi::kConnectLimit;
  };
  explicit HealthCheck(Config config);

  // Waits for a check. It goes on when the caller is cancelled; the report is then empty.
  // Differs: requests that come while a check runs share its result, so that a socket without a
  // listener does not pile up connections.
  async::Task<HealthReport> Report();
  // REQUIRED before destruction, unless the loop is discarding.
  async::Task<void> Close() { return scope_.Close(); }

 private:
  struct Running {
    std::optional<HealthReport> report;
    async::WaiterList done;
  };
  async::Task<void> RunOnce(std::shared_ptr<Running> running);
  async::Task<HealthReport> Check();
  HealthReport Failed(const std::string& error);

  const Config config_;
  std::shared_ptr<Running> running_;  // null: no check at the moment
  async::Scope scope_;
};

}  // namespace csinative::registrar
