// SPDX-License-Identifier: Apache-2.0
//
// Claims that the driver may be creating a volume for, while the cluster around them changes.
#include "cmd/provisioner/claim_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/provisioner/report_fixture.h"

namespace csinative::provisioner {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ClaimSyncTest : public FieldReport {
 protected:
  void TryOnce(const ClassSpec& klass = {}, const ClaimSpec& claim = {}) {
    world_.AddClass(klass);
    uid_ = world_.AddClaim(claim);
    world_.Start();
  }
  bool InProgress() { return world_.controller().claim_sync().InProgress(uid_); }

  std::string uid_;
};

// The class was deleted and made anew while the driver may create a volume.
class NewClassTest : public ClaimSyncTest, public ::testing::WithParamInterface<ClassSpec> {};

TEST_P(NewClassTest, ClaimStaysInProgressAndIsDrivenToAnEndOnceItIsDeleted) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  TryOnce();
  world_.Remove<storage::StorageClass>({"", "sc"});
  world_.AddClass(GetParam());
  world_.Advance(minutes(2));
  EXPECT_EQ(Creates().size(), 1u);
  EXPECT_TRUE(InProgress());
  world_.RemoveClaim("claim");
  world_.Advance(minutes(5));
  const auto requests = Creates();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].SerializeAsString(), requests[1].SerializeAsString());
  EXPECT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_FALSE(InProgress());
}

INSTANTIATE_TEST_SUITE_P(
    Classes, NewClassTest,
    ::testing::Values(
        ClassSpec{.parameters = R"({"fstype":"ext3","csi.storage.k8s.io/fstype":"ext4"})"},
        ClassSpec{.parameters = R"({"csi.storage.k8s.io/bim":"x"})"},
        ClassSpec{.provisioner = "other"}, ClassSpec{.binding_mode = "WaitForFirstConsumer"}));

TEST_F(ClaimSyncTest, DeletedClaimNeedsNoAttributesClass) {
  world_.features.modify_volume = true;
  world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttributesClass",
      "metadata":{"name":"vac"},"driverName":"test-driver","parameters":{"a":"b"}})");
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  TryOnce({}, {.extra_spec = R"(,"volumeAttributesClassName":"vac")"});
  world_.Remove<storage::VolumeAttributesClass>({"", "vac"});
  world_.RemoveClaim("claim");
  world_.Advance(seconds(2));
  const auto requests = Creates();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].SerializeAsString(), requests[1].SerializeAsString());
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

}  // namespace
}  // namespace csinative::provisioner
