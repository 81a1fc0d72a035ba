// SPDX-License-Identifier: Apache-2.0
//
// Decides, from a seed, what goes wrong and how long things take. Each decision that turns out bad
// has a number, so that a failing run can be repeated without some of its faults and so be made
// short. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/random.h"

namespace csinative::sim {

// Chances of faults, each between 0 and 1 for one occasion.
struct FaultRates {
  double api_refused = 0.01;         // the request never arrives
  double api_lost_answer = 0.01;     // it is executed, the answer is lost
  double api_server_error = 0.01;    // 500, 503, 504 or 429; not executed
  double api_slow = 0.02;            // seconds instead of milliseconds
  double watch_cut = 0.01;           // on opening: it breaks some minutes later
  double driver_error = 0.05;        // before anything is done
  double driver_lost_answer = 0.03;  // done, but the answer is an error that leaves it open
  double driver_slow = 0.03;
  double driver_hang = 0.005;  // longer than any deadline
  double disk_crash = 0.003;   // of the process that does it, before a change and after the last
  double disk_error = 0.01;    // a change is refused
  double disk_slow = 0.01;
};

class FaultPlan {
 public:
  FaultPlan(uint64_t seed, FaultRates rates, std::set<uint64_t> disabled = {});

  // Between faults nothing goes wrong, but time still varies.
  void set_active(bool active) { active_ = active; }
  bool active() const { return active_; }
  const FaultRates& rates() const { return rates_; }

  // Whether this occasion goes wrong.
  bool Strikes(double chance);
  // Numbers of the faults so far.
  const std::vector<uint64_t>& injected() const { return injected_; }

  // Uniform; the bounds are included up to the resolution of a microsecond.
  Duration Between(Duration low, Duration high);
  uint64_t Below(uint64_t bound) { return random_->Below(bound); }
  double Unit() { return random_->Unit(); }
  // A generator for one simulated process, derived from the seed.
  std::unique_ptr<Random> NewStream();

 private:
  const uint64_t seed_;
  const FaultRates rates_;
  const std::set<uint64_t> disabled_;
  std::unique_ptr<Random> random_;
  bool active_ = false;
  uint64_t next_fault_ = 0;
  uint64_t next_stream_ = 1;
  std::vector<uint64_t> injected_;
};

}  // namespace csinative::sim
