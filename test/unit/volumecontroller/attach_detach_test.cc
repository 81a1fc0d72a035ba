// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "lib/csi/volume_names.h"
#include "test/unit/volumecontroller/world.h"

namespace csinative::volumecontroller {
namespace {

using csi::AttachmentName;

// Volumecontroller 6.1.
TEST(AttachmentNameTest, IsTheDigestOfItsParts) {
  EXPECT_EQ(AttachmentName("vol02", "driver02", "node02"),
            "csi-70fa8b122628ff5436f098759b79c93487b3894e2bff5637c618405a059b0b47");
  EXPECT_EQ(AttachmentName("testvol-01", "testdriver-01", "testnode-01"),
            "csi-4d8f42c5f953488d695504cfaf9658961d83f72b5ac9bba3e32c2ddb7708e84f");
}

class AttachDetachTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.AddNode("n1");
    world_.AddNode("n2");
    world_.AddBoundClaim("a");
  }
  static std::string Name(const std::string& node, const std::string& claim = "a") {
    return AttachmentName("h-" + claim, "d", node);
  }
  bool Exists(const std::string& node, const std::string& claim = "a") {
    return world_.Find<storage::VolumeAttachment>({"", Name(node, claim)}).has_value();
  }
  // What csi-attacher says.
  void MarkAttached(const std::string& node) {
    world_.Merge<storage::VolumeAttachment>({"", Name(node)}, R"({"status":{"attached":true}})",
                                            "status");
    world_.Settle();
  }
  void SetInUse(const std::string& node, bool in_use) {
    world_.Merge<core::Node>({"", node},
                             StrCat(R"({"status":{"volumesInUse":[)",
                                    in_use ? R"("kubernetes.io/csi/d^h-a")" : "", "]}}"),
                             "status");
    world_.Settle();
  }
  size_t Reported(const std::string& node) {
    return static_cast<size_t>(
        world_.Find<core::Node>({"", node})->status().volumesattached_size());
  }
  World world_;
};

TEST_F(AttachDetachTest, VolumeOfAPodIsAttachedAndReported) {
  world_.AddPod("p", "a", "n1");
  world_.Settle();
  const auto attachment = world_.Find<storage::VolumeAttachment>({"", Name("n1")});
  ASSERT_TRUE(attachment.has_value());
  EXPECT_EQ(attachment->spec().attacher(), "d");
  EXPECT_EQ(attachment->spec().source().persistentvolumename(), "pv-a");
  EXPECT_EQ(Reported("n1"), 0u);
  MarkAttached("n1");
  EXPECT_EQ(Reported("n1"), 1u);
}

TEST_F(AttachDetachTest, VolumeInUseStaysAttached) {
  world_.AddPod("p", "a", "n1");
  world_.Settle();
  MarkAttached("n1");
  SetInUse("n1", true);
  world_.Remove<core::Pod>({"ns", "p"}, 0);
  world_.Settle();
  EXPECT_TRUE(Exists("n1"));
  EXPECT_EQ(Reported("n1"), 1u);
  SetInUse("n1", false);
  EXPECT_FALSE(Exists("n1"));
  EXPECT_EQ(Reported("n1"), 0u);
}

TEST_F(AttachDetachTest, VolumeInUseOnALostNodeIsDetachedAfterSixMinutes) {
  world_.AddNode("lost", false);
  world_.AddPod("p", "a", "lost");
  world_.Settle();
  MarkAttached("lost");
  SetInUse("lost", true);
  world_.Remove<core::Pod>({"ns", "p"}, 0);
  world_.Advance(std::chrono::minutes(5));
  EXPECT_TRUE(Exists("lost"));
  world_.Advance(std::chrono::minutes(2));
  EXPECT_FALSE(Exists("lost"));
}

TEST_F(AttachDetachTest, VolumeOfOneNodeWaitsUntilItHasLeftTheOther) {
  world_.AddPod("p", "a", "n1");
  world_.Settle();
  MarkAttached("n1");
  SetInUse("n1", true);
  world_.Remove<core::Pod>({"ns", "p"}, 0);
  world_.AddPod("q", "a", "n2");
  world_.Settle();
  EXPECT_FALSE(Exists("n2"));
  SetInUse("n1", false);
  EXPECT_TRUE(Exists("n2"));
}

TEST_F(AttachDetachTest, SharedVolumeIsAttachedToSeveralNodes) {
  world_.AddBoundClaim("shared", "ReadWriteMany");
  world_.AddPod("p", "shared", "n1");
  world_.AddPod("q", "shared", "n2");
  world_.Settle();
  EXPECT_TRUE(Exists("n1", "shared"));
  EXPECT_TRUE(Exists("n2", "shared"));
}

TEST_F(AttachDetachTest, DriverThatNeedsNoAttachingGetsNone) {
  world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d"},)"
             R"("spec":{"attachRequired":false}})");
  world_.Settle();
  world_.AddPod("p", "a", "n1");
  world_.Settle();
  EXPECT_EQ(world_.CountAttachments(), 0u);
}

TEST_F(AttachDetachTest, EndedPodNeedsNoVolume) {
  world_.AddPod("p", "a", "n1");
  world_.Settle();
  ASSERT_TRUE(Exists("n1"));
  world_.Merge<core::Pod>({"ns", "p"}, R"({"status":{"phase":"Succeeded"}})", "status");
  world_.Settle();
  EXPECT_FALSE(Exists("n1"));
}

}  // namespace
}  // namespace csinative::volumecontroller
