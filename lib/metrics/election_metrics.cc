// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/election_metrics.h"

namespace csinative::metrics {

ElectionMetrics::ElectionMetrics(Registry& registry) : registry_(&registry) {
  // The label is always empty upstream, and dashboards know it so (common 9.6, 21 row 9).
  master_status_ =
      &registry
           .AddGauge({.name = "leader_election_master_status",
                      .help = "[ALPHA] Whether this replica leads: 1, or stands by: 0.",
                      .labels = {"name"}})
           .With({""});
  master_status_->Set(0);
}

void ElectionMetrics::SlowPath() {
  registry_
      ->AddCounter({.name = "leader_election_slowpath_total",
                    .help = "[ALPHA] Renewals of a leader that had to read the Lease first.",
                    .labels = {"name"}})
      .With({""})
      .Add();
}

}  // namespace csinative::metrics
