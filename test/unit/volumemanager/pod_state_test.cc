// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/pod_state.h"

#include <gtest/gtest.h>

#include <functional>

#include "apis/meta/v1/time.h"
#include "lib/async/virtual_loop.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;

constexpr char kUid[] = "u1";
constexpr Duration kNever = Duration::max();

enum class Container { kAbsent, kWaiting, kRunning, kTerminated };

struct PodRow {
  const char* name;
  std::string phase = "Running";
  Container container = Container::kRunning;
  Container ephemeral = Container::kAbsent;  // declared unless absent
  bool started = true;                       // startTime is set
  bool deleting = false;
  seconds deletion_in{0};  // deletionTimestamp, from now
  bool gone = false;       // after it was seen like this
  int64_t grace = 30;
  // Expected: when it may be unmounted, and whether new volumes may be added.
  Duration removable_after = kNever;
  bool terminating = true;
};

class PodStateTest : public ::testing::Test {
 protected:
  static void AddStatus(const char* name, Container state,
                        google::protobuf::RepeatedPtrField<core::ContainerStatus>* statuses) {
    if (state == Container::kAbsent) return;
    core::ContainerStatus* status = statuses->Add();
    status->set_name(name);
    if (state == Container::kWaiting) status->mutable_state()->mutable_waiting();
    if (state == Container::kRunning) status->mutable_state()->mutable_running();
    if (state == Container::kTerminated) status->mutable_state()->mutable_terminated();
  }
  core::Pod Make(const PodRow& row) const {
    core::Pod pod;
    pod.mutable_metadata()->set_uid(kUid);
    pod.mutable_metadata()->set_name("p");
    pod.mutable_spec()->add_containers()->set_name("c");
    pod.mutable_spec()->set_terminationgraceperiodseconds(row.grace);
    if (row.ephemeral != Container::kAbsent) {
      pod.mutable_spec()->add_ephemeralcontainers()->mutable_ephemeralcontainercommon()->set_name(
          "debug");
    }
    pod.mutable_status()->set_phase(row.phase);
    if (row.started) *pod.mutable_status()->mutable_starttime() = apis::MakeTime(loop_.WallNow());
    AddStatus("c", row.container, pod.mutable_status()->mutable_containerstatuses());
    AddStatus("debug", row.ephemeral, pod.mutable_status()->mutable_ephemeralcontainerstatuses());
    if (row.deleting) {
      *pod.mutable_metadata()->mutable_deletiontimestamp() =
          apis::MakeTime(loop_.WallNow() + row.deletion_in);
    }
    return pod;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  PodStates pods_{loop_, {.settle = seconds(10), .force_delay = seconds(30)}};
};

class Judgement : public PodStateTest, public ::testing::WithParamInterface<PodRow> {};

TEST_P(Judgement, FollowsTheRules) {
  const PodRow& row = GetParam();
  pods_.SetListed();
  pods_.Update(Make(row));
  if (row.gone) pods_.Remove(kUid);
  PodStates::Verdict verdict = pods_.Judge(kUid);
  EXPECT_EQ(verdict.terminating, row.terminating);
  EXPECT_EQ(verdict.removable, row.removable_after == Duration::zero());
  if (row.removable_after == kNever) {
    EXPECT_FALSE(verdict.ask_again);
    scheduler_.Advance(std::chrono::hours(10));
    EXPECT_FALSE(pods_.Judge(kUid).removable);
    return;
  }
  if (row.removable_after == Duration::zero()) return;
  ASSERT_TRUE(verdict.ask_again);
  EXPECT_EQ(*verdict.ask_again - loop_.Now(), row.removable_after);
  scheduler_.Advance(row.removable_after - std::chrono::nanoseconds(1));
  EXPECT_FALSE(pods_.Judge(kUid).removable);
  scheduler_.Advance(std::chrono::nanoseconds(1));
  EXPECT_TRUE(pods_.Judge(kUid).removable);
}

using enum Container;
constexpr Duration kNow = Duration::zero();

INSTANTIATE_TEST_SUITE_P(
    PodStateTest, Judgement,
    ::testing::Values(
        PodRow{.name = "Running", .terminating = false},
        PodRow{.name = "Z2_CrashLooping", .container = kTerminated, .terminating = false},
        PodRow{.name = "NeverPickedUp",
               .phase = "Pending",
               .container = kAbsent,
               .started = false,
               .terminating = false},
        PodRow{.name = "Succeeded",
               .phase = "Succeeded",
               .container = kTerminated,
               .removable_after = kNow},
        PodRow{.name = "Z6_FailedByPodGcWhileRunning", .phase = "Failed"},
        PodRow{.name = "Z3_DeletingGraceOverStillRunning",
               .deleting = true,
               .deletion_in = seconds(-600)},
        PodRow{.name = "Z4_DeletingAllTerminated",
               .container = kTerminated,
               .deleting = true,
               .deletion_in = seconds(30),
               .removable_after = kNow},
        PodRow{.name = "Z5_DeletingEphemeralStillRunning",
               .container = kTerminated,
               .ephemeral = kRunning,
               .deleting = true},
        PodRow{.name = "Z7_PendingNeverPickedUpDeleted",
               .phase = "Pending",
               .container = kAbsent,
               .started = false,
               .deleting = true,
               .deletion_in = seconds(30),
               .removable_after = kNow},
        PodRow{.name = "Z7_PendingNeverPickedUpForceDeleted",
               .phase = "Pending",
               .container = kAbsent,
               .started = false,
               .deleting = true,
               .gone = true,
               .removable_after = kNow},
        PodRow{.name = "Z8_CreatingDeletionInThePast",
               .phase = "Pending",
               .container = kWaiting,
               .deleting = true,
               .deletion_in = seconds(-5),
               .removable_after = seconds(10)},
        PodRow{.name = "Z8_CreatingDeletionAhead",
               .phase = "Pending",
               .container = kWaiting,
               .deleting = true,
               .deletion_in = seconds(20),
               .removable_after = seconds(30)},
        PodRow{.name = "Z9_RunningForceDeleted", .gone = true, .removable_after = seconds(60)},
        PodRow{
            .name = "Z9_ShortestGrace", .gone = true, .grace = 0, .removable_after = seconds(31)},
        PodRow{.name = "GoneAfterAllTerminated",
               .container = kTerminated,
               .deleting = true,
               .gone = true,
               .removable_after = kNow}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(PodStateTest, Z1_NothingIsDecidedBeforeTheFirstList) {
  PodStates::Verdict verdict = pods_.Judge("unknown");
  EXPECT_FALSE(verdict.terminating);
  EXPECT_FALSE(verdict.removable);
  scheduler_.Advance(std::chrono::hours(1));
  EXPECT_FALSE(pods_.Judge("unknown").removable);
}

TEST_F(PodStateTest, Z10_UnknownPodWaitsAfterTheFirstList) {
  scheduler_.Advance(seconds(100));
  pods_.SetListed();
  EXPECT_TRUE(pods_.Judge("unknown").terminating);
  EXPECT_FALSE(pods_.Judge("unknown").removable);
  scheduler_.Advance(seconds(59));
  EXPECT_FALSE(pods_.Judge("unknown").removable);
  scheduler_.Advance(seconds(1));
  EXPECT_TRUE(pods_.Judge("unknown").removable);
}

TEST_F(PodStateTest, WithoutDelayVanishedPodsAreRemovableAtOnce) {
  PodStates pods(loop_, {.settle = seconds(10), .force_delay = seconds(0)});
  pods.SetListed();
  EXPECT_TRUE(pods.Judge("unknown").removable);
  pods.Update(Make({.name = ""}));
  pods.Remove(kUid);
  EXPECT_TRUE(pods.Judge(kUid).removable);
}

TEST_F(PodStateTest, RemovableNeverReturns) {
  pods_.SetListed();
  pods_.Update(Make({.name = "", .container = kTerminated, .deleting = true}));
  EXPECT_TRUE(pods_.Judge(kUid).removable);
  pods_.Update(Make({.name = "", .container = kRunning, .deleting = true}));
  EXPECT_TRUE(pods_.Judge(kUid).removable);
}

TEST_F(PodStateTest, EachChangeOfTheStatusRestartsTheSettlePeriod) {
  pods_.SetListed();
  PodRow row{.name = "", .phase = "Pending", .container = kWaiting, .deleting = true};
  pods_.Update(Make(row));
  scheduler_.Advance(seconds(9));
  row.ephemeral = kWaiting;
  const core::Pod changed = Make(row);
  pods_.Update(changed);
  EXPECT_EQ(*pods_.Judge(kUid).ask_again - loop_.Now(), seconds(10));
  scheduler_.Advance(seconds(4));
  pods_.Update(changed);
  EXPECT_EQ(*pods_.Judge(kUid).ask_again - loop_.Now(), seconds(6));
}

TEST_F(PodStateTest, TombstoneIsForgottenOnlyOnceTheObjectIsGone) {
  pods_.SetListed();
  pods_.Update(Make({.name = ""}));
  pods_.ForgetTombstone(kUid);
  EXPECT_NE(pods_.Find(kUid), nullptr);
  pods_.Remove(kUid);
  EXPECT_EQ(pods_.Find(kUid), nullptr);
  EXPECT_EQ(pods_.Tombstones().size(), 1u);
  pods_.ForgetTombstone(kUid);
  EXPECT_TRUE(pods_.Tombstones().empty());
}

}  // namespace
}  // namespace csinative::volumemanager
