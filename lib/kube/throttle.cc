// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/throttle.h"

#include <utility>

#include "lib/async/sleep.h"

namespace csinative::kube {
namespace {

// rest.DefaultQPS and rest.DefaultBurst of client-go.
constexpr float kDefaultQps = 5;
constexpr int kDefaultBurst = 10;

constexpr std::string_view kContext = "client rate limiter Wait returned an error";

}  // namespace

Result<Throttle> Throttle::Create(async::EventLoop& loop, float qps, int burst) {
  if (qps < 0) return Throttle(loop, Mode::kUnlimited, qps, burst);
  if (qps == 0) return Throttle(loop, Mode::kPerGroup, kDefaultQps, kDefaultBurst);
  if (burst <= 0) {
    return InvalidArgumentError(
        "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to "
        "greater than 0");
  }
  return Throttle(loop, Mode::kShared, qps, burst);
}

async::Task<Result<Duration>> Throttle::Wait(std::string group) {
  const async::TaskContext context = co_await async::CurrentContext();
  if (context.cancel->cancelled()) co_return context.cancel->reason().WithContext(kContext);
  if (mode_ == Mode::kUnlimited) co_return Duration::zero();
  if (mode_ == Mode::kShared) group.clear();
  const MonotonicTime now = loop_->Now();
  TokenBucket& bucket =
      buckets_.try_emplace(std::move(group), double{qps_}, burst_, now).first->second;
  const std::optional<MonotonicTime> deadline = context.cancel->deadline();
  const std::optional<Duration> wait =
      deadline ? bucket.ReserveBefore(now, *deadline) : bucket.Reserve(now);
  if (!wait) {
    co_return DeadlineExceededError("rate: Wait(n=1) would exceed context deadline")
        .WithContext(kContext);
  }
  if (*wait > Duration::zero()) {
    Status slept = co_await async::Sleep(*wait);
    if (!slept.ok()) co_return slept.WithContext(kContext);
  }
  co_return *wait;
}

}  // namespace csinative::kube
