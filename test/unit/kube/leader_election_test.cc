// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/leader_election.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "apis/core/v1/maps.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "test/unit/kube/fake_lease_client.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Calls = std::vector<std::string>;

// One replica of a sidecar.
struct Replica {
  Replica(async::VirtualScheduler& scheduler, FakeLeaseServer* server, std::string identity,
          bool release = false, LeaderElectionConfig config = {}, uint64_t seed = 7)
      : loop(scheduler), random(NewSeededRandom(seed)), client(server) {
    config.lock_name = "driver";
    config.lock_namespace = "ns";
    config.identity = std::move(identity);
    config.labels = {{"team", "storage"}};
    config.release_on_cancel = release;
    LeaderElectionCallbacks callbacks;
    callbacks.on_started_leading = [this] { return Lead(this); };
    callbacks.on_stopped_leading = [this] { ++stopped; };
    callbacks.on_new_leader = [this](const std::string& who) { leaders.push_back(who); };
    callbacks.on_master_status = [this](bool on) { status.push_back(on); };
    callbacks.on_slow_path = [this] { ++slow_paths; };
    callbacks.on_event = [this](const coordination::Lease&, std::string text) {
      events.push_back(std::move(text));
    };
    elector =
        std::make_unique<LeaderElector>(loop, *random, client, log::Logger(), config, callbacks);
    scope = std::make_unique<async::Scope>(loop);
    scope->Spawn(elector->Run());
  }
  ~Replica() { loop.Discard(); }

  static async::Task<void> Lead(Replica* self) {
    self->leading = true;
    (void)co_await async::Sleep(std::chrono::hours(1000));
    self->leading = false;
  }

  async::VirtualLoop loop;
  std::unique_ptr<Random> random;
  FakeLeaseClient client;
  std::unique_ptr<LeaderElector> elector;
  std::unique_ptr<async::Scope> scope;
  bool leading = false;
  int stopped = 0;
  int slow_paths = 0;
  std::vector<std::string> leaders;
  std::vector<bool> status;
  std::vector<std::string> events;
};

// Renews several times a second.
LeaderElectionConfig ShortTimes() {
  return {.lease_duration = seconds(3),
          .renew_deadline = seconds(2),
          .retry_period = milliseconds(500)};
}

class LeaderElectionTest : public ::testing::Test {
 protected:
  const coordination::LeaseSpec& Spec() { return server_.leases.at("driver").spec(); }

  async::VirtualScheduler scheduler_;
  FakeLeaseServer server_;
};

TEST_F(LeaderElectionTest, FirstReplicaCreatesTheLeaseAndRenewsItAtOnce) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  EXPECT_TRUE(a.leading);
  EXPECT_EQ(a.client.calls, (Calls{"GET lease", "POST lease", "PUT lease"}));
  EXPECT_EQ(Spec().holderidentity(), "a");
  EXPECT_EQ(Spec().leasedurationseconds(), 15);
  EXPECT_TRUE(Spec().has_leasetransitions());
  EXPECT_EQ(Spec().leasetransitions(), 0);
  EXPECT_EQ(server_.leases["driver"].metadata().labels(0).key(), "team");
  EXPECT_EQ(a.events, (Calls{"a became leader"}));
  EXPECT_EQ(a.leaders, (Calls{"a"}));
  EXPECT_EQ(a.status, (std::vector<bool>{false, true}));
}

TEST_F(LeaderElectionTest, RenewsEveryRetryPeriodOnTheFastPath) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  a.client.calls.clear();
  scheduler_.Advance(seconds(50));
  EXPECT_EQ(a.client.calls, Calls(10, "PUT lease"));
  EXPECT_EQ(a.slow_paths, 0);
}

TEST_F(LeaderElectionTest, MayActUntilTheLeaseHasRunOut) {
  Replica a(scheduler_, &server_, "a");
  EXPECT_TRUE(a.elector->CheckMayAct().ok()) << "before it leads, nothing is forbidden";
  scheduler_.Advance(seconds(60));
  EXPECT_TRUE(a.elector->CheckMayAct().ok());
  a.loop.Suspend();
  scheduler_.Advance(seconds(9));
  EXPECT_TRUE(a.elector->CheckMayAct().ok());
  scheduler_.Advance(seconds(6));
  EXPECT_FALSE(a.elector->CheckMayAct().ok());
}

TEST_F(LeaderElectionTest, StoppedLeaderMayNotActOnceAnotherLeads) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  Replica b(scheduler_, &server_, "b");
  scheduler_.Advance(seconds(60));
  a.loop.Suspend();
  for (int i = 0; i < 600 && !b.leading; ++i) {
    EXPECT_FALSE(b.leading && a.elector->CheckMayAct().ok());
    scheduler_.Advance(milliseconds(100));
  }
  ASSERT_TRUE(b.leading);
  EXPECT_FALSE(a.elector->CheckMayAct().ok());
  a.loop.Resume();
  scheduler_.Advance(seconds(20));
  EXPECT_EQ(a.stopped, 1);
  EXPECT_TRUE(b.elector->CheckMayAct().ok());
}

TEST_F(LeaderElectionTest, StandbyWaitsAWholeLeaseAfterTheLastRenewalItSaw) {
  auto a = std::make_unique<Replica>(scheduler_, &server_, "a");
  scheduler_.Settle();
  Replica b(scheduler_, &server_, "b");
  scheduler_.Advance(seconds(60));
  EXPECT_FALSE(b.leading);
  EXPECT_EQ(b.leaders, (Calls{"a"}));
  a.reset();  // crash: the lease is not released
  scheduler_.Advance(seconds(14));
  EXPECT_FALSE(b.leading);
  scheduler_.Advance(seconds(15 + 11));
  EXPECT_TRUE(b.leading);
  EXPECT_EQ(Spec().leasetransitions(), 1);
  EXPECT_EQ(b.leaders, (Calls{"a", "b"}));
}

TEST_F(LeaderElectionTest, StandbyLeadsAfterLeaseAndRetryPeriodAtTheLatest) {
  for (const LeaderElectionConfig& config : {LeaderElectionConfig(), ShortTimes()}) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      server_.leases.clear();
      auto a = std::make_unique<Replica>(scheduler_, &server_, "a", false, config);
      scheduler_.Settle();
      Replica b(scheduler_, &server_, "b", false, config, seed);
      scheduler_.Advance(seconds(60) + config.retry_period * seed / 100);
      a.reset();
      scheduler_.Advance(config.lease_duration - config.retry_period - milliseconds(1));
      EXPECT_FALSE(b.leading) << seed;
      scheduler_.Advance(2 * config.retry_period + milliseconds(1));
      EXPECT_TRUE(b.leading) << seed;
    }
  }
}

TEST_F(LeaderElectionTest, RenewalWithinTheSecondOfTheOneBeforeCounts) {
  for (int phase = 0; phase < 20; ++phase) {
    server_.leases.clear();
    auto a = std::make_unique<Replica>(scheduler_, &server_, "a", false, ShortTimes());
    scheduler_.Settle();
    Replica b(scheduler_, &server_, "b", false, ShortTimes());
    scheduler_.Advance(seconds(10) + phase * milliseconds(50));
    const auto renewed = seconds(Spec().renewtime().seconds()) +
                         std::chrono::nanoseconds(Spec().renewtime().nanos());
    a.reset();
    while (!b.leading) scheduler_.Advance(milliseconds(10));
    EXPECT_GE(scheduler_.WallNow().time_since_epoch() - renewed, seconds(3)) << phase;
  }
}

// An upstream candidate does not see that the lease was renewed again within a second.
TEST_F(LeaderElectionTest, MayActOnlyAsLongAsACandidateThatComparesSecondsWaits) {
  Replica a(scheduler_, &server_, "a", false, ShortTimes());
  scheduler_.Advance(seconds(10));
  while (Spec().renewtime().nanos() < 500000000) scheduler_.Advance(milliseconds(10));
  // Half a second ago it was renewed in the same second.
  a.loop.Suspend();
  scheduler_.Advance(milliseconds(2400));
  EXPECT_TRUE(a.elector->CheckMayAct().ok());
  scheduler_.Advance(milliseconds(200));
  EXPECT_FALSE(a.elector->CheckMayAct().ok());
}

TEST_F(LeaderElectionTest, RestartedHolderReacquiresAtOnceAndKeepsItsAcquireTime) {
  auto a = std::make_unique<Replica>(scheduler_, &server_, "a");
  scheduler_.Settle();
  const int64_t acquired = Spec().acquiretime().seconds();
  a.reset();
  scheduler_.Advance(seconds(3));
  Replica again(scheduler_, &server_, "a");
  scheduler_.Settle();
  EXPECT_TRUE(again.leading);
  EXPECT_EQ(Spec().acquiretime().seconds(), acquired);
  EXPECT_EQ(Spec().leasetransitions(), 0);
}

TEST_F(LeaderElectionTest, LeaderThatCannotRenewStopsAtTheRenewDeadline) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  a.client.failure = UnavailableError("down");
  scheduler_.Advance(seconds(14));
  EXPECT_TRUE(a.leading);
  EXPECT_EQ(a.stopped, 0);
  scheduler_.Advance(seconds(1) + milliseconds(1));
  EXPECT_FALSE(a.leading);
  EXPECT_EQ(a.stopped, 1);
  EXPECT_TRUE(a.scope->empty());
  EXPECT_EQ(a.status, (std::vector<bool>{false, true, false}));
}

TEST_F(LeaderElectionTest, HungRequestIsBoundedByTheRenewDeadline) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  a.client.delay = std::chrono::hours(1);
  scheduler_.Advance(seconds(16));
  EXPECT_EQ(a.stopped, 1);
}

TEST_F(LeaderElectionTest, ConflictingWriteSendsTheHolderThroughTheSlowPath) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  server_.leases["driver"].mutable_metadata()->set_resourceversion("999");
  apis::SetEntry(server_.leases["driver"].mutable_metadata()->mutable_annotations(), "other", "1");
  a.client.calls.clear();
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(a.client.calls, (Calls{"PUT lease", "GET lease", "PUT lease"}));
  EXPECT_EQ(a.slow_paths, 1);
  EXPECT_TRUE(a.leading);
  EXPECT_EQ(server_.leases["driver"].metadata().annotations(0).key(), "other");
}

TEST_F(LeaderElectionTest, TakenOverLeaderStopsAtOnceWithoutWritingOverTheNewHolder) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  auto& lease = server_.leases["driver"];
  lease.mutable_spec()->set_holderidentity("b");
  lease.mutable_spec()->mutable_renewtime()->set_seconds(1);
  lease.mutable_metadata()->set_resourceversion("999");
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(a.stopped, 1);
  EXPECT_EQ(Spec().holderidentity(), "b");
}

TEST_F(LeaderElectionTest, CancelledLeaderReleasesWhenAskedTo) {
  Replica a(scheduler_, &server_, "a", true);
  scheduler_.Settle();
  a.scope->Cancel();
  scheduler_.Settle();
  EXPECT_TRUE(a.scope->empty());
  EXPECT_EQ(Spec().holderidentity(), "");
  EXPECT_EQ(Spec().leasedurationseconds(), 1);
  EXPECT_EQ(a.events, (Calls{"a became leader", "a stopped leading"}));
  Replica b(scheduler_, &server_, "b");
  scheduler_.Settle();
  EXPECT_TRUE(b.leading);
  EXPECT_EQ(Spec().leasetransitions(), 1);
}

TEST_F(LeaderElectionTest, CancelledLeaderWithoutReleaseLeavesTheLeaseAlone) {
  Replica a(scheduler_, &server_, "a");
  scheduler_.Settle();
  a.scope->Cancel();
  scheduler_.Settle();
  EXPECT_TRUE(a.scope->empty());
  EXPECT_EQ(Spec().holderidentity(), "a");
}

TEST_F(LeaderElectionTest, AcquireIsRetriedForeverWithJitter) {
  Replica a(scheduler_, &server_, "a");
  a.client.failure = ApiFailure(403, "Forbidden", "no");
  scheduler_.Advance(seconds(110));
  EXPECT_GE(a.client.calls.size(), 10u);
  EXPECT_LE(a.client.calls.size(), 23u);
  a.client.failure = Status();
  scheduler_.Advance(seconds(11));
  EXPECT_TRUE(a.leading);
}

TEST_F(LeaderElectionTest, HealthFailsOnlyForALeaderThatStoppedObserving) {
  Replica a(scheduler_, &server_, "a");
  EXPECT_TRUE(a.elector->CheckHealth(seconds(20)).ok());
  scheduler_.Settle();
  a.loop.Discard();  // a frozen process: nothing runs, time passes
  scheduler_.Advance(seconds(35));
  EXPECT_TRUE(a.elector->CheckHealth(seconds(20)).ok());
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(a.elector->CheckHealth(seconds(20)).message(),
            "failed election to renew leadership on lease ");
}

struct ValidateRow {
  const char* name;
  Duration lease = seconds(15);
  Duration renew = seconds(10);
  Duration retry = seconds(5);
  const char* identity = "id";
  const char* error = "";
};

class ValidateTest : public ::testing::TestWithParam<ValidateRow> {};

TEST_P(ValidateTest, GivesClientGosText) {
  LeaderElectionConfig config;
  config.lease_duration = GetParam().lease;
  config.renew_deadline = GetParam().renew;
  config.retry_period = GetParam().retry;
  config.identity = GetParam().identity;
  EXPECT_EQ(Validate(config).message(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ValidateTest,
    ::testing::Values(
        ValidateRow{.name = "defaults"},
        ValidateRow{.name = "lease_equals_renew",
                    .lease = seconds(10),
                    .error = "leaseDuration must be greater than renewDeadline"},
        ValidateRow{.name = "renew_within_jitter",
                    .renew = seconds(6),
                    .error = "renewDeadline must be greater than retryPeriod*JitterFactor"},
        ValidateRow{.name = "zero_retry",
                    .retry = seconds(0),
                    .error = "retryPeriod must be greater than zero"},
        ValidateRow{.name = "no_identity", .identity = "", .error = "Lock identity is empty"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(SanitizeLeaseNameTest, ReplacesEverythingButLettersDigitsAndDashes) {
  EXPECT_EQ(SanitizeLeaseName("hostpath.csi.k8s.io"), "hostpath-csi-k8s-io");
  EXPECT_EQ(SanitizeLeaseName("driver/"), "driver-X");
  EXPECT_EQ(SanitizeLeaseName("Upper_Case"), "Upper-Case");
}

}  // namespace
}  // namespace csinative::kube
