// SPDX-License-Identifier: Apache-2.0
//
// What exactly the driver is asked, and what is made of its answers (attacher 15.8).
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::csi::v1::ControllerPublishVolumeResponse;
using ::csi::v1::ControllerUnpublishVolumeRequest;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;

constexpr char kSecretRef[] =
    R"(,"controllerPublishSecretRef":{"namespace":"default","name":"secret"})";

class DriverCallsTest : public ::testing::Test {
 protected:
  // Volume with a secret, node and attachment; then the controllers.
  void Attach(const std::string& csi = "") {
    world_.AddVolume({.csi = csi + kSecretRef});
    world_.AddNode();
    world_.AddSecret("secret", R"({"user":"bWU=","password":"aGlkZGVu"})");
    world_.AddAttachment();
    world_.Start();
  }
  void Detach() {
    world_.AddVolume({.csi = kSecretRef});
    world_.AddNode();
    world_.AddSecret("secret", R"({"user":"bWU=","password":"aGlkZGVu"})");
    world_.AddAttachment(AttachedBefore());
    world_.Remove<storage::VolumeAttachment>("va1");
    world_.Start();
  }
  storage::VolumeAttachmentStatus Status() {
    return world_.Find<storage::VolumeAttachment>("va1")->status();
  }
  World world_;
};

TEST_F(DriverCallsTest, PublishContextBecomesTheMetadata) {
  const oracle::Row row("attacher/15.8/1");
  ControllerPublishVolumeResponse response;
  auto& context = *response.mutable_publish_context();
  context["a"] = "1";
  context["b"] = "2";
  context["c"] = "3";
  world_.driver().Answer(kPublish, response);
  Attach();
  std::map<std::string, std::string> metadata;
  const auto status = Status();
  for (const auto& entry : status.attachmentmetadata()) metadata[entry.key()] = entry.value();
  EXPECT_EQ(metadata, (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
}

TEST_F(DriverCallsTest, NoPublishContextIsNoMetadata) {
  const oracle::Row row("attacher/15.8/2");
  Attach();
  EXPECT_EQ(world_.Trace().back(), trace::kAttached);
  EXPECT_TRUE(Status().attached());
  EXPECT_EQ(Status().attachmentmetadata_size(), 0);
}

TEST_F(DriverCallsTest, PublishSaysAllOfTheVolumeAndNothingElse) {
  const oracle::Row row("attacher/15.8/3");
  Attach(R"(,"readOnly":true,"volumeAttributes":{"foo":"bar"})");
  ControllerPublishVolumeRequest expected;
  expected.set_volume_id("handle1");
  expected.set_node_id("nodeID1");
  expected.mutable_volume_capability()->mutable_mount()->set_fs_type("ext4");
  expected.mutable_volume_capability()->mutable_access_mode()->set_mode(
      ::csi::v1::VolumeCapability::AccessMode::MULTI_NODE_MULTI_WRITER);
  expected.set_readonly(true);
  (*expected.mutable_volume_context())["foo"] = "bar";
  (*expected.mutable_secrets())["user"] = "me";
  (*expected.mutable_secrets())["password"] = "hidden";
  const auto requests = world_.Requests<ControllerPublishVolumeRequest>(kPublish);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(MessageDifferencer::Equals(requests[0], expected)) << requests[0].DebugString();
}

TEST_F(DriverCallsTest, UnpublishSaysVolumeNodeAndSecrets) {
  const oracle::Row row("attacher/15.8/6");
  Detach();
  ControllerUnpublishVolumeRequest expected;
  expected.set_volume_id("handle1");
  expected.set_node_id("nodeID1");
  (*expected.mutable_secrets())["user"] = "me";
  (*expected.mutable_secrets())["password"] = "hidden";
  const auto requests = world_.Requests<ControllerUnpublishVolumeRequest>(kUnpublish);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(MessageDifferencer::Equals(requests[0], expected)) << requests[0].DebugString();
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
}

struct FailureRow {
  std::string name;
  int code;
  std::string message;
};
class UnpublishFailureTest : public DriverCallsTest,
                             public ::testing::WithParamInterface<FailureRow> {};

// Also that the volume is unknown: only Ok says that it is no longer there (attacher 10.4).
TEST_P(UnpublishFailureTest, KeepsTheAttachment) {
  const oracle::Row row("attacher/15.8/7");
  world_.driver().Fail(kUnpublish, RpcStatus(GetParam().code, "text"));
  Detach();
  const auto attachment = world_.Find<storage::VolumeAttachment>("va1");
  ASSERT_TRUE(attachment.has_value());
  EXPECT_THAT(attachment->metadata().finalizers(), ElementsAre(kFinalizer));
  EXPECT_TRUE(attachment->status().attached());
  EXPECT_EQ(attachment->status().detacherror().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UnpublishFailureTest,
    ::testing::Values(
        FailureRow{"permission_denied", 7, "rpc error: code = PermissionDenied desc = text"},
        FailureRow{"deadline_exceeded", 4, "rpc error: code = DeadlineExceeded desc = text"},
        FailureRow{"not_found", 5, "rpc error: code = NotFound desc = text"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace csinative::attacher
