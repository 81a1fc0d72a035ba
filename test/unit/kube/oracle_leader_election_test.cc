// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.12, common 20.9: attempts to lead, as the API sees them. The labels of the flag
// are in test/unit/cli.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/leader_election.h"
#include "test/support/oracle_rows.h"
#include "test/unit/kube/fake_lease_client.h"

namespace csinative::kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using Calls = std::vector<std::string>;

class ElectionOracle : public ::testing::Test {
 protected:
  ~ElectionOracle() override { loop_.Discard(); }

  // A lease held by somebody, or by nobody.
  coordination::Lease& Lease(const std::string& holder, int32_t duration_seconds) {
    coordination::Lease& lease = server_.leases["lock"];
    lease.mutable_metadata()->set_name("lock");
    lease.mutable_metadata()->set_namespace_("ns");
    lease.mutable_metadata()->set_resourceversion("7");
    lease.mutable_spec()->set_holderidentity(holder);
    lease.mutable_spec()->set_leasedurationseconds(duration_seconds);
    lease.mutable_spec()->mutable_renewtime()->set_seconds(1);
    lease.mutable_spec()->mutable_acquiretime()->set_seconds(1);
    return lease;
  }
  void Start(bool release = false) {
    LeaderElectionConfig config;
    config.lock_name = "lock";
    config.lock_namespace = "ns";
    config.identity = "baz";
    config.release_on_cancel = release;
    config.labels = labels_;
    LeaderElectionCallbacks callbacks;
    callbacks.on_started_leading = [this] { return Lead(this); };
    callbacks.on_new_leader = [this](const std::string& who) { leaders_.push_back(who); };
    callbacks.on_slow_path = [this] { ++slow_paths_; };
    callbacks.on_event = [this](const coordination::Lease&, std::string text) {
      events_.push_back(std::move(text));
    };
    elector_ = std::make_unique<LeaderElector>(loop_, *random_, client_, log::Logger(), config,
                                               std::move(callbacks));
    scope_.emplace(loop_);
    scope_->Spawn(elector_->Run());
    scheduler_.Settle();
  }
  static async::Task<void> Lead(ElectionOracle* self) {
    self->leading_ = true;
    (void)co_await async::Sleep(hours(10000));
    self->leading_ = false;
  }
  // The calls until the lease was acquired: a leader renews at once.
  Calls CallsToAcquire() const {
    Calls calls = client_.calls;
    if (leading_ && !calls.empty()) calls.pop_back();
    return calls;
  }
  int Transitions() { return server_.leases.at("lock").spec().leasetransitions(); }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(7);
  FakeLeaseServer server_;
  FakeLeaseClient client_{&server_};
  std::unique_ptr<LeaderElector> elector_;
  std::optional<async::Scope> scope_;
  bool leading_ = false;
  Calls leaders_;
  Calls events_;
  std::map<std::string, std::string> labels_;
  int slow_paths_ = 0;
};

struct AcquireEntry {
  const char* name;
  const char* rows;
  std::optional<std::string> holder;  // nothing: there is no lease
  int32_t duration_seconds;
  Calls calls;
  bool acquired;
  int transitions;
  const char* reported;
};

class AcquireOracle : public ElectionOracle, public ::testing::WithParamInterface<AcquireEntry> {};

TEST_P(AcquireOracle, FirstAttempt) {
  const AcquireEntry& entry = GetParam();
  const oracle::Rows rows(entry.rows);
  if (entry.holder) Lease(*entry.holder, entry.duration_seconds);
  Start();
  EXPECT_EQ(CallsToAcquire(), entry.calls);
  EXPECT_EQ(leading_, entry.acquired);
  EXPECT_EQ(Transitions(), entry.transitions);
  EXPECT_EQ(leaders_.empty() ? "" : leaders_.back(), entry.reported);
}

INSTANTIATE_TEST_SUITE_P(Rows, AcquireOracle,
                         ::testing::Values(AcquireEntry{"no_lease",
                                                        "kube-client/24.12/1 common/20.9/1",
                                                        std::nullopt,
                                                        0,
                                                        {"GET lease", "POST lease"},
                                                        true,
                                                        0,
                                                        "baz"},
                                           AcquireEntry{"lease_without_record",
                                                        "kube-client/24.12/2 common/20.9/2",
                                                        "",
                                                        0,
                                                        {"GET lease", "PUT lease"},
                                                        true,
                                                        1,
                                                        "baz"},
                                           AcquireEntry{
                                               "empty_holder_that_looks_valid",
                                               "kube-client/24.12/2 common/20.9/2 common/20.9/5",
                                               "",
                                               3600,
                                               {"GET lease", "PUT lease"},
                                               true,
                                               1,
                                               "baz"},
                                           AcquireEntry{"held",
                                                        "kube-client/24.12/5 common/20.9/6",
                                                        "bing",
                                                        3600,
                                                        {"GET lease"},
                                                        false,
                                                        0,
                                                        "bing"},
                                           AcquireEntry{"own_record_of_no_duration",
                                                        "kube-client/24.12/6 common/20.9/7",
                                                        "baz",
                                                        0,
                                                        {"GET lease", "PUT lease"},
                                                        true,
                                                        0,
                                                        "baz"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(ElectionOracle, WaitsForTheHolder) {
  const oracle::Rows rows("kube-client/24.12/3 common/20.9/3");
  Lease("bing", 3);
  Start();
  EXPECT_THAT(client_.calls, ElementsAre("GET lease"));
  EXPECT_FALSE(leading_);
  scheduler_.Advance(seconds(11));
  EXPECT_TRUE(leading_);
  const Calls calls(client_.calls.begin() + 1, client_.calls.begin() + 3);
  EXPECT_THAT(calls, ElementsAre("GET lease", "PUT lease"));
  EXPECT_EQ(Transitions(), 1);
}

TEST_F(ElectionOracle, HolderThatWasSeenLongAgo) {
  const oracle::Rows rows("kube-client/24.12/4 common/20.9/4");
  Lease("bing", 60);
  Start();
  scheduler_.Advance(seconds(59));
  EXPECT_FALSE(leading_);
  // Attempts that only read come before the one that is told here.
  client_.calls.clear();
  scheduler_.Advance(seconds(12));
  EXPECT_TRUE(leading_);
  const auto put = std::find(client_.calls.begin(), client_.calls.end(), "PUT lease");
  ASSERT_GT(put - client_.calls.begin(), 0);
  EXPECT_THAT(Calls(put - 1, put + 1), ElementsAre("GET lease", "PUT lease"));
  EXPECT_EQ(Transitions(), 1);
}

TEST_F(ElectionOracle, FastPath) {
  {
    const oracle::Rows rows("kube-client/24.12/7 common/20.9/8");
    Start();
    scheduler_.Advance(seconds(5));
    EXPECT_THAT(client_.calls, ElementsAre("GET lease", "POST lease", "PUT lease", "PUT lease"));
  }
}

TEST_F(ElectionOracle, FastPathThatConflictsOnce) {
  const oracle::Rows rows("kube-client/24.12/8 common/20.9/9");
  int puts = 0;
  client_.fail_call = [&](const std::string& call) {
    return call == "PUT lease" && ++puts == 2 ? ApiFailure(409, "Conflict", "stale") : Status();
  };
  Start();
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(client_.calls, ElementsAre("GET lease", "POST lease", "PUT lease", "PUT lease",
                                         "GET lease", "PUT lease", "PUT lease"));
  EXPECT_EQ(slow_paths_, 1);
  EXPECT_TRUE(leading_);
}

TEST_F(ElectionOracle, LabelsAreAddedToALeaseWithoutAny) {
  const oracle::Row row("common/20.9/13");
  labels_ = {{"a", "x"}, {"c", "d"}};
  Lease("", 0);
  Start();
  EXPECT_TRUE(leading_);
  EXPECT_EQ(CallsToAcquire(), (Calls{"GET lease", "PUT lease"}));
  std::map<std::string, std::string> stored;
  for (const auto& entry : server_.leases.at("lock").metadata().labels()) {
    stored[entry.key()] = entry.value();
  }
  EXPECT_EQ(stored, labels_);
}

TEST_F(ElectionOracle, Release) {
  {
    const oracle::Rows rows("kube-client/24.12/9 common/20.9/10");
    Start(true);
    client_.calls.clear();
    scope_->Cancel();
    scheduler_.Settle();
    EXPECT_THAT(client_.calls, ElementsAre("GET lease", "PUT lease"));
    EXPECT_EQ(server_.leases.at("lock").spec().holderidentity(), "");
    EXPECT_EQ(leaders_.back(), "");
  }
  {
    const oracle::Rows rows("kube-client/24.12/9 common/20.9/10");
    Start(true);
    client_.calls.clear();
    client_.fail_call = [](const std::string& call) {
      return call == "GET lease" ? UnavailableError("down") : Status();
    };
    scope_->Cancel();
    scheduler_.Settle();
    EXPECT_THAT(client_.calls, ElementsAre("GET lease"));
    client_.fail_call = nullptr;
  }
}

class CancelledRenewalOracle : public ElectionOracle,
                               public ::testing::WithParamInterface<const char*> {};

TEST_P(CancelledRenewalOracle, StillReleases) {
  const oracle::Rows rows("kube-client/24.12/10 common/20.9/11");
  Start(true);
  // The renewal that begins in five seconds is cancelled during this call.
  bool cancelled = false;
  const std::string during = GetParam();
  client_.fail_call = [&, during](const std::string& call) {
    if (!cancelled && during == "GET lease" && call == "PUT lease") {
      return ApiFailure(409, "Conflict", "stale");
    }
    if (!cancelled && call == during) {
      cancelled = true;
      scope_->Cancel();
    }
    return Status();
  };
  scheduler_.Advance(seconds(6));
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(scope_->empty());
  EXPECT_EQ(server_.leases.at("lock").spec().holderidentity(), "");
  EXPECT_THAT(events_, ElementsAre("baz became leader", "baz stopped leading"));
}

INSTANTIATE_TEST_SUITE_P(Rows, CancelledRenewalOracle, ::testing::Values("PUT lease", "GET lease"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

TEST_F(ElectionOracle, RecordsAndTheirLeases) {
  {
    // What a record holds comes back, and what it does not write stays.
    const oracle::Rows rows("kube-client/24.12/11 common/20.9/14");
    coordination::Lease& lease = Lease("baz", 15);
    lease.mutable_spec()->set_leasetransitions(5);
    lease.mutable_spec()->set_strategy("OldestEmulationVersion");
    lease.mutable_spec()->set_preferredholder("qux");
    const coordination::LeaseSpec before = lease.spec();
    Start();
    coordination::LeaseSpec after = server_.leases.at("lock").spec();
    EXPECT_NE(after.renewtime().seconds(), before.renewtime().seconds());
    *after.mutable_renewtime() = before.renewtime();
    EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
  }
  {
    const oracle::Row row("kube-client/24.12/12");
    EXPECT_EQ(Validate({.lock_name = "lock"}).message(), "Lock identity is empty");
  }
  struct Name {
    const char* rows;
    const char* from;
    const char* to;
  };
  const Name kNames[] = {
      {"kube-client/24.12/14 common/20.9/15", "test-driver", "test-driver"},
      {"kube-client/24.12/14 common/20.9/16", "test!driver/foo", "test-driver-foo"},
      {"kube-client/24.12/14 common/20.9/17", "driver\\", "driver-X"}};
  for (const Name& entry : kNames) {
    const oracle::Rows rows(entry.rows);
    EXPECT_EQ(SanitizeLeaseName(entry.from), entry.to);
  }
}

struct HealthEntry {
  const char* name;
  const char* row;
  std::string holder;
  Duration age;
  bool healthy;
};

class HealthOracle : public ElectionOracle, public ::testing::WithParamInterface<HealthEntry> {};

TEST_P(HealthOracle, OfTheElection) {
  // Without an elector nobody asks; the lease lasts a minute, the slack is twenty seconds.
  const oracle::Row row("kube-client/24.12/13");
  const oracle::Row common(GetParam().row);
  Lease(GetParam().holder, 60);
  LeaderElectionConfig config;
  config.lock_name = "lock";
  config.lock_namespace = "ns";
  config.identity = "baz";
  config.lease_duration = minutes(1);
  elector_ = std::make_unique<LeaderElector>(loop_, *random_, client_, log::Logger(), config,
                                             LeaderElectionCallbacks());
  EXPECT_TRUE(elector_->CheckHealth(seconds(20)).ok()) << "nothing was seen yet";
  scope_.emplace(loop_);
  scope_->Spawn(elector_->Run());
  scheduler_.Settle();
  loop_.Discard();  // from here on the process stands still
  scheduler_.Advance(GetParam().age);
  const Status health = elector_->CheckHealth(seconds(20));
  EXPECT_EQ(health.ok(), GetParam().healthy);
  if (!health.ok()) {
    EXPECT_EQ(health.message(), "failed election to renew leadership on lease ");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, HealthOracle,
    ::testing::Values(HealthEntry{"stale_leader", "common/20.9/19", "baz", hours(1), false},
                      HealthEntry{"other_holder", "common/20.9/20", "other", hours(1), true},
                      HealthEntry{"fresh", "common/20.9/21", "baz", {}, true},
                      HealthEntry{"within_slack", "common/20.9/22", "baz", seconds(61), true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative::kube
