// SPDX-License-Identifier: Apache-2.0
//
// A pod's volume whose vol_data.json was lost or destroyed before a restart: which volume is
// mounted there is asked of the API, and it is neither unstaged nor detached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class UnreadableDataTest : public ::testing::Test {
 protected:
  void StartMounted() {
    world_.StartMounted();
    ASSERT_THAT(world_.fs().Mounts(), Contains(world_.PublishPath("p1")));
    world_.ClearTrace();
    world_.config.force_delay = seconds(0);
  }
  void Destroy() {
    ASSERT_TRUE(world_.fs().WriteFile(world_.At(world_.DataFile("p1")), "{", 0644).ok());
  }
  // As drivers do that mount a share for each pod.
  void MountAnotherFilesystem() {
    const std::string target = world_.At(world_.PublishPath("p1"));
    ASSERT_TRUE(world_.fs().Unmount(target).ok());
    ASSERT_TRUE(world_.fs().MountFilesystem("other", target).ok());
  }
  World world_;
};

TEST_F(UnreadableDataTest, VolumeOfADriverWithoutStagingStaysInUse) {
  world_.capabilities = {};
  StartMounted();
  world_.Kill();
  Destroy();
  world_.EndPod("p1");
  world_.Start();
  world_.Advance(seconds(120));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique())) << "must not be detached";
  EXPECT_THAT(world_.fs().Mounts(), ElementsAre(world_.PublishPath("p1")));
}

TEST_F(UnreadableDataTest, VolumeIsNotUnstagedUnderAMountThatDoesNotShowIt) {
  StartMounted();
  MountAnotherFilesystem();
  world_.Kill();
  ASSERT_TRUE(world_.fs().Remove(world_.At(world_.DataFile("p1"))).ok());
  world_.EndPod("p1");
  world_.Start();
  world_.Advance(seconds(120));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
}

TEST_F(UnreadableDataTest, ApiThatFailsForAWhileIsAskedAgain) {
  StartMounted();
  MountAnotherFilesystem();
  world_.Kill();
  Destroy();
  world_.EndPod("p1");
  world_.api().set_fault_hook([](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.user == "manager" && request.resource == "persistentvolumes") fault.code = 500;
    return fault;
  });
  world_.Start();
  world_.Advance(seconds(20));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique())) << "the list of the last run stays";
  world_.api().set_fault_hook(nullptr);
  world_.Advance(seconds(120));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
}

TEST_F(UnreadableDataTest, PodThatIsStillThereMountsItAgainAndEndsAsAlways) {
  StartMounted();
  world_.Kill();
  Destroy();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1")));
  world_.EndPod("p1");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
  EXPECT_THAT(world_.InUse(), IsEmpty());
  EXPECT_THAT(world_.Left(), Not(Contains(StartsWith("pods/"))));
}

TEST_F(UnreadableDataTest, VolumeThatTheApiDoesNotKnowDoesNotStopTheOthers) {
  StartMounted();
  world_.Kill();
  Destroy();
  const std::string strange =
      StrCat("pods/", world_.Uid("p1"), "/volumes/kubernetes.io~csi/pv9/mount");
  ASSERT_TRUE(world_.fs().MakeDirectories(world_.At(strange), 0750).ok());
  ASSERT_TRUE(world_.fs().MountFilesystem("strange", world_.At(strange)).ok());
  world_.EndPod("p1");
  world_.Start();
  world_.AddVolume("pv2");
  world_.AddPod("p2", {.claims = {"pv2"}});
  world_.Attach("pv2");
  world_.Settle();
  EXPECT_THAT(world_.fs().Mounts(), Contains(world_.PublishPath("p2", "pv2")));
  EXPECT_THAT(world_.fs().Mounts(), Contains(strange));
}

}  // namespace
}  // namespace csinative::volumemanager
