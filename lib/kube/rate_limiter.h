// SPDX-License-Identifier: Apache-2.0
//
// Delays: per-item back-off for work queues and the token bucket of a client (kube-client 10.3,
// 15.3). Loop only.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/status.h"

namespace csinative::kube {

// How long an item that failed has to wait.
class RateLimiter {
 public:
  virtual ~RateLimiter() = default;
  // The delay for the next retry; counts a failure.
  virtual Duration When(const std::string& item) = 0;
  // Failures counted since the last Forget.
  virtual int Failures(const std::string& item) const = 0;
  virtual void Forget(const std::string& item) = 0;
};

// base * 2^failures, capped at max.
class ExponentialLimiter final : public RateLimiter {
 public:
  ExponentialLimiter(Duration base, Duration max) : base_(base), max_(max) {}
  Duration When(const std::string& item) override;
  int Failures(const std::string& item) const override;
  void Forget(const std::string& item) override;

 private:
  const Duration base_;
  const Duration max_;
  std::unordered_map<std::string, int> failures_;
};

// `fast` for the first `fast_attempts` failures of an item, then `slow`.
class FastSlowLimiter final : public RateLimiter {
 public:
  FastSlowLimiter(Duration fast, Duration slow, int fast_attempts)
      : fast_(fast), slow_(slow), fast_attempts_(fast_attempts) {}
  Duration When(const std::string& item) override;
  int Failures(const std::string& item) const override;
  void Forget(const std::string& item) override;

 private:
  const Duration fast_;
  const Duration slow_;
  const int fast_attempts_;
  std::unordered_map<std::string, int> failures_;
};

// Reservations on a bucket that starts full with `burst` tokens and refills at `rate` a second.
class TokenBucket {
 public:
  TokenBucket(double rate, int burst, MonotonicTime now);
  // Takes one token and returns how long the taker has to wait for it.
  Duration Reserve(MonotonicTime now);
  // As Reserve, but takes nothing and returns nullopt if the wait would end after `deadline`.
  std::optional<Duration> ReserveBefore(MonotonicTime now, MonotonicTime deadline);

 private:
  double TokensAt(MonotonicTime now) const;
  double rate_;
  double burst_;
  double tokens_;
  MonotonicTime last_;
};

// The bucket as an item limiter: items share it.
class BucketLimiter final : public RateLimiter {
 public:
  BucketLimiter(const Clock& clock, double rate, int burst);
  Duration When(const std::string& item) override;
  int Failures(const std::string&) const override { return 0; }
  void Forget(const std::string&) override {}

 private:
  const Clock& clock_;
  TokenBucket bucket_;
};

// The longest delay of two limiters; both are charged.
class MaxOfLimiter final : public RateLimiter {
 public:
  MaxOfLimiter(std::unique_ptr<RateLimiter> a, std::unique_ptr<RateLimiter> b);
  Duration When(const std::string& item) override;
  int Failures(const std::string& item) const override;
  void Forget(const std::string& item) override;

 private:
  std::unique_ptr<RateLimiter> a_;
  std::unique_ptr<RateLimiter> b_;
};

// Another limiter's delays, cut at `max`.
class MaxWaitLimiter final : public RateLimiter {
 public:
  MaxWaitLimiter(std::unique_ptr<RateLimiter> inner, Duration max)
      : inner_(std::move(inner)), max_(max) {}
  Duration When(const std::string& item) override { return std::min(inner_->When(item), max_); }
  int Failures(const std::string& item) const override { return inner_->Failures(item); }
  void Forget(const std::string& item) override { inner_->Forget(item); }

 private:
  const std::unique_ptr<RateLimiter> inner_;
  const Duration max_;
};

// client-go's default for controllers: max of exponential(5 ms, 1000 s) and bucket(10/s, 100).
std::unique_ptr<RateLimiter> NewDefaultControllerLimiter(const Clock& clock);

}  // namespace csinative::kube
