// SPDX-License-Identifier: Apache-2.0
//
// Disks and drivers that are slow, refuse, or say what is not so: what an operation may give up,
// and what it must not forget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kDevices[] = "plugins/kubernetes.io/csi/volumeDevices";
constexpr char kGroup[] = R"(,"securityContext":{"fsGroup":3000})";

class BackendTest : public ::testing::Test {
 protected:
  void StartMounted(const VolumeOptions& volume = {}, const PodOptions& pod = {}) {
    world_.Start();
    world_.AddVolume("pv1", volume);
    world_.AddPod("p1", pod);
    world_.Attach("pv1");
    world_.Settle();
  }
  void StartMapped() { StartMounted({.mode = "Block"}, {.block = true}); }
  std::string Subpath(const std::string& rest) const {
    return world_.At(StrCat("pods/", world_.Uid("p1"), "/volume-subpaths/pv1/", rest));
  }
  int Count(const std::string& line) const {
    const std::vector<std::string> trace = world_.Trace();
    return static_cast<int>(std::count(trace.begin(), trace.end(), line));
  }
  void ExpectUndone() {
    EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
    EXPECT_THAT(world_.InUse(), IsEmpty());
    EXPECT_THAT(world_.Left(), Not(Contains(HasSubstr("vol_data.json"))));
  }
  static async::Task<Status> Answer(Status status) { co_return status; }

  World world_;
};

// --- subpaths ------------------------------------------------------------------------------------

TEST_F(BackendTest, SubpathsGoWithTheVolume) {
  StartMounted();
  for (const char* index : {"c/0", "c/1", "d/0"}) {
    ASSERT_TRUE(world_.fs().MakeDirectories(Subpath(index), 0750).ok());
  }
  ASSERT_TRUE(world_.fs().BindMount(world_.At(World::StagingPath()), Subpath("c/0")).ok());
  world_.EndPod("p1");
  world_.Settle();
  ExpectUndone();
  EXPECT_FALSE(world_.fs().Stat(world_.At("pods/" + world_.Uid("p1"))).ok());
}

TEST_F(BackendTest, ContentAtTheMountPointOfASubpathIsNotDeleted) {
  StartMounted();
  ASSERT_TRUE(world_.fs().MakeDirectories(Subpath("c/0"), 0750).ok());
  ASSERT_TRUE(world_.fs().WriteFile(Subpath("c/0/user"), "data", 0640).ok());
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_EQ(*world_.fs().ReadFile(Subpath("c/0/user")), "data");
  // Somebody has looked after it.
  ASSERT_TRUE(world_.fs().Remove(Subpath("c/0/user")).ok());
  world_.Advance(seconds(20));
  ExpectUndone();
}

// --- groups --------------------------------------------------------------------------------------

TEST_F(BackendTest, VolumeThatRefusesTheGroupIsMountedAllTheSame) {
  world_.fs().set_hook([](const std::string& operation, const std::string& path) {
    return operation == "SetGroup" ? OsStatus(EROFS, path) : Status();
  });
  StartMounted({.csi = R"(,"fsType":"ext4")"}, {.spec = kGroup});
  EXPECT_THAT(world_.Events(), IsEmpty());
  const MountedPod* pod = world_.state().actual.Find(World::Unique(), world_.Uid("p1"));
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->state, PodMountState::kMounted);
}

TEST_F(BackendTest, GroupOfAHugeVolumeMayTakeItsTimeAndIsGivenOnce) {
  world_.Start();
  world_.AddVolume("pv1", {.csi = R"(,"fsType":"ext4")"});
  world_.AddVolume("pv2");
  world_.AddPod("p1", {.spec = kGroup});
  const std::string target = world_.At(world_.PublishPath("p1"));
  int walks = 0;
  world_.fs().set_hook([&](const std::string& operation, const std::string& path) {
    if (path == target && operation == "BindMount") world_.DelayNextDiskWork(minutes(10));
    if (path == target && operation == "SetGroup") ++walks;
    return Status();
  });
  world_.Attach("pv1");
  world_.Advance(minutes(5));
  EXPECT_EQ(walks, 0);
  world_.AddPod("p2", {.claims = {"pv2"}});
  world_.Attach("pv2");
  world_.Settle();
  EXPECT_THAT(world_.fs().Mounts(), Contains(world_.PublishPath("p2", "pv2")));
  world_.Advance(minutes(10));
  EXPECT_EQ(walks, 1);
  EXPECT_EQ(Count("PUBLISH h-pv1 " + world_.PublishPath("p1")), 1);
  EXPECT_EQ(world_.fs().Stat(target)->gid, 3000u);
}

TEST_F(BackendTest, CallsOfAnOperationHaveTwoMinutes) {
  world_.Start();
  world_.driver().Once(
      kStage,
      [](const google::protobuf::Message*, google::protobuf::Message*) -> async::Task<Status> {
        co_return co_await async::Sleep(minutes(30));
      });
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Advance(seconds(119));
  EXPECT_THAT(world_.Events(), IsEmpty());
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Events(), Contains(HasSubstr("context deadline exceeded")));
  EXPECT_THAT(world_.fs().Mounts(), Contains(world_.PublishPath("p1")));
}

// --- unstage -------------------------------------------------------------------------------------

TEST_F(BackendTest, DeviceThatHasLostItsStagingDirectoryIsUnstaged) {
  StartMapped();
  ASSERT_TRUE(world_.fs().Remove(world_.At(StrCat(kDevices, "/staging/pv1"))).ok());
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_EQ(Count(StrCat("UNSTAGE h-pv1 ", kDevices, "/staging/pv1")), 1);
  ExpectUndone();
}

TEST_F(BackendTest, DeviceThatHasLostItsStagingDirectoryIsUnstagedAfterARestart) {
  StartMapped();
  world_.Kill();
  ASSERT_TRUE(world_.fs().Remove(world_.At(StrCat(kDevices, "/staging/pv1"))).ok());
  world_.EndPod("p1");
  world_.config.force_delay = seconds(0);
  world_.Start();
  EXPECT_EQ(Count(StrCat("UNSTAGE h-pv1 ", kDevices, "/staging/pv1")), 1);
  ExpectUndone();
}

TEST_F(BackendTest, DeviceThatWasNeverStagedIsNotUnstaged) {
  StartMounted(
      {.mode = "Block", .csi = R"(,"nodeStageSecretRef":{"name":"none","namespace":"default"})"},
      {.block = true});
  EXPECT_TRUE(world_.fs().Stat(world_.At(StrCat(kDevices, "/pv1/data/vol_data.json"))).ok());
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), IsEmpty());
  ExpectUndone();
}

// A stage is not always a mount: a login, for example.
class StageWithoutMount : public BackendTest, public ::testing::WithParamInterface<bool> {};

TEST_P(StageWithoutMount, IsUndoneWhenStagingAgainFailsAfterARestart) {
  const bool block = GetParam();
  const std::string staging = block ? StrCat(kDevices, "/staging/pv1") : World::StagingPath();
  world_.driver().Answer(kStage, ::csi::v1::NodeStageVolumeResponse());
  world_.driver().Fail(kPublish, RpcStatus(13, "no"));
  StartMounted({.mode = block ? "Block" : "Filesystem"}, {.block = block});
  world_.Kill();
  world_.driver().Fail(kStage, RpcStatus(13, "no"));
  world_.Start();
  world_.Advance(seconds(5));
  EXPECT_GT(Count(StrCat("STAGE h-pv1 ", staging)), 1);
  EXPECT_EQ(Count(StrCat("UNSTAGE h-pv1 ", staging)), 0);
  world_.EndPod("p1");
  world_.Advance(seconds(30));
  EXPECT_EQ(Count(StrCat("UNSTAGE h-pv1 ", staging)), 1);
  ExpectUndone();
}

INSTANTIATE_TEST_SUITE_P(BackendTest, StageWithoutMount, ::testing::Bool(), [](const auto& row) {
  return std::string(row.param ? "Block" : "Filesystem");
});

// --- unpublish -----------------------------------------------------------------------------------

TEST_F(BackendTest, MountsOnOneAnotherAreTakenOffOneByOne) {
  StartMounted();
  const std::string target = world_.At(world_.PublishPath("p1"));
  ASSERT_TRUE(world_.fs().BindMount(world_.At(World::StagingPath()), target).ok());
  world_.driver().Once(kUnpublish,
                       [&](const google::protobuf::Message*, google::protobuf::Message*) {
                         return Answer(world_.fs().Unmount(target));
                       });
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  ExpectUndone();
}

}  // namespace
}  // namespace csinative::volumemanager
