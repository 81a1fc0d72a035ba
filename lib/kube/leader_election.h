// SPDX-License-Identifier: Apache-2.0
//
// Leader election on a Lease (kube-client 16, common 11). It does not fence: two leaders can
// overlap when clocks run at different rates. Loop only.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "apis/coordination/v1/coordination.pb.h"
#include "apis/namespaces.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::kube {

struct LeaderElectionConfig {
  std::string lock_name;  // Lease name, sanitised
  std::string lock_namespace;
  std::string identity;  // holderIdentity
  std::map<std::string, std::string> labels;
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(5);
  bool release_on_cancel = false;
  // Candidates learn by a watch that the Lease was given up, instead of at their next look.
  // Differs: upstream's candidates only look. Needs the right to watch Leases; does without if it
  // is missing.
  bool watch_for_release = true;
};

// kInvalidArgument with client-go's text when the durations' relation makes no sense: the caller
// exits with 2 (common 11.1).
Status Validate(const LeaderElectionConfig& config);

// Every character outside [a-zA-Z0-9-] becomes '-'; a trailing '-' gets an 'X'.
std::string SanitizeLeaseName(std::string_view name);

struct LeaderElectionCallbacks {
  // Runs while leading; cancelled when leadership ends.
  std::function<async::Task<void>()> on_started_leading;
  // Leadership ended, for whatever reason; or the election was cancelled before it began. Called
  // before the leading task is joined: production exits here, because nobody may act on.
  std::function<void()> on_stopped_leading;
  std::function<void(const std::string& identity)> on_new_leader;
  // An event to record about the Lease: "<identity> became leader", "<identity> stopped leading".
  std::function<void(const coordination::Lease& lease, std::string message)> on_event;
  // For metrics: 1 leading, 0 not; and renewals that had to read first.
  std::function<void(bool leading)> on_master_status;
  std::function<void()> on_slow_path;
};

class LeaderElector {
 public:
  LeaderElector(async::EventLoop& loop, Random& random, Client& client, log::Logger log,
                LeaderElectionConfig config, LeaderElectionCallbacks callbacks);
  ~LeaderElector();

  // Acquires, leads, and returns when leadership is lost or the caller is cancelled. A cancelled
  // leader keeps renewing until the leading task has ended, then releases, if configured.
  async::Task<void> Run();

  bool is_leader() const;
  // Until when this process may act on what it knows now: until its Lease runs out, counted from
  // the moment the newest renewal was sent; from then on somebody else may lead. A failure once
  // that has passed. MonotonicTime::max() before it leads. A process that was stopped for a while
  // goes on in the middle of its work, so this is asked before everything a leader does.
  Result<MonotonicTime> CheckMayAct() const;
  // Ok, or the failure for /healthz/leader-election: leading by own record, but not renewed for
  // longer than the lease duration plus `slack`.
  Status CheckHealth(Duration slack) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace csinative::kube
