// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/rate_limiter.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace csinative::kube {
namespace {

// Seconds to a Duration; what does not fit (a rate close to zero) becomes the longest one.
Duration FromSeconds(double seconds) {
  const double nanos = seconds * 1e9;
  if (!(nanos < 9.2e18)) return Duration::max();
  return Duration(static_cast<int64_t>(std::max(nanos, 0.0)));
}

}  // namespace

Duration ExponentialLimiter::When(const std::string& item) {
  const int failures = failures_[item]++;
  Duration delay = base_;
  for (int i = 0; i < failures; ++i) {
    if (delay >= max_ / 2 + Duration(1)) return max_;
    delay *= 2;
  }
  return std::min(delay, max_);
}

int ExponentialLimiter::Failures(const std::string& item) const {
  auto it = failures_.find(item);
  return it == failures_.end() ? 0 : it->second;
}

void ExponentialLimiter::Forget(const std::string& item) { failures_.erase(item); }

Duration FastSlowLimiter::When(const std::string& item) {
  return ++failures_[item] <= fast_attempts_ ? fast_ : slow_;
}

int FastSlowLimiter::Failures(const std::string& item) const {
  auto it = failures_.find(item);
  return it == failures_.end() ? 0 : it->second;
}

void FastSlowLimiter::Forget(const std::string& item) { failures_.erase(item); }

TokenBucket::TokenBucket(double rate, int burst, MonotonicTime now)
    : rate_(rate), burst_(burst), tokens_(burst), last_(now) {}

double TokenBucket::TokensAt(MonotonicTime now) const {
  const double elapsed = std::chrono::duration<double>(std::max(now, last_) - last_).count();
  return std::min(burst_, tokens_ + elapsed * rate_);
}

Duration TokenBucket::Reserve(MonotonicTime now) {
  tokens_ = TokensAt(now) - 1;
  last_ = std::max(now, last_);
  if (tokens_ >= 0) return Duration::zero();
  return FromSeconds(-tokens_ / rate_);
}

std::optional<Duration> TokenBucket::ReserveBefore(MonotonicTime now, MonotonicTime deadline) {
  const double left = TokensAt(now) - 1;
  const Duration wait = left >= 0 ? Duration::zero() : FromSeconds(-left / rate_);
  if (wait > Duration::zero() && wait > deadline - now) return std::nullopt;
  return Reserve(now);
}

BucketLimiter::BucketLimiter(const Clock& clock, double rate, int burst)
    : clock_(clock), bucket_(rate, burst, clock.Now()) {}

Duration BucketLimiter::When(const std::string&) { return bucket_.Reserve(clock_.Now()); }

MaxOfLimiter::MaxOfLimiter(std::unique_ptr<RateLimiter> a, std::unique_ptr<RateLimiter> b)
    : a_(std::move(a)), b_(std::move(b)) {}

Duration MaxOfLimiter::When(const std::string& item) {
  const Duration a = a_->When(item);
  const Duration b = b_->When(item);
  return std::max(a, b);
}

int MaxOfLimiter::Failures(const std::string& item) const {
  return std::max(a_->Failures(item), b_->Failures(item));
}

void MaxOfLimiter::Forget(const std::string& item) {
  a_->Forget(item);
  b_->Forget(item);
}

std::unique_ptr<RateLimiter> NewDefaultControllerLimiter(const Clock& clock) {
  // client-go util/workqueue DefaultTypedControllerRateLimiter (kube-client 15.3).
  return std::make_unique<MaxOfLimiter>(
      std::make_unique<ExponentialLimiter>(std::chrono::milliseconds(5),
                                           std::chrono::seconds(1000)),
      std::make_unique<BucketLimiter>(clock, 10, 100));
}

}  // namespace csinative::kube
