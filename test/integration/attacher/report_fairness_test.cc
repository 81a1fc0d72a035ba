// SPDX-License-Identifier: Apache-2.0
//
// Reports about a burst of slow detaches (docs/compatibility.md): external-attacher#761,
// external-attacher#706.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::csi::v1::ControllerUnpublishVolumeRequest;
using ::csi::v1::ControllerUnpublishVolumeResponse;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kDetaches = 200;

// Ten workers, and 200 attachments that are being deleted; each detach takes a minute.
class BurstTest : public ::testing::Test {
 protected:
  BurstTest() {
    world_.config.call_timeout = minutes(2);
    world_.RecordLog();
    world_.AddVolume();
    world_.AddNode();
    world_.driver().Handle<ControllerUnpublishVolumeRequest, ControllerUnpublishVolumeResponse>(
        kUnpublish,
        [](ControllerUnpublishVolumeRequest, ControllerUnpublishVolumeResponse*)
            -> async::Task<Status> { co_return co_await async::Sleep(minutes(1)); });
    for (int i = 0; i < kDetaches; ++i) {
      const std::string name = StrCat("old", i);
      world_.Add(StrCat(
          R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":")",
          name, R"(","finalizers":["external-attacher/test-csi-example"],"annotations":{)",
          R"("csi.alpha.kubernetes.io/node-id":"nodeID1"}},"spec":{"attacher":"test.csi.example",)",
          R"("nodeName":"node1","source":{"persistentVolumeName":"pv1"}}})"));
      world_.Remove<storage::VolumeAttachment>(name);
    }
  }
  World world_;
};

TEST_F(BurstTest, AttachStartsWithinASecond) {
  world_.Start();
  world_.Advance(seconds(30));
  ASSERT_THAT(world_.Requests<ControllerUnpublishVolumeRequest>(kUnpublish), SizeIs(10));
  world_.AddAttachment();
  world_.Settle();
  EXPECT_THAT(world_.Requests<ControllerPublishVolumeRequest>(kPublish), SizeIs(1));
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
  world_.Advance(minutes(25));
  EXPECT_THAT(world_.Requests<ControllerUnpublishVolumeRequest>(kUnpublish), SizeIs(kDetaches));
}

TEST_F(BurstTest, BacklogIsSeenInMetricsAndInTheLog) {
  EXPECT_EQ(world_.Log(), "");
  world_.Start();
  EXPECT_THAT(world_.Metrics(), HasSubstr("workqueue_depth{name=\"csi-attacher-va\"} 190\n"));
  world_.Advance(minutes(5));
  EXPECT_THAT(world_.Metrics(), HasSubstr("workqueue_depth{name=\"csi-attacher-va\"} 140\n"));
  EXPECT_THAT(world_.Log(),
              HasSubstr(R"("VolumeAttachments wait for their turn" operation="detach" )"
                        R"(waiting=190 inProgress=10 oldestWaits="1m0s")"));
  EXPECT_THAT(world_.Log(), HasSubstr(R"(waiting=160 inProgress=10 oldestWaits="4m0s")"));
}

TEST(QuietTest, NothingIsToldAboutAQueueThatIsShort) {
  World world;
  world.RecordLog();
  world.AddVolume();
  world.AddNode();
  world.AddAttachment();
  world.Start();
  world.Advance(minutes(10));
  EXPECT_EQ(world.Log().find("wait for their turn"), std::string::npos) << world.Log();
}

}  // namespace
}  // namespace csinative::attacher
