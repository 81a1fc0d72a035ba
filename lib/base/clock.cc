// SPDX-License-Identifier: Apache-2.0
#include "lib/base/clock.h"

namespace csinative {
namespace {

class RealClock final : public Clock {
 public:
  MonotonicTime Now() const override {
    return MonotonicTime(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  WallTime WallNow() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

}  // namespace

const Clock& SystemClock() {
  static const RealClock clock;
  return clock;
}

}  // namespace csinative
