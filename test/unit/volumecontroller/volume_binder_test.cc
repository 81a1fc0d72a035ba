// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "test/unit/volumecontroller/world.h"

namespace csinative::volumecontroller {
namespace {

class VolumeBinderTest : public ::testing::Test {
 protected:
  bool IsAskedFor(const std::string& claim) {
    return apis::HasEntry(
        world_.Find<core::PersistentVolumeClaim>({"ns", claim})->metadata().annotations(),
        apis::kAnnStorageProvisioner);
  }
  std::string PhaseOf(const std::string& volume) {
    const auto found = world_.Find<core::PersistentVolume>({"", volume});
    return found ? found->status().phase() : "gone";
  }
  World world_;
};

TEST_F(VolumeBinderTest, ImmediateClaimIsHandedToItsProvisioner) {
  world_.AddClaim("a");
  world_.Settle();
  EXPECT_TRUE(IsAskedFor("a"));
}

TEST_F(VolumeBinderTest, LateClaimWaitsForTheChoiceOfANode) {
  world_.AddClaim("a", "late");
  world_.Settle();
  EXPECT_FALSE(IsAskedFor("a"));
  world_.Merge<core::PersistentVolumeClaim>(
      {"ns", "a"}, R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n"}}})");
  world_.Settle();
  EXPECT_TRUE(IsAskedFor("a"));
}

TEST_F(VolumeBinderTest, VolumeAndClaimAreBound) {
  world_.AddBoundClaim("a");
  const auto claim = world_.Find<core::PersistentVolumeClaim>({"ns", "a"});
  EXPECT_EQ(claim->spec().volumename(), "pv-a");
  EXPECT_EQ(claim->status().phase(), "Bound");
  EXPECT_TRUE(apis::HasEntry(claim->metadata().annotations(), apis::kAnnBindCompleted));
  EXPECT_EQ(PhaseOf("pv-a"), "Bound");
}

TEST_F(VolumeBinderTest, VolumeIsReleasedWhenItsClaimGoes) {
  world_.AddBoundClaim("a");
  world_.Remove<core::PersistentVolumeClaim>({"ns", "a"});
  world_.Settle();
  EXPECT_FALSE(world_.Find<core::PersistentVolumeClaim>({"ns", "a"}).has_value());
  EXPECT_EQ(PhaseOf("pv-a"), "Released");
}

TEST_F(VolumeBinderTest, VolumeOfAClaimThatWentBeforeItIsReleased) {
  world_.AddVolume("a", "c7a3d1a0-0000-4000-8000-000000000001");
  world_.Settle();
  EXPECT_EQ(PhaseOf("pv-a"), "Released");
}

TEST_F(VolumeBinderTest, ClaimStaysWhileAPodUsesIt) {
  world_.AddNode("n");
  world_.AddBoundClaim("a");
  world_.AddPod("p", "a", "n");
  world_.Settle();
  world_.Remove<core::PersistentVolumeClaim>({"ns", "a"});
  world_.Settle();
  EXPECT_TRUE(world_.Find<core::PersistentVolumeClaim>({"ns", "a"}).has_value());
  world_.Remove<core::Pod>({"ns", "p"}, 0);
  world_.Settle();
  EXPECT_FALSE(world_.Find<core::PersistentVolumeClaim>({"ns", "a"}).has_value());
}

TEST_F(VolumeBinderTest, DeletedVolumeStaysWhileBound) {
  world_.AddBoundClaim("a");
  world_.Remove<core::PersistentVolume>({"", "pv-a"});
  world_.Settle();
  EXPECT_EQ(PhaseOf("pv-a"), "Bound");
  world_.Remove<core::PersistentVolumeClaim>({"ns", "a"});
  world_.Settle();
  EXPECT_EQ(PhaseOf("pv-a"), "gone");
}

}  // namespace
}  // namespace csinative::volumecontroller
