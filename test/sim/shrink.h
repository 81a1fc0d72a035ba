// SPDX-License-Identifier: Apache-2.0
//
// Makes a failing run short: leaves out as many faults as possible while some invariant is still
// violated. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "test/sim/world.h"

namespace csinative::sim {

struct Shrunk {
  std::set<uint64_t> disabled;  // faults that are not needed
  size_t needed = 0;            // faults that are left
  uint64_t hours = 0;           // until the violation
  std::string violation;
};

// `options` with up to `hours` hours is known to fail. Runs it again with faults left out, at most
// `budget` times; `progress` is told after each success.
Shrunk Shrink(WorldOptions options, uint64_t hours, int budget,
              const std::function<void(const Shrunk&)>& progress);

}  // namespace csinative::sim
