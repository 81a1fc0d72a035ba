// SPDX-License-Identifier: Apache-2.0
//
// Collects violations of invariants. The first one is what a run is about; later ones may follow
// from it. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "test/sim/trace.h"

namespace csinative::sim {

class Checker {
 public:
  explicit Checker(Trace& trace) : trace_(trace) {}

  void Violation(std::string what) {
    trace_.Add("VIOLATION", what);
    violations_.push_back(std::move(what));
  }
  const std::vector<std::string>& violations() const { return violations_; }
  bool ok() const { return violations_.empty(); }

 private:
  Trace& trace_;
  std::vector<std::string> violations_;
};

}  // namespace csinative::sim
