// SPDX-License-Identifier: Apache-2.0
#include "cmd/livenessprobe/health.h"

#include <utility>

#include "lib/async/timeout.h"
#include "lib/csi/identity.h"

namespace csinative::livenessprobe {
namespace {

constexpr char kNotConnected[] = "Failed to establish connection to CSI driver";
constexpr char kNotAnswered[] = "Health check failed";

}  // namespace

async::Task<HealthReport> HealthCheck::Report() {
  return async::WithTimeout(config_.timeout, ReportInTime());
}

async::Task<HealthReport> HealthCheck::ReportInTime() {
  if (places_taken_ < config_.max_connections) {
    ++places_taken_;
  } else {
    const uint64_t answers_before = answers_;
    Waiting self;
    const Status waited = co_await WaitForPlace(&self, answers_before);
    if (answers_ != answers_before) {
      if (self.has_place) ReleasePlace();
      co_return last_answer_;
    }
    if (!self.has_place) co_return Failed(kNotConnected, waited);
  }
  HealthReport report = co_await Check();
  ReleasePlace();
  co_return report;
}

async::Task<Status> HealthCheck::WaitForPlace(Waiting* self, uint64_t answers_before) {
  const auto position = waiting_.insert(waiting_.end(), self);
  Status woken;
  while (woken.ok() && !self->has_place && answers_ == answers_before) {
    woken = co_await self->woken.Wait();
  }
  if (!self->has_place) waiting_.erase(position);
  co_return woken;
}

void HealthCheck::ReleasePlace() {
  if (waiting_.empty()) {
    --places_taken_;
    return;
  }
  Waiting* next = waiting_.front();
  waiting_.pop_front();
  next->has_place = true;
  next->woken.WakeAll();
}

async::Task<HealthReport> HealthCheck::Check() {
  // Nobody is dialled for a check whose time is over before it begins.
  const Status in_time = co_await async::CancellationStatus();
  if (!in_time.ok()) co_return Failed(kNotConnected, in_time);
  auto channel = co_await config_.connect();
  if (!channel.ok()) co_return Failed(kNotConnected, channel.status());
  config_.log.V(5).Info("Sending probe request to CSI driver", "driver", config_.driver);
  const Result<bool> ready = co_await csi::Probe(**channel);
  if (!ready.ok()) co_return Failed(kNotAnswered, ready.status());
  co_return Answered(*ready);
}

HealthReport HealthCheck::Answered(bool ready) {
  if (ready) {
    config_.log.V(5).Info("Health check succeeded");
    last_answer_ = {200, "ok"};
  } else {
    config_.log.Error(nullptr, "Driver responded but is not ready");
    last_answer_ = {500, "driver responded but is not ready"};
  }
  ++answers_;
  for (Waiting* each : waiting_) each->woken.WakeAll();
  return last_answer_;
}

HealthReport HealthCheck::Failed(const char* message, const Status& status) {
  // The HTTP server says that the client has left; Go's text of that is the context's.
  const bool client_left = IsCancelled(status) && status.rpc_error() == nullptr;
  const Status shown = client_left ? CancelledError() : status;
  config_.log.Error(shown, message);
  return {500, shown.message()};
}

}  // namespace csinative::livenessprobe
