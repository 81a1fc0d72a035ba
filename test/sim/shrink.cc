// SPDX-License-Identifier: Apache-2.0
#include "test/sim/shrink.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace csinative::sim {
namespace {

struct Outcome {
  std::vector<uint64_t> injected;
  uint64_t hours = 0;
  std::string violation;
};

std::optional<Outcome> Fails(const WorldOptions& options, uint64_t hours) {
  World world(options);
  for (uint64_t hour = 0; hour < hours; ++hour) {
    if (!world.RunHour()) {
      return Outcome{world.plan().injected(), hour + 1, world.violations().front()};
    }
  }
  return std::nullopt;
}

}  // namespace

Shrunk Shrink(WorldOptions options, uint64_t hours, int budget,
              const std::function<void(const Shrunk&)>& progress) {
  options.on_line = nullptr;
  Shrunk best;
  best.disabled = options.disabled_faults;
  std::optional<Outcome> last = Fails(options, hours);
  if (!last) return best;
  best = {options.disabled_faults, last->injected.size(), last->hours, last->violation};
  // Halves first, then smaller and smaller pieces. Leaving out a fault changes what follows, so the
  // list of faults is taken anew from each run that still fails.
  for (size_t pieces = 2; budget > 0 && !last->injected.empty();) {
    const size_t size = (last->injected.size() + pieces - 1) / pieces;
    bool shorter = false;
    for (size_t begin = 0; budget > 0 && begin < last->injected.size(); begin += size) {
      WorldOptions attempt = options;
      const size_t end = std::min(begin + size, last->injected.size());
      attempt.disabled_faults.insert(last->injected.begin() + static_cast<ptrdiff_t>(begin),
                                     last->injected.begin() + static_cast<ptrdiff_t>(end));
      --budget;
      std::optional<Outcome> outcome = Fails(attempt, best.hours);
      if (!outcome || outcome->injected.size() >= last->injected.size()) continue;
      options = std::move(attempt);
      last = std::move(outcome);
      best = {options.disabled_faults, last->injected.size(), last->hours, last->violation};
      progress(best);
      shorter = true;
      break;
    }
    if (shorter) {
      pieces = std::max<size_t>(2, pieces / 2);
    } else if (size == 1) {
      break;
    } else {
      pieces = std::min(pieces * 2, last->injected.size());
    }
  }
  return best;
}

}  // namespace csinative::sim
