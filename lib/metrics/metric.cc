// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/metric.h"

#include <algorithm>

namespace csinative::metrics {

void Histogram::Observe(double value) {
  // A value equal to a bound belongs to that bound's bucket. NaN compares false and ends in +Inf's.
  size_t index = 0;
  while (index < bounds_.size() && !(value <= bounds_[index])) ++index;
  ++counts_[index];
  sum_ += value;
}

uint64_t Histogram::count() const {
  uint64_t count = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) count += counts_[i];
  return count;
}

}  // namespace csinative::metrics
