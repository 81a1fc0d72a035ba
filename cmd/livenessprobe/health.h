// SPDX-License-Identifier: Apache-2.0
//
// /healthz: is the driver ready? (registrar 4.3). Each check makes its own connection, which proves
// that the driver accepts one. Loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "lib/async/task.h"
#include "lib/async/waiter.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/log/logger.h"
#include "lib/rpc/channel.h"

namespace csinative::livenessprobe {

struct HealthReport {
  int status = 0;  // HTTP
  std::string body;
};

class HealthCheck {
 public:
  struct Config {
    log::Logger log;
    std::string driver;                          // for the log
    Duration timeout = std::chrono::seconds(3);  // of a report, from the call for it
    // Waits for a new connection to the driver, under the caller's limit.
    std::function<async::Task<Result<std::unique_ptr<rpc::Channel>>>()> connect;
    // Connections to the driver at a time. A connection has a thread and about 100 KiB; a kubelet
    // asks once in a while, three probes of one pod at most at a time.
    size_t max_connections = 16;
  };
  explicit HealthCheck(Config config) : config_(std::move(config)) {}

  // Asks the driver. A cancelled caller cancels the call to the driver.
  // Differs: no more than max_connections checks run at a time. Who comes later waits for a place,
  // within its own time, or takes the next answer that the driver gives to somebody else: that is
  // an answer it gave after the question came. Places are given in the order of the questions, so
  // that whoever waits outlives those before him: a question to a driver that has recovered is
  // answered, however many hang that were asked before.
  async::Task<HealthReport> Report();

  // For /debug: checks that run, and those that wait for a place.
  size_t running() const { return places_taken_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  // A question that waits. Lives in the frame of the task that asked.
  struct Waiting {
    bool has_place = false;
    async::WaiterList woken;  // for a place, or an answer
  };
  async::Task<HealthReport> ReportInTime();
  // Ok with a place, or with an answer later than `answers_before`; else why the caller ends.
  async::Task<Status> WaitForPlace(Waiting* self, uint64_t answers_before);
  void ReleasePlace();
  async::Task<HealthReport> Check();
  HealthReport Answered(bool ready);
  HealthReport Failed(const char* message, const Status& status);

  const Config config_;
  size_t places_taken_ = 0;  // max_connections as long as somebody waits
  std::list<Waiting*> waiting_;
  // What the driver said last, and how many times it said something.
  HealthReport last_answer_;
  uint64_t answers_ = 0;
};

}  // namespace csinative::livenessprobe
