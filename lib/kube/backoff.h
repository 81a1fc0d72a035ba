// SPDX-License-Identifier: Apache-2.0
//
// Growing delays for an endless retry loop (kube-client 13). Loop only.
#pragma once

#include <algorithm>
#include <optional>

#include "lib/base/clock.h"
#include "lib/base/random.h"

namespace csinative::kube {

// base * 2^n, capped, each multiplied by a random factor in [1, 1 + jitter). Starts over after a
// calm time without a delay.
class Backoff {
 public:
  struct Options {
    Duration base = std::chrono::milliseconds(800);
    Duration cap = std::chrono::seconds(30);
    double jitter = 1.0;
    // Differs: client-go starts over two minutes after it last did so, in the middle of an outage
    // too. Here the two minutes have to be without a delay.
    Duration calm = std::chrono::minutes(2);
  };

  Backoff(Random& random, Options options) : random_(random), options_(options) {}

  // The next delay, to be started at `now`.
  Duration Next(MonotonicTime now) {
    if (!next_ || now - last_end_ > options_.calm) next_ = options_.base;
    const double factor = 1.0 + options_.jitter * random_.Unit();
    const auto delay = std::chrono::duration_cast<Duration>(*next_ * factor);
    next_ = std::min(*next_ * 2, options_.cap);
    last_end_ = now + delay;
    return delay;
  }

 private:
  Random& random_;
  const Options options_;
  std::optional<Duration> next_;
  MonotonicTime last_end_;
};

}  // namespace csinative::kube
