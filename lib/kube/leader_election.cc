// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/leader_election.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/meta/v1/time.h"
#include "lib/async/scope.h"
#include "lib/async/sleep.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/kube/errors.h"
#include "lib/kube/lease_watch.h"

namespace csinative::kube {
namespace {

// client-go tools/leaderelection JitterFactor (kube-client 16.2).
constexpr double kJitterFactor = 1.2;

// Differs: upstream's candidates look every 1 to 2.2 retry periods, and so up to 2.2 of them after
// the lease ran out. These look after 0.8 to 1 and at the moment it runs out, which makes lease
// duration + retry period the longest time without a leader. 13 instead of 7.5 reads a minute for
// each candidate with the defaults.
constexpr double kCandidateJitter = 0.2;

// What says who leads. Differs: upstream compares whole seconds (kube-client 16.4), so that a
// renewal within the second of the one before does not count, and takes over up to a second early.
struct Record {
  std::string holder;
  int32_t lease_duration_seconds = 0;
  int64_t acquire_seconds = 0;
  int64_t renew_seconds = 0;
  int32_t renew_nanos = 0;
  int32_t transitions = 0;
  std::string strategy;
  std::string preferred_holder;
  bool operator==(const Record&) const = default;
};

Record RecordOf(const coordination::Lease& lease) {
  const auto& spec = lease.spec();
  return {spec.holderidentity(),
          spec.leasedurationseconds(),
          spec.acquiretime().seconds(),
          spec.renewtime().seconds(),
          spec.renewtime().nanos(),
          spec.leasetransitions(),
          spec.strategy(),
          spec.preferredholder()};
}

Duration Seconds(int64_t n) { return std::chrono::seconds(n); }

}  // namespace

Status Validate(const LeaderElectionConfig& config) {
  if (config.lease_duration <= config.renew_deadline) {
    return InvalidArgumentError("leaseDuration must be greater than renewDeadline");
  }
  if (static_cast<double>(config.renew_deadline.count()) <=
      kJitterFactor * static_cast<double>(config.retry_period.count())) {
    return InvalidArgumentError("renewDeadline must be greater than retryPeriod*JitterFactor");
  }
  if (config.lease_duration < Duration(1)) {
    return InvalidArgumentError("leaseDuration must be greater than zero");
  }
  if (config.renew_deadline < Duration(1)) {
    return InvalidArgumentError("renewDeadline must be greater than zero");
  }
  if (config.retry_period < Duration(1)) {
    return InvalidArgumentError("retryPeriod must be greater than zero");
  }
  if (config.identity.empty()) return InvalidArgumentError("Lock identity is empty");
  return Status();
}

std::string SanitizeLeaseName(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') c = '-';
  }
  if (!out.empty() && out.back() == '-') out.push_back('X');
  return out;
}

struct LeaderElector::Impl {
  Impl(async::EventLoop& l, Random& r, Client& c, log::Logger lg, LeaderElectionConfig cfg,
       LeaderElectionCallbacks cb)
      : loop(l),
        random(r),
        client(c),
        log(lg.WithValues("lock", cfg.lock_namespace + "/" + cfg.lock_name)),
        config(std::move(cfg)),
        callbacks(std::move(cb)) {}

  bool IsLeader() const { return observed.holder == config.identity; }
  bool LeaseValid(MonotonicTime now) const {
    return observed_time && *observed_time + Seconds(observed.lease_duration_seconds) > now;
  }

  // A claim that was sent at `sent` has succeeded. An upstream candidate counts from the first one
  // of the same second (see Record), so this does too.
  void ObserveClaim(const coordination::Lease& stored, MonotonicTime sent) {
    const int64_t second = stored.spec().renewtime().seconds();
    if (!claim_sent || claim_second != second) claim_sent = sent;
    claim_second = second;
    Observe(stored);
  }

  void Observe(const coordination::Lease& seen) {
    lease = seen;
    observed = RecordOf(seen);
    observed_time = loop.Now();
    ReportTransition();
  }

  void ReportTransition() {
    if (observed.holder == reported_leader) return;
    reported_leader = observed.holder;
    if (callbacks.on_new_leader) callbacks.on_new_leader(reported_leader);
  }

  // Our record on top of `base`, which keeps its foreign labels and annotations.
  coordination::Lease Claim(coordination::Lease base) const {
    const WallTime now = loop.WallNow();
    auto* spec = base.mutable_spec();
    spec->set_holderidentity(config.identity);
    spec->set_leasedurationseconds(static_cast<int32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(config.lease_duration).count()));
    *spec->mutable_renewtime() = apis::MakeMicroTime(now);
    for (const auto& [key, value] : config.labels) {
      apis::SetEntry(base.mutable_metadata()->mutable_labels(), key, value);
    }
    return base;
  }

  // Before the next attempt of a candidate.
  Duration CandidateWait() {
    const double chance = random.Unit();
    const double factor = held ? 1 - kCandidateJitter * chance : 1 + kJitterFactor * chance;
    const auto wait =
        Duration(static_cast<int64_t>(static_cast<double>(config.retry_period.count()) * factor));
    if (!held) return wait;
    return std::min(wait, *observed_time + Seconds(observed.lease_duration_seconds) - loop.Now());
  }

  async::Task<Status> TryAcquireOrRenew();
  async::Task<Status> CreateLease();
  async::Task<bool> Acquire();
  async::Task<bool> AttemptUntilAcquired(async::Scope* watching);
  async::Task<void> WatchForRelease();
  async::Task<void> Renew();
  async::Task<Status> RenewRound();
  async::Task<void> Release();
  async::Task<void> Lead();

  void Event(const char* what) {
    if (callbacks.on_event) callbacks.on_event(lease, config.identity + " " + what);
  }

  async::EventLoop& loop;
  Random& random;
  Client& client;
  const log::Logger log;
  const LeaderElectionConfig config;
  const LeaderElectionCallbacks callbacks;

  coordination::Lease lease;  // as the server last returned it
  Record observed;
  std::optional<MonotonicTime> observed_time;  // when this process saw `observed` appear
  // When the newest claim that succeeded was sent, or the first one with the same second in it.
  std::optional<MonotonicTime> claim_sent;
  int64_t claim_second = 0;
  bool held = false;      // the last attempt found that another holds the lease
  async::Event given_up;  // the watch saw a Lease without a holder since the last attempt
  std::string reported_leader;

  bool lost = false;
  bool led_out = false;  // the leading task has ended after a cancellation
  async::WaiterList changed;
};

async::Task<Status> LeaderElector::Impl::CreateLease() {
  coordination::Lease fresh;
  fresh.mutable_metadata()->set_name(config.lock_name);
  fresh.mutable_metadata()->set_namespace_(config.lock_namespace);
  fresh = Claim(std::move(fresh));
  *fresh.mutable_spec()->mutable_acquiretime() = fresh.spec().renewtime();
  fresh.mutable_spec()->set_leasetransitions(0);
  const MonotonicTime sent = loop.Now();
  Result<coordination::Lease> created = co_await client.Create(std::move(fresh));
  if (!created.ok()) {
    log.Error(created.status(), "Error initially creating lease lock");
    co_return created.status();
  }
  ObserveClaim(*created, sent);
  co_return Status();
}

// One attempt, step by step as kube-client 16.4.
async::Task<Status> LeaderElector::Impl::TryAcquireOrRenew() {
  held = false;
  if (IsLeader() && LeaseValid(loop.Now())) {
    const MonotonicTime sent = loop.Now();
    Result<coordination::Lease> renewed = co_await client.Update(Claim(lease));
    if (renewed.ok()) {
      ObserveClaim(*renewed, sent);
      co_return Status();
    }
    log.V(2).Info("Failed to update lease optimistically, falling back to slow path", "err",
                  renewed.status());
  }

  Result<coordination::Lease> current =
      co_await client.Get<coordination::Lease>(ObjectName{config.lock_namespace, config.lock_name});
  if (!current.ok()) {
    if (IsNotFound(current.status())) co_return co_await CreateLease();
    log.Error(current.status(), "Error retrieving lease lock");
    co_return current.status();
  }
  const bool was_leader = IsLeader();
  if (RecordOf(*current) != observed || !observed_time) {
    Observe(*current);
  } else {
    lease = *current;
  }
  if (!observed.holder.empty() && !IsLeader() && LeaseValid(loop.Now())) {
    held = true;
    log.V(4).Info("Lease is held by and has not yet expired", "holder", observed.holder);
    co_return FailedPreconditionError("the lease is held by " + observed.holder);
  }

  coordination::Lease claim = Claim(lease);
  if (IsLeader()) {
    if (was_leader && callbacks.on_slow_path) callbacks.on_slow_path();
  } else {
    *claim.mutable_spec()->mutable_acquiretime() = claim.spec().renewtime();
    claim.mutable_spec()->set_leasetransitions(lease.spec().leasetransitions() + 1);
  }
  const MonotonicTime sent = loop.Now();
  Result<coordination::Lease> updated = co_await client.Update(std::move(claim));
  if (!updated.ok()) {
    log.Error(updated.status(), "Failed to update lease");
    co_return updated.status();
  }
  ObserveClaim(*updated, sent);
  co_return Status();
}

async::Task<void> LeaderElector::Impl::WatchForRelease() {
  LeaseWatch watch({.loop = &loop,
                    .random = &random,
                    .client = &client,
                    .log = log,
                    .lease = {config.lock_namespace, config.lock_name},
                    .version = [this] { return lease.metadata().resourceversion(); },
                    .on_free = [this] { given_up.Set(); },
                    .pause = config.retry_period});
  co_await watch.Run();
}

// True when acquired, false when cancelled.
async::Task<bool> LeaderElector::Impl::Acquire() {
  log.Info("Attempting to acquire leader lease...");
  async::TaskContext context = co_await async::CurrentContext();
  async::Scope watching(loop, context.cancel);
  const bool acquired = co_await AttemptUntilAcquired(&watching);
  co_await watching.Close();
  co_return acquired;
}

async::Task<bool> LeaderElector::Impl::AttemptUntilAcquired(async::Scope* watching) {
  bool watched = !config.watch_for_release;
  while (true) {
    if (!(co_await async::CancellationStatus()).ok()) co_return false;
    given_up.Reset();
    if ((co_await TryAcquireOrRenew()).ok()) {
      Event("became leader");
      log.Info("Successfully acquired lease");
      co_return true;
    }
    log.V(4).Info("Failed to acquire lease");
    // Only who has to wait needs a watch.
    if (held && !std::exchange(watched, true)) watching->Spawn(WatchForRelease());
    (void)co_await async::WithTimeout(CandidateWait(), given_up.Wait());
  }
}

// Attempts until one succeeds; the caller limits the time. Differs: upstream goes on until the
// renew deadline when another already holds the lease.
async::Task<Status> LeaderElector::Impl::RenewRound() {
  while (true) {
    const Status attempt = co_await TryAcquireOrRenew();
    if (attempt.ok() || held) co_return attempt;
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(config.retry_period));
  }
}

async::Task<void> LeaderElector::Impl::Renew() {
  while (true) {
    Status round = co_await async::WithTimeout(config.renew_deadline, RenewRound());
    if (IsCancelled(round)) co_return;
    if (!round.ok()) {
      log.Info("Failed to renew lease", "err", round);
      lost = true;
      changed.WakeAll();
      co_return;
    }
    log.V(5).Info("Successfully renewed lease");
    if (!(co_await async::Sleep(config.retry_period)).ok()) co_return;
  }
}

async::Task<void> LeaderElector::Impl::Release() {
  Result<coordination::Lease> current =
      co_await client.Get<coordination::Lease>(ObjectName{config.lock_namespace, config.lock_name});
  if (!current.ok()) {
    if (IsNotFound(current.status())) {
      log.Info("Lease lock not found");
    } else {
      log.Error(current.status(), "Error retrieving lease lock during release");
    }
    co_return;
  }
  if (!IsLeader() || current->spec().holderidentity() != config.identity) co_return;
  coordination::Lease released = *current;
  auto* spec = released.mutable_spec();
  spec->set_holderidentity("");
  spec->set_leasedurationseconds(1);
  *spec->mutable_renewtime() = apis::MakeMicroTime(loop.WallNow());
  *spec->mutable_acquiretime() = spec->renewtime();
  Result<coordination::Lease> stored = co_await client.Update(std::move(released));
  if (!stored.ok()) {
    log.Error(stored.status(), "Failed to release lock");
    co_return;
  }
  Observe(*stored);
}

// The leading task. It outlasts its own work until it is cancelled, as the election does.
async::Task<void> LeaderElector::Impl::Lead() {
  if (callbacks.on_started_leading) co_await callbacks.on_started_leading();
  async::Event never;
  (void)co_await never.Wait();
  led_out = true;
  changed.WakeAll();
}

LeaderElector::LeaderElector(async::EventLoop& loop, Random& random, Client& client,
                             log::Logger log, LeaderElectionConfig config,
                             LeaderElectionCallbacks callbacks)
    : impl_(std::make_unique<Impl>(loop, random, client, std::move(log), std::move(config),
                                   std::move(callbacks))) {
  if (impl_->callbacks.on_master_status) impl_->callbacks.on_master_status(false);
}

LeaderElector::~LeaderElector() = default;

async::Task<void> LeaderElector::Run() {
  Impl& self = *impl_;
  const bool acquired = co_await self.Acquire();
  if (acquired) {
    if (self.callbacks.on_master_status) self.callbacks.on_master_status(true);
    async::TaskContext context = co_await async::CurrentContext();
    // Renewal is not part of the caller's cancellation: it goes on until the leading task ended.
    async::Scope renewing(self.loop);
    async::Scope leading(self.loop, context.cancel);
    leading.Spawn(self.Lead());
    renewing.Spawn(self.Renew());
    while (!self.lost && !self.led_out) (void)co_await self.changed.WaitUncancellable();
    if (self.callbacks.on_master_status) self.callbacks.on_master_status(false);
    if (self.lost) {
      if (self.callbacks.on_stopped_leading) self.callbacks.on_stopped_leading();
      co_await leading.Close();
      co_await renewing.Close();
      co_return;
    }
    co_await renewing.Close();
    co_await leading.Close();
    if (self.config.release_on_cancel) {
      co_await async::Shielded(async::WithTimeout(self.config.renew_deadline, self.Release()));
    }
    self.Event("stopped leading");
  }
  if (self.callbacks.on_stopped_leading) self.callbacks.on_stopped_leading();
}

bool LeaderElector::is_leader() const { return impl_->IsLeader(); }

Result<MonotonicTime> LeaderElector::CheckMayAct() const {
  const Impl& self = *impl_;
  if (!self.claim_sent) return MonotonicTime::max();
  const MonotonicTime end = *self.claim_sent + self.config.lease_duration;
  if (self.loop.Now() < end) return end;
  return UnavailableError("the leader lease has run out: another process may be leading");
}

Status LeaderElector::CheckHealth(Duration slack) const {
  const Impl& self = *impl_;
  if (!self.IsLeader() || !self.observed_time) return Status();
  if (self.loop.Now() <= *self.observed_time + self.config.lease_duration + slack) return Status();
  // The election has no name of its own (kube-client 16.1), so the text ends here.
  return UnavailableError("failed election to renew leadership on lease ");
}

}  // namespace csinative::kube
