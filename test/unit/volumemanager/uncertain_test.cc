// SPDX-License-Identifier: Apache-2.0
//
// What a pod that is deleted is owed after the driver failed (volumemanager 21.5, U1 to U10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "lib/async/sleep.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;

enum class Answer { kOk, kUncertain, kFinal };

struct UncertainRow {
  const char* name;
  const char* method;           // kStage or kPublish
  std::vector<Answer> answers;  // one a try; the last one stays
  int unpublish;
  int unstage;
};

class Uncertain : public ::testing::TestWithParam<std::tuple<UncertainRow, bool>> {
 protected:
  static int Count(const World& world, const std::string& prefix) {
    const std::vector<std::string> trace = world.Trace();
    return static_cast<int>(std::count_if(trace.begin(), trace.end(), [&](const std::string& line) {
      return line.starts_with(prefix);
    }));
  }
  static Status FailureOf(Answer answer) {
    return answer == Answer::kUncertain ? RpcStatus(4, "timed out") : RpcStatus(13, "internal");
  }
};

TEST_P(Uncertain, DecidesOnWhatIsUndone) {
  const auto& [row, block] = GetParam();
  World world;
  world.Start();
  world.AddVolume("pv1", {.mode = block ? "Block" : "Filesystem"});
  for (size_t i = 0; i + 1 < row.answers.size(); ++i) {
    if (row.answers[i] != Answer::kOk) {
      world.driver().FailOnce(row.method, FailureOf(row.answers[i]));
    }
  }
  if (row.answers.back() != Answer::kOk) {
    world.driver().Fail(row.method, FailureOf(row.answers.back()));
  }
  world.AddPod("p1", {.block = block});
  world.Attach("pv1");
  world.Advance(seconds(5));
  world.ClearTrace();
  world.EndPod("p1");
  world.Advance(seconds(20));
  EXPECT_EQ(Count(world, "UNPUBLISH"), row.unpublish);
  EXPECT_EQ(Count(world, "UNSTAGE"), row.unstage);
  EXPECT_TRUE(world.fs().Mounts().empty());
  EXPECT_TRUE(world.InUse().empty());
}

using enum Answer;
INSTANTIATE_TEST_SUITE_P(
    UncertainTest, Uncertain,
    ::testing::Combine(
        ::testing::Values(
            UncertainRow{"U1_StageUncertain", kStage, {kUncertain}, 0, 1},
            UncertainRow{"U2_StageFinal", kStage, {kFinal}, 0, 0},
            UncertainRow{"U3_StageUncertainThenFinal", kStage, {kUncertain, kFinal}, 0, 0},
            UncertainRow{"StageUncertainThenOk", kStage, {kUncertain, kOk}, 1, 1},
            UncertainRow{"U6_PublishUncertain", kPublish, {kUncertain}, 1, 1},
            UncertainRow{"U7_PublishFinal", kPublish, {kFinal}, 0, 1},
            UncertainRow{"U8_PublishUncertainThenFinal", kPublish, {kUncertain, kFinal}, 0, 1},
            UncertainRow{"PublishFinalThenOk", kPublish, {kFinal, kOk}, 1, 1}),
        ::testing::Bool()),
    [](const auto& row) {
      return std::string(std::get<0>(row.param).name) +
             (std::get<1>(row.param) ? "_Block" : "_Filesystem");
    });

TEST(UncertainTest, FinalFailureOfStagingRemovesItsDirectory) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.driver().Fail(kStage, RpcStatus(3, "bad"));
  world.AddPod("p1");
  world.Attach("pv1");
  world.Settle();
  EXPECT_THAT(world.Events(),
              ::testing::ElementsAre("FailedMount: MountVolume.MountDevice failed for volume "
                                     "\"pv1\" : rpc error: code = InvalidArgument desc = bad"));
  EXPECT_FALSE(world.fs().Stat(world.At(World::StagingPath())).ok());
}

// The driver mounts, and the answer is lost.
testing::FakeChannel::Handler MountsAndFails(World* world, std::string path) {
  return [world, path](const google::protobuf::Message*, google::protobuf::Message*) {
    EXPECT_TRUE(world->fs().MakeDirectories(path, 0750).ok());
    EXPECT_TRUE(world->fs().MountFilesystem("fs-h-pv1", path).ok());
    return [](Status status) -> async::Task<Status> { co_return status; }(RpcStatus(14, "lost"));
  };
}

TEST(UncertainTest, WhatALostAnswerHasStagedIsUndoneAfterAFinalFailure) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.driver().Once(kStage, MountsAndFails(&world, world.At(World::StagingPath())));
  world.driver().Fail(kStage, RpcStatus(13, "internal"));
  world.AddPod("p1");
  world.Attach("pv1");
  world.Advance(seconds(5));
  world.EndPod("p1");
  world.Advance(seconds(20));
  EXPECT_TRUE(world.fs().Mounts().empty());
  EXPECT_TRUE(world.InUse().empty());
}

TEST(UncertainTest, WhatALostAnswerHasPublishedIsUndoneAfterAFinalFailure) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.AddPod("p1");
  world.driver().Once(kPublish, MountsAndFails(&world, world.At(world.PublishPath("p1"))));
  world.driver().Fail(kPublish, RpcStatus(13, "internal"));
  world.Attach("pv1");
  world.Advance(seconds(5));
  world.EndPod("p1");
  world.Advance(seconds(20));
  EXPECT_TRUE(world.fs().Mounts().empty());
  EXPECT_TRUE(world.InUse().empty());
}

// Whatever fails before the call to the volume says nothing about an earlier one.
void ExpectUndoneAfter(const char* lost_method, const std::function<void(World*)>& fail) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.AddPod("p1");
  world.driver().Once(lost_method, MountsAndFails(&world, world.At(lost_method == kStage
                                                                       ? World::StagingPath()
                                                                       : world.PublishPath("p1"))));
  world.Attach("pv1");
  world.Settle();
  fail(&world);
  world.Advance(seconds(2));
  world.fs().set_hook(nullptr);
  world.EndPod("p1");
  world.Advance(seconds(30));
  EXPECT_TRUE(world.fs().Mounts().empty());
  EXPECT_TRUE(world.InUse().empty());
}

TEST(UncertainTest, FailedCapabilityQuestionDoesNotEndWhatALostAnswerHasBegun) {
  for (const char* method : {kStage, kPublish}) {
    ExpectUndoneAfter(method, [](World* world) {
      for (int i = 0; i < 2; ++i) {
        world->driver().FailOnce("/csi.v1.Node/NodeGetCapabilities", RpcStatus(13, "internal"));
      }
    });
  }
}

TEST(UncertainTest, FullDiskDoesNotEndWhatALostAnswerHasBegun) {
  for (const char* method : {kStage, kPublish}) {
    ExpectUndoneAfter(method, [](World* world) {
      world->fs().set_hook([](const std::string& operation, const std::string& path) {
        return operation == "MakeDirectories" ? OsStatus(ENOSPC, path) : Status();
      });
    });
  }
}

TEST(UncertainTest, VolumeThatIsMountedIsNotForgottenWhenTheDriverDoesNotKnowIt) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.AddPod("p1");
  world.Attach("pv1");
  world.Settle();
  world.driver().Fail(kUnpublish, RpcStatus(5, "no such volume"));
  world.EndPod("p1");
  world.Advance(seconds(20));
  EXPECT_THAT(world.fs().Mounts(),
              ::testing::UnorderedElementsAre(World::StagingPath(), world.PublishPath("p1")));
  EXPECT_THAT(world.InUse(), ::testing::ElementsAre(World::Unique()));
}

TEST(UncertainTest, RemovalOfTheStagingDirectoryIsRepeated) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.AddPod("p1");
  world.Attach("pv1");
  world.Settle();
  const std::string directory = mount::ParentOf(world.At(World::StagingPath()));
  int refusals = 1;
  world.fs().set_hook([&](const std::string& operation, const std::string& path) {
    const bool refused = operation == "Remove" && path == directory && refusals-- > 0;
    return refused ? OsStatus(EBUSY, path) : Status();
  });
  world.EndPod("p1");
  world.Advance(seconds(5));
  EXPECT_FALSE(world.fs().Stat(directory).ok());
  EXPECT_TRUE(world.InUse().empty());
}

TEST(UncertainTest, FailedUnpublishIsRepeated) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.AddPod("p1");
  world.Attach("pv1");
  world.Settle();
  world.ClearTrace();
  world.driver().FailOnce(kUnpublish, RpcStatus(13, "busy"));
  world.driver().FailOnce(kUnstage, RpcStatus(13, "busy"));
  world.EndPod("p1");
  world.Advance(seconds(5));
  EXPECT_THAT(world.Trace(), ::testing::ElementsAre("UNPUBLISH h-pv1 " + world.PublishPath("p1"),
                                                    "UNPUBLISH h-pv1 " + world.PublishPath("p1"),
                                                    "UNSTAGE h-pv1 " + World::StagingPath(),
                                                    "UNSTAGE h-pv1 " + World::StagingPath()));
  EXPECT_TRUE(world.fs().Mounts().empty());
  EXPECT_TRUE(world.InUse().empty());
}

TEST(UncertainTest, PodDeletedDuringStagingIsUndoneAfterwards) {
  World world;
  world.Start();
  world.AddVolume("pv1");
  world.AddPod("p1", {.running = false});
  world.driver().Once(
      kPublish,
      [](const google::protobuf::Message*, google::protobuf::Message*) -> async::Task<Status> {
        (void)co_await async::Sleep(seconds(5));
        co_return Status();
      });
  world.Attach("pv1");
  world.Settle();
  world.RemovePod("p1");
  world.Advance(seconds(2));
  EXPECT_EQ(world.Trace().size(), 2u);
  world.Advance(seconds(5));
  EXPECT_THAT(world.Trace(), ::testing::ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                                    "PUBLISH h-pv1 " + world.PublishPath("p1"),
                                                    "UNPUBLISH h-pv1 " + world.PublishPath("p1"),
                                                    "UNSTAGE h-pv1 " + World::StagingPath()));
}

}  // namespace
}  // namespace csinative::volumemanager
