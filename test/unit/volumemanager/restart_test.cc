// SPDX-License-Identifier: Apache-2.0
//
// The process dies and another one takes over: what was mounted stays mounted while it is used, and
// is undone when it is not, whatever moment it died at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RestartTest : public ::testing::Test {
 protected:
  void StartMounted() {
    world_.StartMounted();
    ASSERT_THAT(world_.fs().Mounts(),
                UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
    world_.ClearTrace();
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
    EXPECT_THAT(world_.InUse(), IsEmpty());
    EXPECT_THAT(world_.Left(), ElementsAre("plugins/kubernetes.io/", "plugins/kubernetes.io/csi/",
                                           StrCat("plugins/kubernetes.io/csi/", kDriver, "/")));
  }
  World world_;
};

TEST_F(RestartTest, RunningPodKeepsItsVolumeAndItIsMountedAgain) {
  StartMounted();
  world_.Kill();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1")));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  ExpectNothingLeft();
}

TEST_F(RestartTest, PodThatVanishedMeanwhileIsUndoneAfterTheSafeDelay) {
  StartMounted();
  world_.Kill();
  world_.EndPod("p1");
  world_.Start();
  world_.Advance(seconds(58));
  EXPECT_THAT(world_.Trace(), IsEmpty()) << "nobody knows whether its containers are gone";
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
  world_.Advance(seconds(3));
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  ExpectNothingLeft();
}

TEST_F(RestartTest, WithoutDelayPodThatVanishedIsUndoneAtOnce) {
  world_.config.force_delay = seconds(0);
  StartMounted();
  world_.Kill();
  world_.EndPod("p1");
  world_.Start();
  ExpectNothingLeft();
}

TEST_F(RestartTest, PodThatEndedMeanwhileIsUndoneAtOnce) {
  StartMounted();
  world_.Kill();
  world_.DeletePod("p1");
  world_.TerminateContainers("p1");
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  world_.RemovePod("p1");
  world_.Settle();
  ExpectNothingLeft();
}

TEST_F(RestartTest, PodThatIsGoingAwayButRunsKeepsItsVolume) {
  StartMounted();
  world_.Kill();
  world_.DeletePod("p1");
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1")));
  world_.Advance(seconds(600));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
  world_.TerminateContainers("p1");
  world_.RemovePod("p1");
  world_.Settle();
  ExpectNothingLeft();
}

TEST_F(RestartTest, StagedVolumeWithoutPodDirectoryIsUnstaged) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.driver().Fail(kPublish, RpcStatus(14, "gone"));
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Settle();
  world_.Kill();
  // As if it had died before the pod's directory was made.
  const std::string directory =
      world_.At(StrCat("pods/", world_.Uid("p1"), "/volumes/kubernetes.io~csi/pv1"));
  ASSERT_TRUE(world_.fs().Remove(directory + "/vol_data.json").ok());
  ASSERT_TRUE(world_.fs().Remove(directory).ok());
  world_.EndPod("p1");
  world_.ClearTrace();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNSTAGE h-pv1 " + World::StagingPath()));
  world_.Advance(seconds(70));
  ExpectNothingLeft();
}

TEST_F(RestartTest, ListOfTheLastRunStaysUntilWhatIsMountedIsKnown) {
  StartMounted();
  world_.Kill();
  world_.api().set_fault_hook([](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.user == "manager" && request.resource == "nodes") fault.code = 503;
    return fault;
  });
  world_.Start();
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  world_.api().set_fault_hook(nullptr);
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1")));
}

TEST_F(RestartTest, EmptyDirectoriesThatCannotBeRemovedAtOnceAreTriedAgain) {
  world_.Start();
  world_.Kill();
  const std::string device = world_.At("plugins/kubernetes.io/csi/volumeDevices/pv2");
  const std::string staged = world_.At(StrCat("plugins/kubernetes.io/csi/", kDriver, "/0123"));
  ASSERT_TRUE(world_.fs().MakeDirectories(device + "/data", 0750).ok());
  ASSERT_TRUE(world_.fs().WriteFile(device + "/data/vol_data.json.tmp", "{", 0644).ok());
  ASSERT_TRUE(world_.fs().MakeDirectories(staged, 0750).ok());
  int refused = 0;
  world_.fs().set_hook([&](const std::string&, const std::string& path) {
    const bool busy = refused < 3 && (path == device || path == staged);
    refused += busy ? 1 : 0;
    return busy ? FailedPreconditionError("busy") : Status();
  });
  world_.Start();
  world_.Advance(seconds(2));
  world_.fs().set_hook(nullptr);
  EXPECT_EQ(refused, 3);
  EXPECT_THAT(world_.Left(), ElementsAre("plugins/kubernetes.io/", "plugins/kubernetes.io/csi/",
                                         StrCat("plugins/kubernetes.io/csi/", kDriver, "/"),
                                         "plugins/kubernetes.io/csi/volumeDevices/"));
}

TEST_F(RestartTest, FailedPublishAfterARestartKeepsWhatIsNeededToUndoIt) {
  StartMounted();
  world_.Kill();
  world_.driver().Fail(kPublish, RpcStatus(13, "no"));
  world_.Start();
  EXPECT_TRUE(world_.fs().Stat(world_.At(world_.DataFile("p1"))).ok());
  world_.EndPod("p1");
  world_.Advance(seconds(5));
  ExpectNothingLeft();
}

TEST_F(RestartTest, UnpublishIsRepeatedWhenItsEndWasNotSeen) {
  StartMounted();
  world_.EndPod("p1");
  // The driver has let go, the process dies before it cleans up.
  ASSERT_TRUE(world_.fs().Unmount(world_.At(world_.PublishPath("p1"))).ok());
  world_.Kill();
  world_.config.force_delay = seconds(0);
  world_.ClearTrace();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  ExpectNothingLeft();
}

TEST_F(RestartTest, AfterARebootRunningPodsAreMountedAgain) {
  StartMounted();
  world_.Kill();
  world_.fs().ForgetMounts();
  world_.Start();
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
}

TEST_F(RestartTest, VolumeThatWasDeletedWhileTheNodeWasDownIsForgotten) {
  StartMounted();
  world_.Kill();
  world_.fs().ForgetMounts();
  world_.EndPod("p1");
  world_.config.force_delay = seconds(0);
  world_.driver().Fail(kUnpublish, RpcStatus(5, "no such volume"));
  world_.driver().Fail(kUnstage, RpcStatus(5, "no such volume"));
  world_.Start();
  ExpectNothingLeft();
}

TEST_F(RestartTest, BlockVolumeThatWasDeletedWhileTheNodeWasDownIsForgotten) {
  world_.Start();
  world_.AddVolume("pv1", {.mode = "Block"});
  world_.AddPod("p1", {.block = true});
  world_.Attach("pv1");
  world_.Settle();
  world_.Kill();
  world_.fs().ForgetMounts();
  world_.EndPod("p1");
  world_.config.force_delay = seconds(0);
  world_.driver().Fail(kUnpublish, RpcStatus(5, "no such volume"));
  world_.driver().Fail(kUnstage, RpcStatus(5, "no such volume"));
  world_.Start();
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.InUse(), IsEmpty());
  for (const std::string& entry : world_.Left()) {
    EXPECT_EQ(entry.find("pv1"), std::string::npos) << entry;
  }
}

TEST_F(RestartTest, BlockDirectoryWithoutDataFileIsRemoved) {
  world_.Start();
  world_.Kill();
  const std::string directory = world_.At("plugins/kubernetes.io/csi/volumeDevices/pv1");
  ASSERT_TRUE(world_.fs().MakeDirectories(directory + "/data", 0750).ok());
  world_.Start();
  EXPECT_FALSE(world_.fs().Stat(directory).ok());
}

TEST_F(RestartTest, StagingDirectoryWithoutDataFileIsRemoved) {
  world_.Start();
  world_.Kill();
  ASSERT_TRUE(world_.fs().MakeDirectories(world_.At(World::StagingPath()), 0750).ok());
  world_.Start();
  ExpectNothingLeft();
}

TEST_F(RestartTest, Z11_RunningPodWhoseClaimCannotBeReadKeepsItsVolume) {
  StartMounted();
  world_.Kill();
  world_.api().set_fault_hook([](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.user == "manager" && request.resource == "persistentvolumeclaims") fault.code = 403;
    return fault;
  });
  world_.Start();
  world_.Advance(seconds(120));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
  EXPECT_THAT(world_.Events(), ::testing::Contains(::testing::HasSubstr(
                                   "FailedMount: Unable to attach or mount volumes: ")));
  world_.api().set_fault_hook(nullptr);
  world_.EndPod("p1");
  world_.Settle();
  ExpectNothingLeft();
}

TEST_F(RestartTest, CallInProgressMayFinishWhenTheProcessIsToldToEnd) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  bool finished = false;
  world_.driver().Once(kStage,
                       [&finished](const google::protobuf::Message*, google::protobuf::Message*) {
                         return [](bool* done) -> async::Task<Status> {
                           Status slept = co_await async::Sleep(seconds(5));
                           *done = slept.ok();
                           co_return slept;
                         }(&finished);
                       });
  world_.Attach("pv1");
  world_.Settle();
  world_.Stop();
  EXPECT_TRUE(finished);
}

TEST_F(RestartTest, UnreadableDataFileIsLeftAlone) {
  StartMounted();
  world_.Kill();
  world_.EndPod("p1");
  ASSERT_TRUE(world_.fs().WriteFile(world_.At(world_.DataFile("p1")), "{", 0644).ok());
  world_.config.force_delay = seconds(0);
  world_.Start();
  world_.Advance(seconds(20));
  EXPECT_TRUE(world_.fs().Stat(world_.At(world_.DataFile("p1"))).ok());
  EXPECT_THAT(world_.Trace(), IsEmpty()) << "the pod's mount keeps the stage";
}

// Dies after the n-th change on disk or call, wherever that is, and is started again; in the end
// nothing may be left.
class KilledAnywhere : public ::testing::TestWithParam<int> {};

TEST_P(KilledAnywhere, NothingIsLeft) {
  World world;
  world.config.force_delay = seconds(0);
  world.Start();
  world.AddVolume("pv1");
  world.AddVolume("pv2");
  int countdown = GetParam();
  bool armed = true, die = false;
  world.fs().set_hook([&](const std::string& operation, const std::string&) {
    const bool change = operation != "Stat" && operation != "List" && operation != "ReadFile" &&
                        operation != "IsMountPoint" && operation != "ReadMountTable";
    if (armed && change && --countdown == 0) die = true;
    return die ? CancelledError() : Status();
  });
  auto settle = [&] {
    for (int i = 0; i < 40; ++i) {
      world.Advance(std::chrono::milliseconds(50));
      if (!die) continue;
      armed = die = false;
      world.Kill();
      world.Start();
    }
  };
  world.AddPod("p1", {.claims = {"pv1", "pv2"}});
  world.Attach("pv1");
  world.Attach("pv2");
  settle();
  world.AddPod("p2", {.claims = {"pv1"}});
  settle();
  world.EndPod("p1");
  settle();
  world.EndPod("p2");
  settle();
  world.Advance(seconds(30));
  EXPECT_FALSE(armed) << "there were fewer changes than " << GetParam();
  EXPECT_THAT(world.fs().Mounts(), IsEmpty());
  EXPECT_THAT(world.InUse(), IsEmpty());
  EXPECT_THAT(world.Left(), ElementsAre("plugins/kubernetes.io/", "plugins/kubernetes.io/csi/",
                                        StrCat("plugins/kubernetes.io/csi/", kDriver, "/")));
}

INSTANTIATE_TEST_SUITE_P(RestartTest, KilledAnywhere, ::testing::Range(1, 26));

}  // namespace
}  // namespace csinative::volumemanager
