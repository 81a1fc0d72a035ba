// SPDX-License-Identifier: Apache-2.0
//
// Time comes in through this interface, so that simulation and tests can own it. Any thread.
#pragma once

#include <chrono>

namespace csinative {

using Duration = std::chrono::nanoseconds;

// A point on a monotonic clock: for deadlines and intervals, meaningless outside the process.
struct MonotonicClockTag {
  using rep = int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<MonotonicClockTag>;
  static constexpr bool is_steady = true;
};
using MonotonicTime = MonotonicClockTag::time_point;

// A point of civil time, UTC, nanoseconds since 1970: for what other processes read.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

// The machine's clocks. Never destroyed.
const Clock& SystemClock();

}  // namespace csinative
