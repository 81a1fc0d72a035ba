// SPDX-License-Identifier: Apache-2.0
//
// Attachments whose node or volume is not there yet, or cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNoNode[] = "csinode.storage.k8s.io \"node1\" not found";

// Things happen at 33 seconds: the tries before were at 0, 1, 3, 7, 15 and 31, the next one is at
// 63.
class MissingTest : public ::testing::Test {
 protected:
  void StartAndWait() {
    world_.Start();
    world_.Advance(seconds(33) - milliseconds(900));
    EXPECT_EQ(Called(kPublish) + Called(kUnpublish), 0u);
    EXPECT_EQ(Waiting(), 1u);
  }
  void SetDrivers(const std::string& list) {
    world_.Merge<storage::CSINode>("node1", R"({"spec":{"drivers":)" + list + "}}");
  }
  size_t Called(const char* method) { return world_.driver().CountOf(method); }
  size_t Waiting() { return world_.controller().missing().size(); }
  World world_;
};

TEST_F(MissingTest, AttachFollowsTheNodeAtOnce) {
  world_.AddVolume();
  world_.AddAttachment();
  StartAndWait();
  world_.AddNode();
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kPublish), 1u);
  EXPECT_EQ(Waiting(), 0u);
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
  world_.Advance(minutes(30));
  EXPECT_EQ(Called(kPublish), 1u);
}

TEST_F(MissingTest, AttachFollowsTheDriversRegistrationAtOnce) {
  world_.AddVolume();
  world_.AddNode("");
  world_.AddAttachment();
  StartAndWait();
  SetDrivers(R"([{"name":"other.example","nodeID":"x"}])");
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kPublish), 0u);
  EXPECT_EQ(Waiting(), 1u);
  SetDrivers(R"([{"name":"other.example","nodeID":"x"},)"
             R"({"name":"test.csi.example","nodeID":"nodeID1"}])");
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kPublish), 1u);
}

TEST_F(MissingTest, AttachFollowsTheVolumeAtOnce) {
  world_.AddNode();
  world_.AddAttachment();
  StartAndWait();
  world_.AddVolume();
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kPublish), 1u);
  EXPECT_EQ(Waiting(), 0u);
}

TEST_F(MissingTest, AttachThatMissesBothWaitsForOneAfterTheOther) {
  world_.AddAttachment();
  StartAndWait();
  world_.AddNode();
  world_.Advance(milliseconds(100));
  world_.Remove<storage::CSINode>("node1");
  world_.AddVolume();
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kPublish), 0u);
  EXPECT_EQ(Waiting(), 1u);
  world_.AddNode();
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kPublish), 1u);
}

TEST_F(MissingTest, DetachFollowsTheVolumeAtOnce) {
  world_.AddAttachment(AttachedBefore());
  world_.Remove<storage::VolumeAttachment>("va1");
  StartAndWait();
  world_.AddVolume();
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kUnpublish), 1u);
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
}

TEST_F(MissingTest, DetachWithoutARecordedNodeFollowsTheNodeAtOnce) {
  world_.AddVolume();
  world_.AddAttachment({.finalizers = {kFinalizer}, .attached = true});
  world_.Remove<storage::VolumeAttachment>("va1");
  StartAndWait();
  world_.AddNode();
  world_.Advance(milliseconds(100));
  EXPECT_EQ(Called(kUnpublish), 1u);
}

TEST_F(MissingTest, BackOffBeginsAnewWithTheNode) {
  world_.AddVolume();
  world_.AddAttachment({.finalizers = {kFinalizer}, .node_id = "nodeID1"});
  world_.driver().Fail(kPublish, RpcStatus(13, "broken"));
  StartAndWait();
  world_.AddNode();
  world_.Advance(milliseconds(900));
  EXPECT_EQ(Called(kPublish), 1u);
  world_.Advance(milliseconds(200));
  EXPECT_EQ(Called(kPublish), 2u);
}

TEST_F(MissingTest, NodeThatComesWhileTheErrorIsSavedIsSeen) {
  world_.AddVolume();
  world_.AddAttachment();
  world_.WhenArrives("patch volumeattachments/va1/status", [this] {
    world_.AddNode();
    return apiserver::Fault{.delay = milliseconds(200)};
  });
  world_.Start();
  EXPECT_EQ(Called(kPublish), 1u);
}

TEST_F(MissingTest, AttachmentThatGoesIsWaitedForNoLonger) {
  world_.AddVolume();
  world_.AddAttachment();
  StartAndWait();
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Settle();
  EXPECT_EQ(Waiting(), 0u);
}

TEST_F(MissingTest, AttachmentThatGoesWhileItIsTriedIsWaitedForNoLonger) {
  world_.AddVolume({.csi = R"(,"controllerPublishSecretRef":{"namespace":"default","name":"s"})"});
  world_.AddSecret("s");
  world_.AddAttachment();
  world_.WhenArrives("get secrets/s", [this] {
    world_.RemoveSoon("va1");
    return apiserver::Fault{.delay = milliseconds(100)};
  });
  world_.Start();
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
  EXPECT_EQ(Waiting(), 0u);
}

// --- a role that may not list CSINodes

TEST_F(MissingTest, DetachNeedsNoListOfNodes) {
  world_.RecordLog();
  world_.ForbidReads("csinodes");
  world_.AddVolume();
  world_.AddAttachment(AttachedBefore());
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Start();
  EXPECT_THAT(world_.Trace(), IsEmpty());
  world_.Advance(seconds(10));
  EXPECT_THAT(world_.Trace(),
              ElementsAre(trace::kUnpublished, trace::kRelease, trace::kDetached + trace::kGone));
  EXPECT_THAT(world_.Log(), HasSubstr("Starting without CSINodes"));
}

TEST_F(MissingTest, AttachWithoutAListOfNodesTellsSoAndFollowsTheList) {
  world_.ForbidReads("csinodes");
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment();
  world_.Start();
  world_.Advance(seconds(10));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::AttachError(kNoNode)));
  EXPECT_EQ(Waiting(), 1u);
  world_.Advance(minutes(4));  // the next try is in more than a minute
  EXPECT_EQ(Called(kPublish), 0u);
  world_.ForbidReads("csinodes", false);
  world_.Advance(minutes(1));
  EXPECT_EQ(Called(kPublish), 1u);
}

TEST_F(MissingTest, NodesAreAwaitedWhenTheyTakeLonger) {
  world_.ForbidReads("csinodes");
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment();
  world_.Start();
  world_.ForbidReads("csinodes", false);
  world_.Advance(seconds(9));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kAttached));
}

TEST_F(MissingTest, NodeThatCannotBeReadIsNotGone) {
  world_.features.lists_published_nodes = true;
  world_.config.call_timeout = seconds(15);
  world_.ForbidReads("csinodes");
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment(AttachedBefore());
  world_.List({{"handle1", {}}});
  world_.Start();
  world_.Advance(minutes(5));
  const auto status = world_.Find<storage::VolumeAttachment>("va1")->status();
  EXPECT_EQ(status.attacherror().message(), kNoNode);
  EXPECT_TRUE(status.attached());
}

// --- a role that may not patch the status

TEST_F(MissingTest, StatusThatCannotBeWrittenIsToldInTheLog) {
  world_.RecordLog();
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment();
  world_.Forbid("volumeattachments/va1/status",
                R"(User "attacher" cannot patch resource "volumeattachments/status")");
  world_.Start();
  EXPECT_THAT(world_.Log(),
              AllOf(HasSubstr("Failed to mark the attachment as attached"),
                    HasSubstr("cannot patch resource"), HasSubstr("volumeattachments/status")));
}

}  // namespace
}  // namespace csinative::attacher
