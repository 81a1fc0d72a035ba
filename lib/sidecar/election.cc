// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/election.h"

#include <utility>

#include "lib/async/scope.h"
#include "lib/base/strings.h"
#include "lib/kube/config.h"
#include "lib/kube/event_recorder.h"

namespace csinative::sidecar {
namespace {

// csi-lib-utils leaderelection: slack of the health check beyond the lease (common 10).
constexpr Duration kHealthSlack = std::chrono::seconds(20);

}  // namespace

ElectionOptions ElectionFromFlags(Process& process, const cli::CommonFlags& flags,
                                  std::string lock_name) {
  ElectionOptions options;
  options.lock_name = std::move(lock_name);
  options.lock_namespace = flags.leader_election_namespace;
  if (options.lock_namespace.empty()) {
    kube::ConfigSources sources;
    sources.getenv = [&process](const std::string& name) { return process.GetEnv(name); };
    options.lock_namespace = kube::InClusterNamespace(sources);
  }
  options.lease_duration = flags.leader_election_lease_duration;
  options.renew_deadline = flags.leader_election_renew_deadline;
  options.retry_period = flags.leader_election_retry_period;
  options.labels = flags.leader_election_labels;
  options.restart_in_place = flags.leader_election_restart_in_place;
  return options;
}

Election::Election(Process& process, kube::Client& client, ElectionOptions options)
    : process_(process), client_(client), options_(std::move(options)) {}

Election::~Election() = default;

async::Task<void> Election::Run(std::function<async::Task<void>()> lead) {
  const std::string host = process_.HostName();
  if (host.empty()) {
    process_.log().Error("the host name is not available", "Failed to initialize leader election");
    process_.Exit(1);
    co_return;
  }

  kube::LeaderElectionConfig config;
  config.lock_name = kube::SanitizeLeaseName(options_.lock_name);
  config.lock_namespace = options_.lock_namespace;
  config.identity = kube::SanitizeLeaseName(host);
  config.labels = options_.labels;
  config.lease_duration = options_.lease_duration;
  config.renew_deadline = options_.renew_deadline;
  config.retry_period = options_.retry_period;
  config.release_on_cancel = options_.release_on_exit;
  if (Status valid = kube::Validate(config); !valid.ok()) {
    process_.Panic(valid.message());
    co_return;
  }

  metrics_ = std::make_unique<metrics::ElectionMetrics>(process_.metrics());
  // The component carries both names as they are, unlike the Lease (common 12).
  kube::EventBroadcaster events(process_.loop(), process_.random(), client_, process_.log());
  kube::EventRecorder recorder(events, options_.lock_name + "/" + host);

  kube::LeaderElectionCallbacks callbacks;
  callbacks.on_started_leading = [this, lead = std::move(lead)] {
    process_.log().V(2).Info("became leader, starting");
    return lead();
  };
  const async::TaskContext context = co_await async::CurrentContext();
  callbacks.on_stopped_leading = [this, cancel = context.cancel] {
    process_.log().Error(nullptr, "Stopped leading");
    // Nothing of this program is left in either case, so nothing can act any more.
    if (options_.restart_in_place && !cancel->cancelled()) {
      process_.log().Info("Starting anew to stand for election again");
      process_.StartAnew();
    } else {
      process_.Exit(1);
    }
  };
  callbacks.on_new_leader = [this](const std::string& leader) {
    leader_ = leader;
    process_.log().V(3).Info("New leader detected", "leader", leader);
  };
  callbacks.on_master_status = [this](bool leading) { metrics_->SetLeader(leading); };
  callbacks.on_slow_path = [this] { metrics_->SlowPath(); };
  callbacks.on_event = [&recorder](const coordination::Lease& lease, std::string message) {
    recorder.Record(kube::ReferenceTo(lease), kube::EventType::kNormal, "LeaderElection",
                    std::move(message));
  };
  elector_ = std::make_unique<kube::LeaderElector>(process_.loop(), process_.random(), client_,
                                                   process_.log(), std::move(config),
                                                   std::move(callbacks));
  async::Scope sending(process_.loop());
  sending.Spawn(events.Run());
  co_await elector_->Run();
  co_await sending.Close();
}

Result<MonotonicTime> Election::CheckMayAct() const {
  if (elector_) return elector_->CheckMayAct();
  return MonotonicTime::max();
}

std::string Election::Describe() const {
  if (elector_ && elector_->is_leader()) return StrCat("this process leads, as ", leader_);
  if (leader_.empty()) return "no leader is known yet";
  return StrCat("standing by; the leader is ", leader_);
}

Status Election::Health() const {
  return elector_ ? elector_->CheckHealth(kHealthSlack) : Status();
}

}  // namespace csinative::sidecar
