// SPDX-License-Identifier: Apache-2.0
//
// The election that sidecars wrap around their controllers: Lease, events, metrics, health answer,
// and the exit when leadership ends (common 11, 12). Loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/async/task.h"
#include "lib/cli/common_flags.h"
#include "lib/kube/client.h"
#include "lib/kube/leader_election.h"
#include "lib/metrics/election_metrics.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

struct ElectionOptions {
  std::string lock_name;       // not sanitised, e.g. the driver's name
  std::string lock_namespace;  // common 11.2; see ElectionNamespace
  Duration lease_duration;
  Duration renew_deadline;
  Duration retry_period;
  cli::LabelMap labels;
  bool release_on_exit = false;
  // A lost Lease: Process::StartAnew instead of exit 1.
  bool restart_in_place = false;
};

// From the flags; the namespace falls back to that of the pod.
ElectionOptions ElectionFromFlags(Process& process, const cli::CommonFlags& flags,
                                  std::string lock_name);

class Election {
 public:
  // `client` is the election's own, so that it never waits behind the controllers; borrowed.
  Election(Process& process, kube::Client& client, ElectionOptions options);
  ~Election();

  // Runs `lead` while leading. The process exits with 1 when leadership ends, for whatever reason
  // (see restart_in_place), and with 2 when the durations make no sense. Returns only in
  // simulation, or when cancelled.
  async::Task<void> Run(std::function<async::Task<void>()> lead);

  // Until when the controllers may act (kube::LeaderElector::CheckMayAct); not limited before the
  // election.
  Result<MonotonicTime> CheckMayAct() const;

  // For /healthz/leader-election.
  Status Health() const;
  // For /debug: whether this process leads, or who does.
  std::string Describe() const;

 private:
  Process& process_;
  kube::Client& client_;
  const ElectionOptions options_;
  std::unique_ptr<metrics::ElectionMetrics> metrics_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::string leader_;  // as the Lease names it; empty: not known yet
};

}  // namespace csinative::sidecar
