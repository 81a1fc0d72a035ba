// SPDX-License-Identifier: Apache-2.0
//
// The life of filesystem volumes on a node: order of writes and calls, paths, what is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class MountTest : public ::testing::Test {
 protected:
  void StartAttached() {
    world_.Start();
    world_.AddVolume("pv1");
    world_.AddPod("p1");
    world_.Settle();
    world_.Attach("pv1");
    world_.Settle();
  }
  World world_;
};

TEST_F(MountTest, VolumeIsStagedAndPublishedOnceItIsAttachedAndReported) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), IsEmpty()) << "not attached yet";
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique()));
  world_.Attach("pv1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1")));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
}

TEST_F(MountTest, DataFilesSayWhatIsMounted) {
  StartAttached();
  EXPECT_EQ(*world_.fs().ReadFile(world_.At(world_.DataFile("p1"))),
            StrCat(R"({"attachmentID":")", AttachmentName("h-pv1", kDriver, kNode),
                   R"(","driverName":"test.csi.example","nodeName":"node1","specVolID":"pv1",)",
                   R"("volumeHandle":"h-pv1","volumeLifecycleMode":"Persistent"})", "\n"));
  EXPECT_EQ(*world_.fs().ReadFile(world_.At(StrCat("plugins/kubernetes.io/csi/", kDriver, "/",
                                                   Sha256Hex("h-pv1"), "/vol_data.json"))),
            "{\"driverName\":\"test.csi.example\",\"volumeHandle\":\"h-pv1\"}\n");
}

TEST_F(MountTest, PodThatEndsTakesEverythingWithIt) {
  StartAttached();
  world_.ClearTrace();
  world_.DeletePod("p1");
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), IsEmpty()) << "its container still runs";
  world_.TerminateContainers("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  EXPECT_THAT(world_.InUse(), IsEmpty());
  world_.RemovePod("p1");
  world_.Settle();
  EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
  EXPECT_THAT(world_.Left(), ElementsAre("plugins/kubernetes.io/", "plugins/kubernetes.io/csi/",
                                         StrCat("plugins/kubernetes.io/csi/", kDriver, "/")));
  EXPECT_THAT(world_.state().actual.volumes(), IsEmpty());
  EXPECT_THAT(world_.state().desired.volumes(), IsEmpty());
}

TEST_F(MountTest, SecondPodOnlyPublishes) {
  StartAttached();
  world_.ClearTrace();
  world_.AddPod("p2");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("PUBLISH h-pv1 " + world_.PublishPath("p2")));
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1")));
  world_.ClearTrace();
  world_.EndPod("p2");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p2"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
}

TEST_F(MountTest, VolumeThatNeedsNoAttachmentIsMountedAtOnce) {
  world_.driver_spec = R"({"attachRequired":false,"volumeLifecycleModes":["Persistent"]})";
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1")));
  EXPECT_THAT(world_.InUse(), IsEmpty());
}

TEST_F(MountTest, DriverThatDoesNotStageOnlyPublishesAndLeavesNothing) {
  world_.capabilities = {};
  StartAttached();
  EXPECT_THAT(world_.Trace(), ElementsAre("PUBLISH h-pv1 " + world_.PublishPath("p1")));
  const auto requests = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].staging_target_path(), "");
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Left(), IsEmpty());
}

TEST_F(MountTest, PublishContextComesFromTheAttachment) {
  StartAttached();
  const auto stage = world_.Requests<::csi::v1::NodeStageVolumeRequest>(kStage);
  ASSERT_EQ(stage.size(), 1u);
  EXPECT_THAT(stage[0].publish_context(), UnorderedElementsAre(Pair("device", "/dev/x")));
  const auto publish = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish);
  ASSERT_EQ(publish.size(), 1u);
  EXPECT_THAT(publish[0].publish_context(), UnorderedElementsAre(Pair("device", "/dev/x")));
  EXPECT_EQ(publish[0].staging_target_path(), world_.At(World::StagingPath()));
}

TEST_F(MountTest, PodInfoGoesToTheDriverThatAsksForIt) {
  world_.driver_spec =
      R"({"attachRequired":false,"podInfoOnMount":true,"volumeLifecycleModes":["Persistent"]})";
  world_.Start();
  world_.AddVolume("pv1", {.csi = R"(,"volumeAttributes":{"foo":"bar"})"});
  world_.AddPod("p1");
  world_.Settle();
  const auto publish = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish);
  ASSERT_EQ(publish.size(), 1u);
  EXPECT_THAT(publish[0].volume_context(),
              UnorderedElementsAre(Pair("foo", "bar"), Pair("csi.storage.k8s.io/pod.name", "p1"),
                                   Pair("csi.storage.k8s.io/pod.namespace", "default"),
                                   Pair("csi.storage.k8s.io/pod.uid", world_.Uid("p1")),
                                   Pair("csi.storage.k8s.io/serviceAccount.name", "sa"),
                                   Pair("csi.storage.k8s.io/ephemeral", "false")));
  const auto stage = world_.Requests<::csi::v1::NodeStageVolumeRequest>(kStage);
  ASSERT_EQ(stage.size(), 1u);
  EXPECT_THAT(stage[0].volume_context(), UnorderedElementsAre(Pair("foo", "bar")));
}

TEST_F(MountTest, SecretsAreReadForEachStep) {
  world_.Start();
  world_.Add(R"({"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":"s"},)"
             R"("data":{"key":"dmFsdWU="}})");
  world_.AddVolume("pv1", {.csi = R"(,"nodeStageSecretRef":{"name":"s","namespace":"default"},)"
                                  R"("nodePublishSecretRef":{"name":"s","namespace":"default"})"});
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Settle();
  const auto stage = world_.Requests<::csi::v1::NodeStageVolumeRequest>(kStage);
  ASSERT_EQ(stage.size(), 1u);
  EXPECT_THAT(stage[0].secrets(), UnorderedElementsAre(Pair("key", "value")));
  const auto publish = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish);
  ASSERT_EQ(publish.size(), 1u);
  EXPECT_THAT(publish[0].secrets(), UnorderedElementsAre(Pair("key", "value")));
}

TEST_F(MountTest, MissingSecretIsToldToThePod) {
  world_.Start();
  world_.AddVolume("pv1", {.csi = R"(,"nodeStageSecretRef":{"name":"s","namespace":"default"})"});
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_THAT(world_.Events(),
              ElementsAre(HasSubstr("FailedMount: MountVolume.MountDevice failed for volume "
                                    "\"pv1\" : fetching NodeStageSecretRef default/s failed: ")));
  EXPECT_THAT(world_.Left(), IsEmpty());
}

TEST_F(MountTest, InlineVolumeIsPublishedOnly) {
  world_.Start();
  world_.AddPod("p1", {.claims = {},
                       .volumes = R"({"name":"in","csi":{"driver":"test.csi.example",)"
                                  R"("volumeAttributes":{"a":"b"}}},)",
                       .mounts = R"({"name":"in","mountPath":"/in"},)"});
  world_.Settle();
  const std::string handle = InlineHandle(world_.Uid("p1"), "in");
  EXPECT_THAT(world_.Trace(),
              ElementsAre(StrCat("PUBLISH ", handle, " ", world_.PublishPath("p1", "in"))));
  EXPECT_THAT(world_.InUse(), IsEmpty());
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(),
              ElementsAre(StrCat("UNPUBLISH ", handle, " ", world_.PublishPath("p1", "in"))));
  EXPECT_THAT(world_.Left(), IsEmpty());
}

TEST_F(MountTest, VolumesOfOtherKindsAreLeftToTheContainerAgent) {
  world_.Start();
  world_.AddPod("p1", {.claims = {},
                       .volumes = R"({"name":"cfg","configMap":{"name":"c"}},)",
                       .mounts = R"({"name":"cfg","mountPath":"/cfg"},)"});
  world_.Settle();
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_THAT(world_.Events(), IsEmpty());
  EXPECT_THAT(world_.Left(), IsEmpty());
}

TEST_F(MountTest, VolumeThatNoContainerUsesIsNotMounted) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1", {.claims = {},
                       .volumes = R"({"name":"v","persistentVolumeClaim":{"claimName":"pv1"}},)"});
  world_.Attach("pv1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), IsEmpty());
}

TEST_F(MountTest, ClaimThatIsNotThereYetIsMountedOnceItIs) {
  world_.Start();
  world_.AddPod("p1");
  world_.Advance(seconds(1));
  EXPECT_THAT(world_.Events(),
              ElementsAre(HasSubstr(
                  "FailedMount: Unable to attach or mount volumes: unmounted volumes=[v-pv1], "
                  "unattached volumes=[], failed to process volumes=[v-pv1]: error processing PVC "
                  "default/pv1: failed to fetch PVC from API server: ")));
  world_.AddVolume("pv1");
  world_.Attach("pv1");
  world_.Advance(seconds(3));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
}

TEST_F(MountTest, GroupOfThePodIsGivenToTheFiles) {
  world_.Start();
  world_.AddVolume("pv1", {.csi = R"(,"fsType":"ext4")"});
  world_.AddPod("p1", {.spec = R"(,"securityContext":{"fsGroup":3000})"});
  world_.Attach("pv1");
  world_.Settle();
  EXPECT_EQ(world_.fs().Stat(world_.At(world_.PublishPath("p1")))->gid, 3000u);
}

TEST_F(MountTest, GroupGoesToTheDriverThatCanApplyIt) {
  world_.capabilities = {"STAGE_UNSTAGE_VOLUME", "VOLUME_MOUNT_GROUP"};
  world_.Start();
  world_.AddVolume("pv1", {.csi = R"(,"fsType":"ext4")"});
  world_.AddPod("p1", {.spec = R"(,"securityContext":{"fsGroup":3000})"});
  world_.Attach("pv1");
  world_.Settle();
  const auto publish = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish);
  ASSERT_EQ(publish.size(), 1u);
  EXPECT_EQ(publish[0].volume_capability().mount().volume_mount_group(), "3000");
  EXPECT_EQ(world_.fs().Stat(world_.At(world_.PublishPath("p1")))->gid, 0u);
}

TEST_F(MountTest, VolumeIsPublishedAgainForTheDriverThatWantsIt) {
  world_.driver_spec =
      R"({"attachRequired":false,"requiresRepublish":true,"volumeLifecycleModes":["Persistent"]})";
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Settle();
  world_.ClearTrace();
  world_.Advance(seconds(91));
  EXPECT_THAT(world_.Trace(), ElementsAre("PUBLISH h-pv1 " + world_.PublishPath("p1")));
}

TEST_F(MountTest, FailedRepublishLeavesTheVolumeOfTheRunningPod) {
  world_.driver_spec =
      R"({"attachRequired":false,"requiresRepublish":true,"volumeLifecycleModes":["Persistent"]})";
  world_.Start();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Settle();
  world_.driver().Fail(kPublish, RpcStatus(3, "no"));
  world_.Advance(seconds(91));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
  EXPECT_TRUE(world_.fs().Stat(world_.At(world_.DataFile("p1"))).ok());
  EXPECT_EQ(world_.state().actual.Find(World::Unique(), world_.Uid("p1"))->state,
            PodMountState::kMounted);
}

TEST_F(MountTest, DriverThatIsNotRegisteredIsWaitedFor) {
  world_.Start();
  world_.RemoveSocket();
  world_.Settle();
  world_.AddVolume("pv1");
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Advance(seconds(20));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_THAT(world_.Events(),
              ::testing::Contains(HasSubstr(
                  "driver name test.csi.example not found in the list of registered CSI drivers")));
  world_.AddSocket();
  world_.Settle();
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1")));
}

TEST_F(MountTest, VolumeHeldByAForeignMountIsNotUnstaged) {
  StartAttached();
  ASSERT_TRUE(world_.fs().MakeDirectories(world_.At("elsewhere"), 0750).ok());
  ASSERT_TRUE(world_.fs().BindMount(world_.At(World::StagingPath()), world_.At("elsewhere")).ok());
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1")));
  EXPECT_THAT(world_.InUse(), ElementsAre(World::Unique())) << "must not be detached";
  ASSERT_TRUE(world_.fs().Unmount(world_.At("elsewhere")).ok());
  world_.Advance(seconds(20));
  EXPECT_THAT(world_.Trace(), ::testing::Contains("UNSTAGE h-pv1 " + World::StagingPath()));
  EXPECT_THAT(world_.InUse(), IsEmpty());
}

TEST_F(MountTest, PodsOnOtherNodesAreNotWatched) {
  world_.Start();
  world_.AddVolume("pv1");
  world_.Add(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"other","namespace":"default"},)"
             R"("spec":{"nodeName":"node2","containers":[{"name":"c","image":"i","volumeMounts":[)"
             R"({"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v",)"
             R"("persistentVolumeClaim":{"claimName":"pv1"}}]}})");
  world_.Settle();
  EXPECT_THAT(world_.InUse(), IsEmpty());
}

}  // namespace
}  // namespace csinative::volumemanager
