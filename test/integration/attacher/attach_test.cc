// SPDX-License-Identifier: Apache-2.0
//
// csi-attacher as a program, with the sample driver and an API server: attach, detach, and what a
// user sees when the driver fails.
#include <gtest/gtest.h>

#include <string>

#include "lib/csi/calls.h"
#include "lib/rpc/channel.h"
#include "test/integration/attacher/fixture.h"

namespace csinative {
namespace {

using std::chrono::seconds;

constexpr char kDriver[] = "sample.csi-native.io";

async::Task<std::string> MakeVolume(async::EventLoop* loop, std::string socket) {
  auto channel = co_await rpc::Connect(*loop, "unix://" + socket, {});
  if (!channel.ok()) co_return "";
  ::csi::v1::CreateVolumeRequest request;
  request.set_name("volume");
  auto* capability = request.add_volume_capabilities();
  capability->mutable_mount();
  capability->mutable_access_mode()->set_mode(
      ::csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  request.mutable_capacity_range()->set_required_bytes(1 << 20);
  auto made = co_await csi::Call<::csi::v1::CreateVolumeRequest>(**channel, std::move(request));
  co_return made.ok() ? made->volume().volume_id() : "";
}

class AttachTest : public AttacherFixture {
 protected:
  // Volume, its object and a node; then the attacher with further arguments.
  void StartAll(std::vector<std::string> driver_arguments = {},
                std::vector<std::string> attacher_arguments = {}) {
    const std::string kubeconfig = StartApi();
    StartDriver(std::move(driver_arguments));
    const std::string handle = async::RunTask(loop_, MakeVolume(&loop_, socket()));
    ASSERT_NE(handle, "");
    Add(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{
        "capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],
        "csi":{"driver":")" +
        std::string(kDriver) + R"(","volumeHandle":")" + handle + R"("}}})");
    Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},"spec":{
        "drivers":[{"name":")" +
        std::string(kDriver) + R"(","nodeID":"node-1","topologyKeys":[]}]}})");
    auto arguments = UsualArguments(kubeconfig);
    arguments.insert(arguments.end(), attacher_arguments.begin(), attacher_arguments.end());
    StartAttacher(std::move(arguments));
  }
  void AddAttachment() {
    Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"va"},
        "spec":{"attacher":")" +
        std::string(kDriver) + R"(","nodeName":"node","source":{"persistentVolumeName":"pv"}}})");
  }
  std::string Attachment() { return Find("storage.k8s.io", "volumeattachments", "va"); }
  bool AttachmentHas(const std::string& text) { return Attachment().find(text) != npos; }
  int RemoveAttachment() {
    return Request("DELETE", "/apis/storage.k8s.io/v1/volumeattachments/va");
  }
};

TEST_F(AttachTest, VolumeIsAttachedAndDetached) {
  StartAll();
  AddAttachment();
  ASSERT_TRUE(Until([this] { return AttachmentHas(R"("attached":true)"); }));
  EXPECT_TRUE(AttachmentHas(R"("device":"/dev/sample/)")) << Attachment();
  EXPECT_TRUE(AttachmentHas(R"("external-attacher/sample-csi-native-io")")) << Attachment();
  EXPECT_TRUE(AttachmentHas(R"("csi.alpha.kubernetes.io/node-id":"node-1")")) << Attachment();
  EXPECT_NE(Find("", "persistentvolumes", "pv").find("external-attacher/sample-csi-native-io"),
            npos);

  EXPECT_EQ(RemoveAttachment(), 200);
  ASSERT_TRUE(Until([this] { return Attachment().empty(); }));
  EXPECT_TRUE(Logged("/csi.v1.Controller/ControllerUnpublishVolume"));

  EXPECT_EQ(Request("DELETE", "/api/v1/persistentvolumes/pv"), 200);
  EXPECT_TRUE(Until(
      [this] { return Find("", "persistentvolumes", "pv").find("external-attacher/") == npos; }));
}

TEST_F(AttachTest, FailureOfTheDriverIsShownUntilItIsOver) {
  StartAll({"--fail", "ControllerPublishVolume=ResourceExhausted:node is full:4", "--fail",
            "ControllerUnpublishVolume=Internal:still busy:3"});
  AddAttachment();
  ASSERT_TRUE(Until([this] {
    return AttachmentHas(R"("message":"rpc error: code = ResourceExhausted desc = node is full")");
  }));
  EXPECT_TRUE(AttachmentHas(R"("errorCode":8)")) << Attachment();
  EXPECT_TRUE(AttachmentHas(R"("attached":false)")) << Attachment();
  ASSERT_TRUE(Until([this] { return AttachmentHas(R"("attached":true)"); }));
  EXPECT_FALSE(AttachmentHas("attachError")) << Attachment();

  EXPECT_EQ(RemoveAttachment(), 200);
  ASSERT_TRUE(Until([this] { return AttachmentHas("detachError"); }));
  EXPECT_TRUE(AttachmentHas("code = Internal desc = still busy")) << Attachment();
  EXPECT_TRUE(Until([this] { return Attachment().empty(); }));
}

TEST_F(AttachTest, DriverThatCannotPublishIsNeverAsked) {
  StartAll({"--without", "PUBLISH_UNPUBLISH_VOLUME"});
  AddAttachment();
  ASSERT_TRUE(Until([this] { return AttachmentHas(R"("attached":true)"); }));
  EXPECT_FALSE(AttachmentHas("external-attacher/")) << Attachment();
  EXPECT_FALSE(Logged("ControllerPublishVolume\""));
}

TEST_F(AttachTest, LeaderHoldsTheLeaseThatIsNamedAfterTheDriver) {
  StartAll({}, {"-leader-election", "-leader-election-namespace=default"});
  AddAttachment();
  ASSERT_TRUE(Until([this] { return AttachmentHas(R"("attached":true)"); }));
  EXPECT_NE(api_->api().GetObject("coordination.k8s.io", "leases", "default",
                                  "external-attacher-leader-sample-csi-native-io"),
            nullptr);
}

TEST_F(AttachTest, KilledInTheMiddleOfAnAttachTheNextProcessFinishesIt) {
  StartAll({"--hang", "ControllerPublishVolume:1"});
  AddAttachment();
  ASSERT_TRUE(Until([this] { return Logged("/csi.v1.Controller/ControllerPublishVolume"); }));
  EXPECT_TRUE(AttachmentHas("external-attacher/")) << Attachment();
  attacher_.reset();
  auto arguments = UsualArguments(dir_.path() + "/kubeconfig");
  // Should the request that hangs not have left the first process.
  arguments.push_back("-timeout=2s");
  StartAttacher(arguments);
  EXPECT_TRUE(Until([this] { return AttachmentHas(R"("attached":true)"); }, seconds(30)));
}

}  // namespace
}  // namespace csinative
