// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of a single series. Values; loop only.
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/clock.h"

namespace csinative::metrics {

inline double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

class Counter {
 public:
  // REQUIRES: amount >= 0.
  void Add(double amount = 1) {
    assert(amount >= 0);
    value_ += amount;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

class Gauge {
 public:
  void Set(double value) { value_ = value; }
  void Add(double amount) { value_ += amount; }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

// 16 bytes a series plus 8 for each bucket; the bounds are shared.
class Histogram {
 public:
  // REQUIRES: bounds ascend and live in static storage.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(std::make_unique<uint64_t[]>(bounds.size() + 1)) {}

  void Observe(double value);
  void Observe(Duration duration) { Observe(Seconds(duration)); }

  std::span<const double> bounds() const { return bounds_; }
  // Observations in one bucket, not cumulative; the last one is +Inf's.
  uint64_t bucket(size_t index) const { return counts_[index]; }
  uint64_t count() const;
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::unique_ptr<uint64_t[]> counts_;
  double sum_ = 0;
};

}  // namespace csinative::metrics
