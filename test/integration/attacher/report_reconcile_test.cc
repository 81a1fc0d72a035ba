// SPDX-License-Identifier: Apache-2.0
//
// Reports about the comparison with the driver's list (docs/compatibility.md):
// external-attacher#697, external-attacher#215.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::csi::v1::ControllerUnpublishVolumeRequest;
using ::csi::v1::ListVolumesResponse;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// --- external-attacher#697: a list that is wrong

// Four volumes, each attached to node1; the driver's list has them on two pages.
class WrongListTest : public ::testing::Test {
 protected:
  WrongListTest() {
    world_.features.lists_published_nodes = true;
    world_.config.call_timeout = seconds(15);
    world_.AddNode();
    for (int i = 0; i < 4; ++i) AddAttached(i);
  }
  void AddAttached(int i) {
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v)", i,
                      R"(","finalizers":["external-attacher/test-csi-example"]},"spec":{)",
                      R"("capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{)",
                      R"("driver":"test.csi.example","volumeHandle":"h)", i, R"("}}})"));
    world_.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{)",
                      R"("name":"a)", i,
                      R"(","finalizers":["external-attacher/test-csi-example"],)",
                      R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"}},"spec":{)",
                      R"("attacher":"test.csi.example","nodeName":"node1","source":{)",
                      R"("persistentVolumeName":"v)", i, R"("}}})"));
    world_.Merge<storage::VolumeAttachment>(StrCat("a", i), R"({"status":{"attached":true}})",
                                            "status");
  }
  static void Add(ListVolumesResponse* page, const std::string& handle, const std::string& node) {
    auto* entry = page->add_entries();
    entry->mutable_volume()->set_volume_id(handle);
    entry->mutable_status();
    if (!node.empty()) entry->mutable_status()->add_published_node_ids(node);
  }
  // The first page has h0 and h1.
  void AnswerFirstPage(const std::string& node_of_h0) {
    ListVolumesResponse page;
    Add(&page, "h0", node_of_h0);
    Add(&page, "h1", "nodeID1");
    page.set_next_token("2");
    world_.driver().AnswerOnce(kListVolumes, page);
  }
  void AnswerSecondPage() {
    ListVolumesResponse page;
    Add(&page, "h2", "nodeID1");
    Add(&page, "h3", "nodeID1");
    world_.driver().AnswerOnce(kListVolumes, page);
  }
  std::vector<std::string> Published() {
    std::vector<std::string> out;
    for (const auto& request : world_.Requests<ControllerPublishVolumeRequest>(kPublish)) {
      out.push_back(request.volume_id());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  // Never.
  void ExpectNobodyWasDetached() {
    EXPECT_THAT(world_.Requests<ControllerUnpublishVolumeRequest>(kUnpublish), IsEmpty());
    EXPECT_THAT(world_.Trace(), Each(Not(HasSubstr(R"("attached":false)"))));
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(world_.Find<storage::VolumeAttachment>(StrCat("a", i))->status().attached());
    }
  }
  World world_;
};

TEST_F(WrongListTest, OneNodeIsMissing) {
  AnswerFirstPage("");
  AnswerSecondPage();
  world_.Start();
  world_.Advance(seconds(50));
  EXPECT_EQ(Published(), std::vector<std::string>{"h0"});
  AnswerFirstPage("");
  AnswerSecondPage();
  world_.Advance(seconds(60));
  EXPECT_EQ(Published(), (std::vector<std::string>{"h0", "h0"}));
  ExpectNobodyWasDetached();
}

TEST_F(WrongListTest, AWholePageIsMissing) {
  AnswerSecondPage();
  world_.Start();
  world_.Advance(seconds(50));
  EXPECT_EQ(Published(), (std::vector<std::string>{"h0", "h1"}));
  ExpectNobodyWasDetached();
}

TEST_F(WrongListTest, AnErrorHalfwayChangesNothing) {
  AnswerFirstPage("");
  world_.driver().FailOnce(kListVolumes, RpcStatus(10, "the token has expired"));
  world_.Start();
  world_.Advance(seconds(50));
  EXPECT_EQ(world_.Trace(), (std::vector<std::string>{"LIST", "LIST"}));
  ExpectNobodyWasDetached();
}

// --- external-attacher#215: the node is gone, and so is the volume from it

class GoneNodeTest : public ::testing::Test {
 protected:
  GoneNodeTest() {
    world_.features.lists_published_nodes = true;
    world_.config.call_timeout = seconds(15);
    world_.AddVolume();
    world_.AddNode();
    world_.AddPlainNode();
    world_.AddAttachment(AttachedBefore());
    world_.List({{"handle1", {"nodeID1"}}});
  }
  storage::VolumeAttachmentStatus AttachmentStatus() {
    return world_.Find<storage::VolumeAttachment>("va1")->status();
  }
  World world_;
};

TEST_F(GoneNodeTest, AttachmentToANodeThatIsGoneIsNoLongerAttached) {
  world_.Start();
  world_.Remove<core::Node>("node1");
  world_.Remove<storage::CSINode>("node1");
  world_.List({{"handle1", {}}});
  world_.Advance(minutes(3));
  EXPECT_FALSE(AttachmentStatus().attached());
  EXPECT_EQ(AttachmentStatus().attacherror().message(),
            "csinode.storage.k8s.io \"node1\" not found");
  EXPECT_THAT(world_.Requests<ControllerPublishVolumeRequest>(kPublish), IsEmpty());
  // It is detached in good order when the control plane lets go of it.
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Settle();
  EXPECT_THAT(world_.Requests<ControllerUnpublishVolumeRequest>(kUnpublish), SizeIs(1));
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
}

TEST_F(GoneNodeTest, AttachmentThatTheDriverStillListsStaysAttached) {
  world_.Start();
  world_.Remove<core::Node>("node1");
  world_.Remove<storage::CSINode>("node1");
  world_.Advance(minutes(3));
  EXPECT_TRUE(AttachmentStatus().attached());
  EXPECT_FALSE(AttachmentStatus().has_attacherror());
}

TEST_F(GoneNodeTest, AttachmentToANodeThatIsThereStaysAttached) {
  world_.driver().Fail(kPublish, RpcStatus(13, "broken"));
  world_.Start();
  world_.List({{"handle1", {}}});
  world_.Advance(minutes(3));
  EXPECT_TRUE(AttachmentStatus().attached());
  EXPECT_TRUE(AttachmentStatus().has_attacherror());
}

}  // namespace
}  // namespace csinative::attacher
