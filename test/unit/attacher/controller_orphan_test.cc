// SPDX-License-Identifier: Apache-2.0
//
// Attachments that are removed by force, past their finalizer, while the driver works on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::csi::v1::ControllerPublishVolumeResponse;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSecretRef[] =
    R"(,"controllerPublishSecretRef":{"namespace":"default","name":"secret"})";

// A driver that takes five seconds for its first publish.
class OrphanTest : public ::testing::Test {
 protected:
  OrphanTest() {
    world_.config.call_timeout = seconds(15);
    world_.RecordLog();
    world_.AddNode();
    world_.driver().HandleOnce<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
        kPublish,
        [this](ControllerPublishVolumeRequest,
               ControllerPublishVolumeResponse*) -> async::Task<Status> {
          CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(5)));
          co_return answer_;
        });
  }
  void StartToPublish(const VolumeSpec& volume = {}) {
    world_.AddVolume(volume);
    world_.AddAttachment();
    world_.Start();
    ASSERT_EQ(world_.Trace().back().substr(0, 4), "PUB ");
  }
  void RemoveByForce() {
    world_.Remove<storage::VolumeAttachment>("va1");
    world_.Merge<storage::VolumeAttachment>("va1", R"({"metadata":{"finalizers":null}})");
    ASSERT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
  }
  size_t Unpublished() { return world_.driver().CountOf(kUnpublish); }

  Status answer_;
  World world_;
};

TEST_F(OrphanTest, IsUnpublishedOnceWhenThePublishIsThrough) {
  StartToPublish();
  RemoveByForce();
  world_.Advance(seconds(2));
  EXPECT_EQ(Unpublished(), 0u);
  world_.Advance(minutes(30));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kUnpublished));
}

TEST_F(OrphanTest, IsUnpublishedWithTheSecretOfADetach) {
  world_.AddSecret("secret");
  StartToPublish({.csi = kSecretRef});
  RemoveByForce();
  world_.Advance(minutes(1));
  EXPECT_THAT(
      world_.Trace(),
      ElementsAre("GET secrets/secret", trace::kPrepare, "PUB handle1 nodeID1 secrets{foo=bar}",
                  "GET secrets/secret", "UNPUB handle1 nodeID1 secrets{foo=bar}"));
}

TEST_F(OrphanTest, IsUnpublishedWhenThePublishTookTooLong) {
  world_.config.call_timeout = seconds(3);
  StartToPublish();
  RemoveByForce();
  world_.Advance(minutes(30));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kUnpublished));
}

TEST_F(OrphanTest, IsLeftWhenTheDriverRefusedToPublishIt) {
  answer_ = RpcStatus(9, "it is attached elsewhere");
  StartToPublish();
  RemoveByForce();
  world_.Advance(minutes(30));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished));
}

TEST_F(OrphanTest, IsLeftToANewAttachmentOfTheSameName) {
  StartToPublish();
  RemoveByForce();
  world_.AddAttachment();
  world_.Advance(minutes(30));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kPrepare,
                                          trace::kPublished, trace::kAttached));
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
}

TEST_F(OrphanTest, IsNotLeftToANewAttachmentThatGoesUnattended) {
  StartToPublish();
  RemoveByForce();
  world_.AddAttachment({.finalizers = {"foreign.example/x"}});
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Advance(minutes(30));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kUnpublished));
}

TEST_F(OrphanTest, IsNotLeftToAnAttachmentOfAnotherDriver) {
  StartToPublish();
  RemoveByForce();
  world_.AddAttachment({.attacher = "other.example"});
  world_.Advance(minutes(30));
  EXPECT_EQ(Unpublished(), 1u);
}

TEST_F(OrphanTest, IsUnpublishedWhenTheCacheDoesNotKnowYet) {
  StartToPublish();
  world_.HoldCaches(true);
  RemoveByForce();
  world_.Advance(milliseconds(4200));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished,
                                          trace::kAttached + trace::kGone, trace::kUnpublished));
  world_.HoldCaches(false);
  world_.Advance(minutes(30));
  EXPECT_EQ(world_.driver().CountOf(kPublish), Unpublished());
}

TEST_F(OrphanTest, ThatCannotBeUnpublishedIsToldInTheLog) {
  world_.driver().Fail(kUnpublish, RpcStatus(13, "broken"));
  StartToPublish();
  RemoveByForce();
  world_.Advance(minutes(30));
  EXPECT_EQ(Unpublished(), 1u);
  EXPECT_THAT(world_.Log(),
              AllOf(HasSubstr("may still be attached"), HasSubstr(R"(volumeHandle="handle1")"),
                    HasSubstr(R"(nodeID="nodeID1")"), HasSubstr("broken")));
}

TEST_F(OrphanTest, NewAttachmentIsPublishedAfterTheOldOneIsUnpublished) {
  world_.driver()
      .HandleOnce<::csi::v1::ControllerUnpublishVolumeRequest,
                  ::csi::v1::ControllerUnpublishVolumeResponse>(
          kUnpublish,
          [this](::csi::v1::ControllerUnpublishVolumeRequest,
                 ::csi::v1::ControllerUnpublishVolumeResponse*) -> async::Task<Status> {
            world_.AddAttachment();
            co_return co_await async::Sleep(seconds(5));
          });
  StartToPublish();
  RemoveByForce();
  world_.Advance(seconds(8));
  EXPECT_EQ(world_.driver().CountOf(kPublish), 1u);
  world_.Advance(minutes(1));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kUnpublished,
                                          trace::kPrepare, trace::kPublished, trace::kAttached));
}

}  // namespace
}  // namespace csinative::attacher
