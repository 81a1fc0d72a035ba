// SPDX-License-Identifier: Apache-2.0
//
// The life of block volumes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kDevices[] = "plugins/kubernetes.io/csi/volumeDevices";

class BlockTest : public ::testing::Test {
 protected:
  void StartMapped() {
    world_.Start();
    world_.AddVolume("pv1", {.mode = "Block"});
    world_.AddPod("p1", {.block = true});
    world_.Attach("pv1");
    world_.Settle();
  }
  std::string Publish(const std::string& pod) const {
    return StrCat(kDevices, "/publish/pv1/", world_.Uid(pod));
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
    EXPECT_THAT(world_.InUse(), IsEmpty());
    EXPECT_THAT(world_.Left(), ElementsAre("plugins/kubernetes.io/", "plugins/kubernetes.io/csi/",
                                           StrCat(kDevices, "/"), StrCat(kDevices, "/publish/"),
                                           StrCat(kDevices, "/staging/")));
  }
  World world_;
};

TEST_F(BlockTest, DeviceIsStagedPublishedAndMapped) {
  StartMapped();
  EXPECT_THAT(world_.Trace(), ElementsAre(StrCat("STAGE h-pv1 ", kDevices, "/staging/pv1"),
                                          StrCat("PUBLISH h-pv1 ", Publish("p1"))));
  EXPECT_THAT(world_.fs().Mounts(), ElementsAre(StrCat(kDevices, "/pv1/dev/", world_.Uid("p1"))));
  EXPECT_EQ(*world_.fs().Resolve(world_.At(
                StrCat("pods/", world_.Uid("p1"), "/volumeDevices/kubernetes.io~csi/pv1"))),
            world_.At(Publish("p1")));
  EXPECT_EQ(*world_.fs().ReadFile(world_.At(StrCat(kDevices, "/pv1/data/vol_data.json"))),
            StrCat(R"({"attachmentID":")", AttachmentName("h-pv1", kDriver, kNode),
                   R"(","driverName":"test.csi.example","nodeName":"node1","specVolID":"pv1",)",
                   R"("volumeHandle":"h-pv1"})", "\n"));
  const auto requests = world_.Requests<::csi::v1::NodePublishVolumeRequest>(kPublish);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].volume_capability().has_block());
  EXPECT_EQ(requests[0].staging_target_path(), world_.At(StrCat(kDevices, "/staging/pv1")));
}

TEST_F(BlockTest, PodThatEndsTakesEverythingWithIt) {
  StartMapped();
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre(StrCat("UNPUBLISH h-pv1 ", Publish("p1")),
                                          StrCat("UNSTAGE h-pv1 ", kDevices, "/staging/pv1")));
  ExpectNothingLeft();
}

TEST_F(BlockTest, SecondPodKeepsTheDevice) {
  StartMapped();
  world_.AddPod("p2", {.block = true});
  world_.Settle();
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre(StrCat("UNPUBLISH h-pv1 ", Publish("p1"))));
  world_.EndPod("p2");
  world_.Settle();
  ExpectNothingLeft();
}

TEST_F(BlockTest, VolumeOfAKilledProcessIsUndone) {
  StartMapped();
  world_.Kill();
  world_.EndPod("p1");
  world_.config.force_delay = seconds(0);
  world_.ClearTrace();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(StrCat("UNPUBLISH h-pv1 ", Publish("p1")),
                                          StrCat("UNSTAGE h-pv1 ", kDevices, "/staging/pv1")));
  ExpectNothingLeft();
}

TEST_F(BlockTest, PublishedDeviceWithoutThePodsLinkIsUndoneAfterAKill) {
  StartMapped();
  world_.Kill();
  ASSERT_TRUE(world_.fs()
                  .Remove(world_.At(
                      StrCat("pods/", world_.Uid("p1"), "/volumeDevices/kubernetes.io~csi/pv1")))
                  .ok());
  world_.EndPod("p1");
  world_.config.force_delay = seconds(0);
  world_.Start();
  ExpectNothingLeft();
}

TEST_F(BlockTest, ModeMustFitItsUse) {
  world_.Start();
  world_.AddVolume("pv1", {.mode = "Block"});
  world_.AddPod("p1");
  world_.Settle();
  EXPECT_THAT(world_.Events(),
              ElementsAre(::testing::HasSubstr(
                  "volume v-pv1 has volumeMode Block, but is specified in volumeMounts")));
}

TEST_F(BlockTest, MappedDeviceIsToldToThePod) {
  StartMapped();
  world_.Settle();
  EXPECT_THAT(
      world_.Events(),
      ElementsAre(StrCat("SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for "
                         "volume \"pv1\" globalMapPath \"",
                         kRoot, "/", kDevices, "/pv1/dev\""),
                  StrCat("SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for "
                         "volume \"pv1\" volumeMapPath \"",
                         kRoot, "/pods/", world_.Uid("p1"), "/volumeDevices/kubernetes.io~csi\"")));
}

}  // namespace
}  // namespace csinative::volumemanager
