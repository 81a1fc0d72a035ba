// SPDX-License-Identifier: Apache-2.0
//
// csi-attacher as a program, with the sample driver and an API server: attach, detach, and what a
// user sees when the driver fails.
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>

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

// As somebody who knows nothing of Kubernetes does.
async::Task<void> Unpublish(async::EventLoop* loop, std::string socket, std::string handle) {
  auto channel = co_await rpc::Connect(*loop, "unix://" + socket, {});
  EXPECT_TRUE(channel.ok());
  if (!channel.ok()) co_return;
  ::csi::v1::ControllerUnpublishVolumeRequest request;
  request.set_volume_id(handle);
  request.set_node_id("node-1");
  auto done = co_await csi::Call<::csi::v1::ControllerUnpublishVolumeRequest>(**channel,
                                                                              std::move(request));
  EXPECT_TRUE(done.ok());
}

async::Task<bool> ListsNodes(async::EventLoop* loop, std::string socket) {
  auto channel = co_await rpc::Connect(*loop, "unix://" + socket, {});
  if (!channel.ok()) co_return false;
  auto listed = co_await csi::Call<::csi::v1::ListVolumesRequest>(**channel, {});
  if (!listed.ok()) co_return false;
  for (const auto& entry : listed->entries()) {
    if (entry.status().published_node_ids_size() > 0) co_return true;
  }
  co_return false;
}

class AttachTest : public AttacherFixture {
 protected:
  // Volume, its object and a node; then the attacher with further arguments.
  void StartAll(std::vector<std::string> driver_arguments = {},
                std::vector<std::string> attacher_arguments = {}) {
    const std::string kubeconfig = StartApi();
    StartDriver(std::move(driver_arguments));
    handle_ = async::RunTask(loop_, MakeVolume(&loop_, socket()));
    ASSERT_NE(handle_, "");
    Add(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{
        "capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],
        "csi":{"driver":")" +
        std::string(kDriver) + R"(","volumeHandle":")" + handle_ + R"("}}})");
    Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},"spec":{
        "drivers":[{"name":")" +
        std::string(kDriver) + R"(","nodeID":"node-1","topologyKeys":[]}]}})");
    auto arguments = UsualArguments(kubeconfig);
    arguments.insert(arguments.end(), attacher_arguments.begin(), attacher_arguments.end());
    StartAttacher(std::move(arguments));
  }
  void AddAttachment(const std::string& name = "va") {
    Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":")" +
        name + R"("},"spec":{"attacher":")" + std::string(kDriver) +
        R"(","nodeName":"node","source":{"persistentVolumeName":"pv"}}})");
  }
  std::string Attachment() { return Find("storage.k8s.io", "volumeattachments", "va"); }
  bool AttachmentHas(const std::string& text) { return Attachment().find(text) != npos; }
  // Whether the driver has any volume published.
  bool IsPublished() { return async::RunTask(loop_, ListsNodes(&loop_, socket())); }
  int CountOf(const std::string& text) const {
    const std::string log = Stderr();
    int count = 0;
    for (size_t at = log.find(text); at != npos; at = log.find(text, at + 1)) ++count;
    return count;
  }
  int RemoveAttachment() {
    return Request("DELETE", "/apis/storage.k8s.io/v1/volumeattachments/va");
  }
  std::string handle_;
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

// external-attacher#706: nothing told that attachments were waiting. What the log says about it
// takes its time and is in report_fairness_test.cc.
TEST_F(AttachTest, BacklogIsMeasuredAtTheHttpEndpoint) {
  StartAll({"--delay", "ControllerPublishVolume=1m"},
           {"-worker-threads=1", "-http-endpoint=127.0.0.1:0"});
  for (const char* name : {"va", "vb", "vc"}) AddAttachment(name);
  const auto waits = [this](const std::string& page, const std::string& text) {
    return Get(page).find(text) != npos;
  };
  EXPECT_TRUE(Until([&] {
    return waits("/metrics", "workqueue_depth{name=\"csi-attacher-va\"} 2\n");
  })) << Get("/metrics");
  EXPECT_TRUE(waits("/metrics", "workqueue_longest_running_processor_seconds{name=\"csi-attacher"));
  EXPECT_TRUE(waits("/metrics", "workqueue_adds_total{name=\"csi-attacher-va\"} 3\n"));
}

// --- the driver's list of published volumes

TEST_F(AttachTest, VolumeThatWasDetachedBehindTheBackIsAttachedAgain) {
  StartAll({}, {"-reconcile-sync=200ms", "-max-entries=1"});
  AddAttachment();
  ASSERT_TRUE(Until([this] { return AttachmentHas(R"("attached":true)"); }));
  EXPECT_TRUE(IsPublished());
  async::RunTask(loop_, Unpublish(&loop_, socket(), handle_));
  ASSERT_TRUE(Until([this] { return CountOf("/csi.v1.Controller/ControllerPublishVolume") > 1; }));
  // The second answer, too.
  for (int i = 0; i < 100 && !IsPublished(); ++i) {
    (void)Until([] { return false; }, std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(IsPublished());
  EXPECT_TRUE(Logged("The driver and the VolumeAttachment say different things"));
  EXPECT_TRUE(AttachmentHas(R"("attached":true)")) << Attachment();
}

// --- the end

class EndTest : public AttachTest {
 protected:
  static std::vector<std::string> Gate() {
    return {"-feature-gates=ReleaseLeaderElectionOnExit=true"};
  }
  static std::vector<std::string> ElectionAndGate() {
    return {"-feature-gates=ReleaseLeaderElectionOnExit=true", "-leader-election",
            "-leader-election-namespace=default"};
  }
  std::string Lease() {
    const auto lease = api_->api().GetObject("coordination.k8s.io", "leases", "default",
                                             "external-attacher-leader-sample-csi-native-io");
    return lease ? lease->json : "";
  }
};

TEST_F(EndTest, LeaderThatIsAskedToEndReleasesItsLease) {  // attacher 5.3
  StartAll({}, ElectionAndGate());
  ASSERT_TRUE(Until([this] { return Logged("Starting CSI attacher"); }));
  attacher_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_NE(Lease().find(R"("holderIdentity":"")"), npos) << Lease();
  EXPECT_NE(Lease().find(R"("leaseDurationSeconds":1)"), npos) << Lease();
}

TEST_F(EndTest, WithoutElectionTheEndIsASuccess) {
  StartAll({}, Gate());
  ASSERT_TRUE(Until([this] { return Logged("Starting CSI attacher"); }));
  attacher_->Signal(SIGINT);
  EXPECT_EQ(ExitCode(), 0);
}

TEST_F(EndTest, CallInProgressIsCutShortAndLeavesNoError) {
  StartAll({"--hang", "ControllerPublishVolume"}, ElectionAndGate());
  AddAttachment();
  ASSERT_TRUE(Until([this] { return Logged("/csi.v1.Controller/ControllerPublishVolume"); }));
  attacher_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_FALSE(AttachmentHas("attachError")) << Attachment();
  EXPECT_NE(Lease().find(R"("holderIdentity":"")"), npos) << Lease();
}

TEST_F(EndTest, StandbyEndsAtOnce) {
  const std::string kubeconfig = StartApi();
  Add(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{
      "name":"external-attacher-leader-sample-csi-native-io","namespace":"default"},
      "spec":{"holderIdentity":"another","leaseDurationSeconds":60}})");
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  for (const std::string& argument : ElectionAndGate()) arguments.push_back(argument);
  StartAttacher(arguments);
  ASSERT_TRUE(Until([this] { return Logged("New leader detected"); }));
  attacher_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_FALSE(Logged("Starting CSI attacher"));
  EXPECT_NE(Lease().find(R"("holderIdentity":"another")"), npos) << Lease();
}

TEST_F(EndTest, WithoutTheGateTheLeaseStaysHeld) {  // attacher 5.2
  StartAll({}, {"-leader-election", "-leader-election-namespace=default"});
  ASSERT_TRUE(Until([this] { return Logged("Starting CSI attacher"); }));
  attacher_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), -2);
  EXPECT_EQ(Lease().find(R"("holderIdentity":"")"), npos) << Lease();
}

}  // namespace
}  // namespace csinative
