// SPDX-License-Identifier: Apache-2.0
//
// Detaching, as ordered API requests and CSI calls (attacher 15.2, 15.11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "test/unit/attacher/traces.h"
#include "test/unit/attacher/world.h"

namespace csinative::attacher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using Trace = std::vector<std::string>;

constexpr char kSecretRef[] =
    R"(,"controllerPublishSecretRef":{"namespace":"default","name":"secret"})";

AttachmentSpec Inline(const std::string& csi = "") {
  AttachmentSpec spec = AttachedBefore();
  spec.source =
      R"({"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"com.test.foo",)"
      R"("volumeHandle":"handle1")" +
      csi + "}}}";
  return spec;
}

struct Row {
  std::string name;  // with the row of the oracle
  std::optional<VolumeSpec> volume = VolumeSpec();
  AttachmentSpec attachment = AttachedBefore();
  std::string node_driver = kDriver;  // "none": no CSINode
  std::string secret_data = "";       // JSON; empty: no Secret
  std::function<void(World&)> prepare = [](World&) {};
  Duration time = milliseconds(900);
  Trace expected;
};

class DetachRowTest : public ::testing::TestWithParam<Row> {};

TEST_P(DetachRowTest, WritesAndCallsInThisOrder) {
  const Row& row = GetParam();
  World world;
  if (row.volume) world.AddVolume(*row.volume);
  if (row.node_driver != "none") world.AddNode(row.node_driver);
  if (!row.secret_data.empty()) world.AddSecret("secret", row.secret_data);
  row.prepare(world);
  world.AddAttachment(row.attachment);
  world.Remove<storage::VolumeAttachment>("va1");
  world.Start();
  world.Advance(row.time - milliseconds(900));
  EXPECT_THAT(world.Trace(), ElementsAreArray(row.expected));
}

std::vector<Row> Rows() {
  using namespace trace;
  // The object goes with its last finalizer, so the status has nowhere to go.
  const std::string detached = kDetached + kGone;
  const std::string detached_c = kDetachedC + kGone;
  const VolumeSpec with_secret{.csi = kSecretRef};
  AttachmentSpec annotated = AttachedBefore();
  annotated.node_id = "annotatedNodeID";
  AttachmentSpec without_node = AttachedBefore();
  without_node.node_id = "";
  AttachmentSpec shared = AttachedBefore();
  shared.finalizers = {kFinalizer, "foreign.example/x"};
  AttachmentSpec never_attached = shared;
  never_attached.attached = false;
  const std::string no_secret =
      R"(failed to load secret "default/secret": secrets "secret" not found)";
  return {
      {.name = "D1_attached", .expected = {kUnpublished, kRelease, detached}},
      {.name = "D2_inline",
       .volume = std::nullopt,
       .attachment = Inline(),
       .expected = {kUnpublished, kRelease, detached}},
      {.name = "D3_secret_and_recorded_node",
       .volume = with_secret,
       .node_driver = "none",
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", "UNPUB handle1 nodeID1 secrets{foo=bar}", kRelease,
                    detached}},
      {.name = "D4_inline_secret",
       .volume = std::nullopt,
       .attachment = Inline(kSecretRef),
       .node_driver = "none",
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", "UNPUB handle1 nodeID1 secrets{foo=bar}", kRelease,
                    detached}},
      {.name = "D5_empty_secret",
       .volume = with_secret,
       .secret_data = "{}",
       .expected = {"GET secrets/secret", kUnpublished, kRelease, detached}},
      {.name = "D7_secret_missing",
       .volume = with_secret,
       .expected = {"GET secrets/secret -> 404", DetachError(no_secret)}},
      {.name = "D8_driver_fails_once",
       .prepare =
           [](World& world) { world.driver().FailOnce(kUnpublish, RpcStatus(13, "mock error")); },
       .time = seconds(2),
       .expected = {kUnpublished, DetachError("rpc error: code = Internal desc = mock error"),
                    kUnpublished, kRelease, detached_c}},
      {.name = "D9_driver_hangs_once",
       .prepare =
           [](World& world) {
             world.driver()
                 .HandleOnce<::csi::v1::ControllerUnpublishVolumeRequest,
                             ::csi::v1::ControllerUnpublishVolumeResponse>(
                     kUnpublish,
                     [](::csi::v1::ControllerUnpublishVolumeRequest,
                        ::csi::v1::ControllerUnpublishVolumeResponse*) -> async::Task<Status> {
                       co_return co_await async::Sleep(seconds(60));
                     });
           },
       .time = seconds(2),
       .expected = {kUnpublished,
                    DetachError("rpc error: code = DeadlineExceeded desc = context deadline "
                                "exceeded"),
                    kUnpublished, kRelease, detached_c}},
      // Unpublish of something the driver does not know is a failure, too (attacher 10.4).
      {.name = "not_found_is_no_success",
       .prepare =
           [](World& world) {
             world.driver().FailOnce(kUnpublish, RpcStatus(5, "no such volume"));
           },
       .expected = {kUnpublished, DetachError("rpc error: code = NotFound desc = no such volume")}},
      {.name = "D10_never_attached",
       .attachment = {.finalizers = {"foreign.example/x"}},
       .time = seconds(60),
       .expected = {}},
      {.name = "D11_no_volume",
       .volume = std::nullopt,
       .time = milliseconds(3500),
       .expected = {DetachError("persistentvolume \"pv1\" not found"), kDetachErrorAgain,
                    kDetachErrorAgain}},
      {.name = "D12_no_volume_and_status_refused_twice",
       .volume = std::nullopt,
       .prepare =
           [](World& world) {
             world.Forbid("volumeattachments/va1/status");
             world.Forbid("volumeattachments/va1/status");
           },
       .time = milliseconds(7500),
       .expected = {DetachError("persistentvolume \"pv1\" not found") + kRefused,
                    DetachError("persistentvolume \"pv1\" not found") + kRefused,
                    DetachError("persistentvolume \"pv1\" not found"), kDetachErrorAgain}},
      {.name = "D15_no_node_at_all",
       .attachment = without_node,
       .node_driver = "none",
       .expected = {DetachError("csinode.storage.k8s.io \"node1\" not found")}},
      {.name = "D16_recorded_node",
       .attachment = annotated,
       .node_driver = "none",
       .expected = {"UNPUB handle1 annotatedNodeID", kRelease, detached}},
      {.name = "csinode_without_driver_and_recorded_node",  // 15.11
       .attachment = annotated,
       .node_driver = "",
       .expected = {"UNPUB handle1 annotatedNodeID", kRelease, detached}},
      {.name = "csinode_wins_over_recorded_node",  // 15.11
       .attachment = annotated,
       .expected = {kUnpublished, kRelease, detached}},
      {.name = "D17_finalizer_refused_once",
       .prepare =
           [](World& world) {
             world.Forbid("volumeattachments/va1",
                          "volumeattachments.storage.k8s.io \"va1\" is forbidden: mock error");
           },
       .time = seconds(2),
       .expected = {kUnpublished, kRelease + kRefused,
                    DetachError("could not mark as detached: volumeattachments.storage.k8s.io "
                                "\"va1\" is forbidden: mock error"),
                    kUnpublished, kRelease, detached_c}},
      {.name = "other_finalizers_stay",  // 15.11
       .attachment = shared,
       .expected = {kUnpublished, Metadata(R"("finalizers":["foreign.example/x"])"), kDetached}},
      {.name = "publish_never_succeeded",  // 15.11
       .attachment = never_attached,
       .expected = {kUnpublished, Metadata(R"("finalizers":["foreign.example/x"])"),
                    "PATCH volumeattachments/va1/status {}"}},
      {.name = "status_refused_after_the_finalizer",  // 15.11
       .attachment = shared,
       .prepare = [](World& world) { world.Forbid("volumeattachments/va1/status", "mock"); },
       .time = seconds(60),
       .expected = {kUnpublished, Metadata(R"("finalizers":["foreign.example/x"])"),
                    kDetached + kRefused, DetachError("could not mark as detached: mock")}},
  };
}

INSTANTIATE_TEST_SUITE_P(Rows, DetachRowTest, ::testing::ValuesIn(Rows()),
                         [](const auto& info) { return info.param.name; });

TEST(DetachTest, AttachedMetadataIsClearedWithTheAttachment) {
  World world;
  world.AddVolume();
  world.AddNode();
  AttachmentSpec shared = AttachedBefore();
  shared.finalizers = {kFinalizer, "foreign.example/x"};
  world.AddAttachment(shared);
  world.Merge<storage::VolumeAttachment>(
      "va1", R"({"status":{"attachmentMetadata":{"device":"/dev/x"}}})", "status");
  world.Start();
  world.Remove<storage::VolumeAttachment>("va1");
  world.Settle();
  const auto attachment = world.Find<storage::VolumeAttachment>("va1");
  ASSERT_TRUE(attachment.has_value());
  EXPECT_FALSE(attachment->status().attached());
  EXPECT_THAT(attachment->status().attachmentmetadata(), IsEmpty());
  EXPECT_EQ(world.controller().caches().remembered(), 0u);
}

TEST(DetachTest, VolumesOfOneDriverAreDetachedWhileAnotherHangs) {
  World world;
  world.config.call_timeout = seconds(15);
  world.AddVolume();
  world.AddNode();
  world.AddAttachment(AttachedBefore());
  world.driver()
      .HandleOnce<::csi::v1::ControllerUnpublishVolumeRequest,
                  ::csi::v1::ControllerUnpublishVolumeResponse>(
          kUnpublish,
          [](::csi::v1::ControllerUnpublishVolumeRequest,
             ::csi::v1::ControllerUnpublishVolumeResponse*) -> async::Task<Status> {
            co_return co_await async::Sleep(seconds(60));
          });
  world.Start();
  world.Remove<storage::VolumeAttachment>("va1");
  world.Settle();
  EXPECT_THAT(world.Trace(), ElementsAre(trace::kUnpublished));
  world.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{
      "name":"va2","finalizers":["external-attacher/test-csi-example"]},"spec":{
      "attacher":"test.csi.example","nodeName":"node1",
      "source":{"persistentVolumeName":"pv1"}}})");
  world.Remove<storage::VolumeAttachment>("va2");
  world.Settle();
  EXPECT_FALSE(world.Find<storage::VolumeAttachment>("va2").has_value());
}

}  // namespace
}  // namespace csinative::attacher
