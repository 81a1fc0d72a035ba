// SPDX-License-Identifier: Apache-2.0
#include "test/sim/fault_plan.h"

#include <utility>

namespace csinative::sim {

FaultPlan::FaultPlan(uint64_t seed, FaultRates rates, std::set<uint64_t> disabled)
    : seed_(seed),
      rates_(rates),
      disabled_(std::move(disabled)),
      random_(NewSeededRandom(seed * 0x9E3779B97F4A7C15ull)) {}

bool FaultPlan::Strikes(double chance) {
  if (!active_ || random_->Unit() >= chance) return false;
  const uint64_t number = next_fault_++;
  if (disabled_.count(number) > 0) return false;
  injected_.push_back(number);
  return true;
}

Duration FaultPlan::Between(Duration low, Duration high) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(high - low).count();
  return low + std::chrono::microseconds(random_->Below(static_cast<uint64_t>(micros) + 1));
}

std::unique_ptr<Random> FaultPlan::NewStream() {
  return NewSeededRandom(seed_ * 0xD1B54A32D192ED03ull + next_stream_++);
}

}  // namespace csinative::sim
