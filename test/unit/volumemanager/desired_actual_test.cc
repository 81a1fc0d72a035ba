// SPDX-License-Identifier: Apache-2.0
//
// Desired and actual state (volumemanager 21.2 and 21.4), and what is in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/volumemanager/volumes_in_use.h"
#include "lib/async/virtual_loop.h"

namespace csinative::volumemanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

VolumeSpec Spec(const std::string& name) {
  VolumeSpec spec;
  spec.name = name;
  spec.driver = "d";
  spec.handle = "h-" + name;
  return spec;
}
VolumeSpec Inline(const std::string& name, const std::string& uid) {
  VolumeSpec spec = Spec(name);
  spec.lifecycle = Lifecycle::kEphemeral;
  spec.handle = "csi-" + uid;
  return spec;
}
PodFacts Pod(const std::string& uid) {
  PodFacts pod;
  pod.uid = uid;
  return pod;
}
const std::string kV1 = "kubernetes.io/csi/d^h-v1";

TEST(DesiredStateTest, D1_NewPodAndVolume) {
  DesiredState desired;
  EXPECT_EQ(desired.Add(Pod("u"), Spec("v1"), "a", true), kV1);
  ASSERT_NE(desired.Find(kV1), nullptr);
  EXPECT_FALSE(desired.Find(kV1)->reported_in_use);
  EXPECT_NE(desired.Find(kV1, "u"), nullptr);
}

TEST(DesiredStateTest, D3_InlineVolumesOfTwoPodsDiffer) {
  DesiredState desired;
  EXPECT_NE(desired.Add(Pod("u1"), Inline("v", "u1"), "v", false),
            desired.Add(Pod("u2"), Inline("v", "u2"), "v", false));
}

TEST(DesiredStateTest, D4_PersistentVolumeOfTwoPodsIsOne) {
  DesiredState desired;
  EXPECT_EQ(desired.Add(Pod("u1"), Spec("v1"), "v", true),
            desired.Add(Pod("u2"), Spec("v1"), "v", true));
  EXPECT_EQ(desired.Find(kV1)->pods.size(), 2u);
}

TEST(DesiredStateTest, D6_OneVolumeCanHaveTwoNamesInAPod) {
  DesiredState desired;
  desired.Add(Pod("u"), Spec("v1"), "a", true);
  desired.Add(Pod("u"), Spec("v1"), "b", true);
  EXPECT_THAT(desired.Find(kV1, "u")->names, ElementsAre("a", "b"));
  EXPECT_THAT(desired.VolumesOf("u"), ElementsAre(kV1));
}

TEST(DesiredStateTest, D7_LastPodTakesTheVolumeAlong) {
  DesiredState desired;
  desired.Add(Pod("u"), Spec("v1"), "a", true);
  EXPECT_TRUE(desired.HasSpec("u", "v1"));
  desired.Remove(kV1, "u");
  EXPECT_EQ(desired.Find(kV1), nullptr);
  EXPECT_FALSE(desired.HasSpec("u", "v1"));
  desired.Remove(kV1, "u");
}

TEST(DesiredStateTest, D8_OnlyWhatIsListedIsReported) {
  DesiredState desired;
  std::vector<std::string> names;
  for (const char* name : {"v1", "v2", "v3"}) {
    names.push_back(desired.Add(Pod("u"), Spec(name), name, true));
  }
  desired.SetReportedInUse({names[1], "other"});
  EXPECT_FALSE(desired.Find(names[0])->reported_in_use);
  EXPECT_TRUE(desired.Find(names[1])->reported_in_use);
  desired.SetReportedInUse({names[2]});
  EXPECT_FALSE(desired.Find(names[1])->reported_in_use);
  EXPECT_TRUE(desired.Find(names[2])->reported_in_use);
}

class ActualStateTest : public ::testing::Test {
 protected:
  void Attach() { state_.MarkAttached(kV1, Spec("v1"), Attachability::kYes); }
  ActualState state_;
};

TEST_F(ActualStateTest, A1_AttachedVolumeHasNothingMounted) {
  Attach();
  ASSERT_NE(state_.Find(kV1), nullptr);
  EXPECT_EQ(state_.Find(kV1)->device, DeviceState::kNotMounted);
  EXPECT_THAT(state_.Find(kV1)->pods, IsEmpty());
}

TEST_F(ActualStateTest, A5_TwoPodsSeeEachOther) {
  Attach();
  state_.MarkPodMounted(kV1, "u1", Spec("v1"));
  EXPECT_FALSE(state_.MountedElsewhere(kV1, "u1"));
  state_.MarkPodMounted(kV1, "u2", Spec("v1"));
  EXPECT_TRUE(state_.MountedElsewhere(kV1, "u1"));
  EXPECT_TRUE(state_.MountedElsewhere(kV1, "u2"));
}

TEST_F(ActualStateTest, A6_PodOfAVolumeThatIsNotThereIsNotAdded) {
  state_.MarkPodMounted(kV1, "u", Spec("v1"));
  EXPECT_EQ(state_.Find(kV1), nullptr);
}

TEST_F(ActualStateTest, A7_VolumeOfAPodIsNotForgotten) {
  Attach();
  state_.MarkPodMounted(kV1, "u", Spec("v1"));
  state_.Forget(kV1);
  EXPECT_NE(state_.Find(kV1, "u"), nullptr);
  state_.MarkPodUnmounted(kV1, "u");
  state_.Forget(kV1);
  EXPECT_EQ(state_.Find(kV1), nullptr);
}

TEST_F(ActualStateTest, A11_MountedPodIsNotReconstructedAnyMore) {
  state_.AddReconstructed(kV1, Spec("v1"), "/stage");
  state_.AddReconstructedPod(kV1, "u", Spec("v1"));
  EXPECT_TRUE(state_.Find(kV1, "u")->reconstructed);
  EXPECT_EQ(state_.Find(kV1, "u")->state, PodMountState::kUncertain);
  EXPECT_EQ(state_.Find(kV1)->device, DeviceState::kUncertain);
  state_.MarkPodMounted(kV1, "u", Spec("v1"));
  EXPECT_FALSE(state_.Find(kV1, "u")->reconstructed);
}

TEST_F(ActualStateTest, A15_FirstAnswerOnAttachabilityStays) {
  state_.AddReconstructed(kV1, Spec("v1"), "/stage");
  EXPECT_EQ(state_.Find(kV1)->attachable, Attachability::kUncertain);
  state_.SetAttachability(kV1, false);
  state_.SetAttachability(kV1, true);
  EXPECT_EQ(state_.Find(kV1)->attachable, Attachability::kNo);
}

struct FailureRow {
  const char* name;
  bool mounted = false;        // before
  bool uncertain = false;      // before
  bool reconstructed = false;  // before
  FailureKind kind = FailureKind::kFinal;
  // Expected.
  bool there = false;
  PodMountState state = PodMountState::kUncertain;
};

class PodFailure : public ActualStateTest, public ::testing::WithParamInterface<FailureRow> {};

TEST_P(PodFailure, ChangesTheStateOrNot) {
  const FailureRow& row = GetParam();
  if (row.reconstructed) {
    state_.AddReconstructed(kV1, Spec("v1"), "/stage");
    state_.AddReconstructedPod(kV1, "u", Spec("v1"));
  } else {
    Attach();
    if (row.mounted) state_.MarkPodMounted(kV1, "u", Spec("v1"));
    if (row.uncertain) state_.MarkPodUncertain(kV1, "u", Spec("v1"));
  }
  state_.MarkPodFailed(kV1, "u", Spec("v1"), row.kind);
  const MountedPod* pod = state_.Find(kV1, "u");
  ASSERT_EQ(pod != nullptr, row.there);
  if (pod != nullptr) EXPECT_EQ(pod->state, row.state);
}

INSTANTIATE_TEST_SUITE_P(
    ActualStateTest, PodFailure,
    ::testing::Values(
        FailureRow{.name = "NewUncertain", .kind = FailureKind::kUncertain, .there = true},
        FailureRow{.name = "NewFinal"},
        FailureRow{.name = "NewTransient", .kind = FailureKind::kTransient},
        FailureRow{.name = "UncertainFinal", .uncertain = true},
        FailureRow{.name = "UncertainTransient",
                   .uncertain = true,
                   .kind = FailureKind::kTransient,
                   .there = true},
        FailureRow{.name = "ReconstructedFinal", .reconstructed = true, .there = true},
        FailureRow{.name = "MountedFinal",
                   .mounted = true,
                   .there = true,
                   .state = PodMountState::kMounted},
        FailureRow{.name = "MountedUncertain",
                   .mounted = true,
                   .kind = FailureKind::kUncertain,
                   .there = true,
                   .state = PodMountState::kMounted}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(VolumesInUseTest, DesiredAndAttachedOnesAreInUse) {
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  NodeState state(loop, {});
  const std::string wanted = state.desired.Add(Pod("u"), Spec("wanted"), "a", true);
  state.desired.Add(Pod("u"), Spec("not-attachable"), "b", false);
  state.actual.MarkAttached("attached", Spec("x"), Attachability::kYes);
  state.actual.MarkAttached("plain", Spec("y"), Attachability::kNo);
  state.actual.AddReconstructed("unknown", Spec("z"), "/stage");
  EXPECT_THAT(ComputeVolumesInUse(state), ElementsAre("attached", wanted));
}

}  // namespace
}  // namespace csinative::volumemanager
