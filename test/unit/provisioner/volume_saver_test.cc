// SPDX-License-Identifier: Apache-2.0
//
// Volumes whose object is there already, or whose answer was lost (provisioner 11).
#include "cmd/provisioner/volume_saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/provisioner/report_fixture.h"

namespace csinative::provisioner {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;

class VolumeSaverTest : public FieldReport {
 protected:
  void TryOnce(const ClassSpec& klass = {}, const ClaimSpec& claim = {}) {
    world_.AddClass(klass);
    uid_ = world_.AddClaim(claim);
    world_.Start();
  }

  std::string uid_;
};

// The object of the claim's volume appears while the driver makes the volume "v".
class ExistingTest : public VolumeSaverTest {
 protected:
  void TryBeside(const std::string& handle, const std::string& claim_uid) {
    world_.driver().HandleOnce<CreateRequest, CreateResponse>(
        kCreateVolume,
        [this, handle, claim_uid](CreateRequest, CreateResponse* response) -> async::Task<Status> {
          world_.Add(StrCat(
              R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pvc-)", uid_,
              R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
                 "claimRef":{"kind":"PersistentVolumeClaim","namespace":"ns","name":"claim","uid":")",
              claim_uid, R"("},"csi":{"driver":"test-driver","volumeHandle":")", handle, "\"}}}"));
          response->mutable_volume()->set_volume_id("v");
          co_return Status();
        });
    world_.Start();
  }
  void ExpectWarning() {
    EXPECT_EQ(world_.controller().volume_saver().unsaved(), 0u);
    EXPECT_THAT(world_.Events(),
                Contains("Warning ProvisioningFailed: PersistentVolume pvc-" + uid_ +
                         " exists already and is not the volume v that was made "
                         "for this claim"));
    EXPECT_THAT(world_.Events(), Not(Contains(HasSubstr("ProvisioningSucceeded"))));
    EXPECT_THAT(world_.Log(), HasSubstr("Another volume has the name of the one that was made"));
    world_.Advance(minutes(20));
    EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
    EXPECT_THAT(world_.Writes(), ElementsAre("POST persistentvolumes -> 409"));
  }
};

TEST_F(ExistingTest, VolumeOfAnotherHandleIsToldAndLeftAlone) {
  world_.AddClass();
  uid_ = world_.AddClaim();
  TryBeside("h", uid_);
  ExpectWarning();
}

TEST_F(ExistingTest, VolumeOfAnotherClaimIsToldAndLeftAlone) {
  world_.AddClass();
  uid_ = world_.AddClaim();
  TryBeside("v", "another");
  ExpectWarning();
}

// The control plane may bind the claim before our second try has been answered.
TEST_F(VolumeSaverTest, EventFollowsWhenTheClaimIsBoundBeforeTheSaveIsConfirmed) {
  int posts = 0;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user != "provisioner" || info.verb != "create" ||
        info.resource != "persistentvolumes") {
      return fault;
    }
    if (++posts == 1) fault.drop = apiserver::Fault::Drop::kAfter;
    if (posts > 1) fault.delay = seconds(2);
    return fault;
  });
  TryOnce();
  ASSERT_TRUE(world_.OnlyVolume().has_value());
  world_.Bind("pvc-" + uid_);
  world_.Advance(seconds(5));
  EXPECT_GT(posts, 1);
  EXPECT_THAT(
      world_.Events(),
      Contains("Normal ProvisioningSucceeded: Successfully provisioned volume pvc-" + uid_));
}

TEST_F(ExistingTest, VolumeThatExistsAlreadyCountsAsSaved) {
  world_.AddClass();
  uid_ = world_.AddClaim();
  TryBeside("v", uid_);
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_total", {"sc", ""}), 1);
  EXPECT_EQ(world_.controller().volume_saver().unsaved(), 0u);
  EXPECT_THAT(
      world_.Events(),
      Contains("Normal ProvisioningSucceeded: Successfully provisioned volume pvc-" + uid_));
}

TEST_F(ExistingTest, VolumeThatMayNotBeReadCountsAsSaved) {
  world_.AddClass();
  uid_ = world_.AddClaim();
  world_.api().set_fault_hook([](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "get" && info.resource == "persistentvolumes") {
      fault.code = 403;
    }
    return fault;
  });
  TryBeside("v", uid_);
  EXPECT_EQ(world_.controller().volume_saver().unsaved(), 0u);
  EXPECT_THAT(
      world_.Events(),
      Contains("Normal ProvisioningSucceeded: Successfully provisioned volume pvc-" + uid_));
}

}  // namespace
}  // namespace csinative::provisioner
