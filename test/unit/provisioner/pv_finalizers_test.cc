// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/pv_finalizers.h"

#include <gtest/gtest.h>

namespace csinative::provisioner {
namespace {

constexpr const char* kOurs = "external-provisioner.volume.kubernetes.io/finalizer";

core::PersistentVolume Volume(std::vector<std::string> finalizers, const std::string& policy,
                              const std::string& phase, bool deleted = false) {
  core::PersistentVolume volume;
  for (auto& finalizer : finalizers) volume.mutable_metadata()->add_finalizers(finalizer);
  if (deleted) volume.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1);
  volume.mutable_spec()->set_persistentvolumereclaimpolicy(policy);
  volume.mutable_status()->set_phase(phase);
  return volume;
}

TEST(PvFinalizersTest, ActionFollowsPolicyPhaseAndDeletion) {
  using enum FinalizerAction;
  EXPECT_EQ(NeededFinalizerAction(Volume({}, "Delete", "Bound")), kAdd);
  EXPECT_EQ(NeededFinalizerAction(Volume({"other"}, "Delete", "Bound")), kAdd);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Delete", "Bound")), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({}, "Delete", "Bound", true)), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({}, "Delete", "Released")), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({}, "Delete", "Available")), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Delete", "Released")), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Retain", "Bound")), kRemove);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Retain", "Released", true)), kRemove);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Recycle", "Pending")), kRemove);
  EXPECT_EQ(NeededFinalizerAction(Volume({}, "Retain", "Bound")), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "", "Bound")), kNone);
}

TEST(PvFinalizersTest, VolumeWithoutAClaimThatSomebodyDeletesIsLetGo) {
  using enum FinalizerAction;
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Delete", "Available", true)), kRemove);
  EXPECT_EQ(NeededFinalizerAction(Volume({}, "Delete", "Available", true)), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Delete", "Available")), kNone);
  EXPECT_EQ(NeededFinalizerAction(Volume({kOurs}, "Delete", "Failed", true)), kNone);
  core::PersistentVolume reserved = Volume({kOurs}, "Delete", "Available", true);
  reserved.mutable_spec()->mutable_claimref()->set_name("claim");
  EXPECT_EQ(NeededFinalizerAction(reserved), kNone);
}

// Provisioner 13.2.
TEST(PvFinalizersTest, PatchBodiesAreExact) {
  EXPECT_EQ(
      AddFinalizerPatch(Volume({}, "Delete", "Bound")),
      R"({"metadata":{"finalizers":["external-provisioner.volume.kubernetes.io/finalizer"]}})");
  EXPECT_EQ(AddFinalizerPatch(Volume({"kubernetes.io/pv-protection"}, "Delete", "Bound")),
            R"({"metadata":{"$setElementOrder/finalizers":["kubernetes.io/pv-protection",)"
            R"("external-provisioner.volume.kubernetes.io/finalizer"],)"
            R"("finalizers":["external-provisioner.volume.kubernetes.io/finalizer"]}})");
  EXPECT_EQ(RemoveFinalizerPatch(Volume({"kubernetes.io/pv-protection", kOurs}, "Retain", "Bound")),
            R"({"metadata":{"$deleteFromPrimitiveList/finalizers":)"
            R"(["external-provisioner.volume.kubernetes.io/finalizer"],)"
            R"("$setElementOrder/finalizers":["kubernetes.io/pv-protection"]}})");
  EXPECT_EQ(RemoveFinalizerPatch(Volume({kOurs}, "Retain", "Bound")),
            R"({"metadata":{"$deleteFromPrimitiveList/finalizers":)"
            R"(["external-provisioner.volume.kubernetes.io/finalizer"]}})");
}

}  // namespace
}  // namespace csinative::provisioner
