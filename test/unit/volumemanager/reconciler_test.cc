// SPDX-License-Identifier: Apache-2.0
//
// What is in use, and whose turn it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;

class ReconcilerTest : public ::testing::Test {
 protected:
  World world_;
};

TEST_F(ReconcilerTest, VolumeAttachedOnlyAfterARestartStaysInUseWhileItIsMounted) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Settle();
  // A reboot, during which the volume was taken off the node.
  world_.Kill();
  world_.fs().ForgetMounts();
  world_.Detach("pv1");
  world_.Start();
  ASSERT_EQ(world_.state().actual.Find(World::Unique())->attachable, Attachability::kNo);
  world_.Attach("pv1");
  world_.Advance(seconds(130));
  ASSERT_THAT(world_.fs().Mounts(), Contains(world_.PublishPath("p1")));
  world_.driver().Fail(kUnpublish, RpcStatus(13, "busy"));
  world_.EndPod("p1");
  world_.Advance(seconds(20));
  ASSERT_THAT(world_.fs().Mounts(), Contains(world_.PublishPath("p1")));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique())) << "must not be detached";
}

TEST_F(ReconcilerTest, VolumeThatTheNodeListsAsAttachedIsInUseBeforeItIsMountedAgain) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Settle();
  world_.Kill();
  world_.Detach("pv1");
  world_.driver().Fail(kUnpublish, RpcStatus(13, "busy"));
  world_.EndPod("p1");
  world_.Start();
  world_.Attach("pv1");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
}

// Each failure counts for the volume: two back-offs are 0.5 and 1 second.
TEST_F(ReconcilerTest, PodThatFailsDoesNotKeepTheOthersWaiting) {
  world_.Start();
  world_.AddVolume("pv1", {.access = "ReadWriteMany"});
  world_.AddPod("p1");
  world_.AddPod("p2");
  const std::string first = std::min(world_.Uid("p1"), world_.Uid("p2"));
  const std::string second = std::max(world_.Uid("p1"), world_.Uid("p2"));
  world_.fs().set_hook([&](const std::string& operation, const std::string& path) {
    return operation == "WriteFile" && path.find(first) != std::string::npos
               ? FailedPreconditionError("disk full")
               : Status();
  });
  world_.Attach("pv1");
  world_.Advance(seconds(2));
  EXPECT_THAT(world_.fs().Mounts(),
              Contains(StrCat("pods/", second, "/volumes/kubernetes.io~csi/pv1/mount")));
  // And gets its turn again.
  world_.fs().set_hook(nullptr);
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.fs().Mounts(),
              Contains(StrCat("pods/", first, "/volumes/kubernetes.io~csi/pv1/mount")));
}

TEST_F(ReconcilerTest, PodThatAlwaysFailsIsTriedLessAndLessOften) {
  world_.Start();
  world_.AddVolume("pv1", {.access = "ReadWriteMany"});
  world_.driver().Fail(kPublish, RpcStatus(13, "no"));
  world_.AddPod("p1");
  world_.AddPod("p2");
  world_.Attach("pv1");
  world_.Advance(seconds(120));
  const size_t tries = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish).size();
  EXPECT_GE(tries, 6u);
  EXPECT_LE(tries, 10u);
}

}  // namespace
}  // namespace csinative::volumemanager
