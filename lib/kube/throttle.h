// SPDX-License-Identifier: Apache-2.0
//
// Client-side rate limit of one API client (kube-client 10.3): one token bucket, or one for each
// API group when the rate is left at 0. Loop only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/rate_limiter.h"

namespace csinative::kube {

class Throttle {
 public:
  // qps < 0: no limit; 0: 5 with burst 10 for each group. kInvalidArgument for qps > 0 with
  // burst <= 0.
  static Result<Throttle> Create(async::EventLoop& loop, float qps, int burst);

  // Takes a token and waits for it. Fails at once, with client-go's text, when that would last
  // beyond the caller's deadline; and when the caller is cancelled. Returns how long it waited.
  async::Task<Result<Duration>> Wait(std::string group);

 private:
  enum class Mode { kUnlimited, kShared, kPerGroup };
  Throttle(async::EventLoop& loop, Mode mode, float qps, int burst)
      : loop_(&loop), mode_(mode), qps_(qps), burst_(burst) {}

  async::EventLoop* loop_;
  Mode mode_;
  float qps_;
  int burst_;
  std::map<std::string, TokenBucket> buckets_;  // kShared: one, under ""
};

}  // namespace csinative::kube
