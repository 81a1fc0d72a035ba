// SPDX-License-Identifier: Apache-2.0
//
// The leader_election_* families (common 9.6). Created with the elector, so that both are absent
// without --leader-election. Loop only.
#pragma once

#include "lib/metrics/registry.h"

namespace csinative::metrics {

class ElectionMetrics {
 public:
  // registry outlives this. The master status exists from now on, as 0.
  explicit ElectionMetrics(Registry& registry);

  void SetLeader(bool leading) { master_status_->Set(leading ? 1 : 0); }
  // A holder had to read before it could renew, and still was the holder.
  void SlowPath();

 private:
  Registry* registry_;
  Gauge* master_status_;
};

}  // namespace csinative::metrics
