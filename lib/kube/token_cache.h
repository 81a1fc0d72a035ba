// SPDX-License-Identifier: Apache-2.0
//
// A token that is asked for again shortly before it gets old (kube-client 4.2). Loop only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative::kube {

struct TimedToken {
  std::string token;
  MonotonicTime valid_until;
};

class TokenCache {
 public:
  using Source = std::function<Result<TimedToken>()>;
  // Asks the source once less than `leeway` is left. Borrowed: the clock.
  TokenCache(const Clock& clock, Source source, Duration leeway)
      : clock_(&clock), source_(std::move(source)), leeway_(leeway) {}

  struct Answer {
    std::string token;
    Status failure;  // why the source was of no use; the token is an earlier one
  };
  // A source that fails leaves the earlier token in use, if there is one, and is asked again by the
  // next call.
  Result<Answer> Get() {
    const MonotonicTime now = clock_->Now();
    if (known_ && !expired_ && now < known_->valid_until - leeway_)
      return Answer{known_->token, {}};
    Result<TimedToken> fresh = source_();
    if (!fresh.ok()) {
      if (!known_) return fresh.status();
      return Answer{known_->token, fresh.status()};
    }
    known_ = *std::move(fresh);
    expired_ = false;
    return Answer{known_->token, {}};
  }
  // The next call asks the source.
  void Expire() { expired_ = true; }

 private:
  const Clock* clock_;
  Source source_;
  Duration leeway_;
  std::optional<TimedToken> known_;
  bool expired_ = false;
};

}  // namespace csinative::kube
