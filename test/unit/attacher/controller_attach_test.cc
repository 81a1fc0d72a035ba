// SPDX-License-Identifier: Apache-2.0
//
// Attaching, as ordered API requests and CSI calls (attacher 15.1, 15.7, 15.11).
//
// Differs from the oracle's fixture: patches reach the cache, as they do in a cluster; so a second
// attempt does not patch the attachment again, and the server puts its own finalizer on volumes.
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

std::string InlineWith(const std::string& csi) {
  return R"({"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"com.test.foo",)"
         R"("volumeHandle":"handle1")" +
         csi + "}}}";
}

struct Row {
  std::string name;  // with the row of the oracle
  std::optional<VolumeSpec> volume = VolumeSpec();
  AttachmentSpec attachment = {};
  std::string node_driver = kDriver;  // "none": no CSINode
  std::string secret_data = "";       // JSON; empty: no Secret
  std::function<void(World&)> prepare = [](World&) {};
  Duration time = milliseconds(900);
  Trace expected;
};

class AttachRowTest : public ::testing::TestWithParam<Row> {};

TEST_P(AttachRowTest, WritesAndCallsInThisOrder) {
  const Row& row = GetParam();
  World world;
  if (row.volume) world.AddVolume(*row.volume);
  if (row.node_driver != "none") world.AddNode(row.node_driver);
  if (!row.secret_data.empty()) world.AddSecret("secret", row.secret_data);
  row.prepare(world);
  world.AddAttachment(row.attachment);
  world.Start();
  world.Advance(row.time - milliseconds(900));
  EXPECT_THAT(world.Trace(), ElementsAreArray(row.expected));
}

std::vector<Row> Rows() {
  using namespace trace;
  const std::string no_secret =
      R"(failed to load secret "default/secret": secrets "secret" not found)";
  const VolumeSpec with_secret{.csi = kSecretRef};
  return {
      {.name = "A1_new_attachment", .expected = {kPrepare, kPublished, kAttached}},
      {.name = "A2_inline",
       .volume = std::nullopt,
       .attachment = {.source = kInline},
       .expected = {kPrepare, kPublished, kAttached}},
      {.name = "A3_read_only",
       .volume = VolumeSpec{.csi = R"(,"readOnly":true)"},
       .expected = {kPrepare, "PUB handle1 nodeID1 readonly", kAttached}},
      {.name = "A4_inline_read_only",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(R"(,"readOnly":true)")},
       .expected = {kPrepare, "PUB handle1 nodeID1 readonly", kAttached}},
      {.name = "A7_attributes",
       .volume = VolumeSpec{.csi = R"(,"volumeAttributes":{"foo":"bar"})"},
       .expected = {kPrepare, "PUB handle1 nodeID1 context{foo=bar}", kAttached}},
      {.name = "A8_inline_attributes",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(R"(,"volumeAttributes":{"foo":"bar"})")},
       .expected = {kPrepare, "PUB handle1 nodeID1 context{foo=bar}", kAttached}},
      {.name = "A9_secret",
       .volume = with_secret,
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", kPrepare, "PUB handle1 nodeID1 secrets{foo=bar}",
                    kAttached}},
      {.name = "A10_inline_secret",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(kSecretRef)},
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", kPrepare, "PUB handle1 nodeID1 secrets{foo=bar}",
                    kAttached}},
      {.name = "A11_empty_secret",
       .volume = with_secret,
       .secret_data = "{}",
       .expected = {"GET secrets/secret", kPrepare, kPublished, kAttached}},
      {.name = "A13_secret_missing",
       .volume = with_secret,
       .expected = {"GET secrets/secret -> 404", AttachError(no_secret)}},
      {.name = "A14_volume_without_finalizer",
       .volume = VolumeSpec{.finalizers = {kProtection}},
       .expected = {kAddToVolume, kPrepare, kPublished, kAttached}},
      {.name = "A15_volume_finalizer_refused_once",
       .volume = VolumeSpec{.finalizers = {kProtection}},
       .prepare =
           [](World& world) {
             world.Forbid("persistentvolumes/pv1",
                          "persistentvolume \"pv1\" is forbidden: Mock error");
           },
       .time = seconds(2),
       .expected = {kAddToVolume + kRefused,
                    AttachError("could not add PersistentVolume finalizer: persistentvolume "
                                "\"pv1\" is forbidden: Mock error"),
                    kAddToVolume, kPrepare, kPublished, kAttachedC}},
      {.name = "A16_attached_already",
       .attachment = AttachedBefore(),
       .time = seconds(60),
       .expected = {}},
      {.name = "A17_volume_going_away",
       .volume = VolumeSpec{.finalizers = {kProtection}},
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .prepare = [](World& world) { world.Remove<core::PersistentVolume>("pv1"); },
       .expected = {AttachError("PersistentVolume \"pv1\" is marked for deletion")}},
      {.name = "A18_publish_context",
       .prepare =
           [](World& world) {
             ::csi::v1::ControllerPublishVolumeResponse response;
             (*response.mutable_publish_context())["foo"] = "bar";
             world.driver().Answer(kPublish, response);
           },
       .expected = {kPrepare, kPublished,
                    StatusPatch(R"("attached":true,"attachmentMetadata":{"foo":"bar"})")}},
      {.name = "A19_attacher_unknown",
       .attachment = {.attacher = "unknown.example"},
       .time = seconds(60),
       .expected = {}},
      {.name = "A20_no_volume",
       .volume = std::nullopt,
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .expected = {AttachError("persistentvolume \"pv1\" not found")}},
      {.name = "A21_no_volume_and_status_refused_twice",
       .volume = std::nullopt,
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .prepare =
           [](World& world) {
             world.Forbid("volumeattachments/va1/status");
             world.Forbid("volumeattachments/va1/status");
           },
       .time = milliseconds(3500),
       .expected = {AttachError("persistentvolume \"pv1\" not found") + kRefused,
                    AttachError("persistentvolume \"pv1\" not found") + kRefused,
                    AttachError("persistentvolume \"pv1\" not found")}},
      {.name = "A24_no_csinode",
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .node_driver = "none",
       .expected = {AttachError("csinode.storage.k8s.io \"node1\" not found")}},
      {.name = "A25_preparation_and_status_refused",
       .prepare =
           [](World& world) {
             world.Forbid("volumeattachments/va1",
                          "volumeattachments.storage.k8s.io \"va1\" is forbidden: Mock error");
             world.Forbid("volumeattachments/va1/status");
           },
       .time = seconds(2),
       .expected = {kPrepare + kRefused,
                    AttachError("could not save VolumeAttachment: "
                                "volumeattachments.storage.k8s.io \"va1\" is forbidden: Mock "
                                "error") +
                        kRefused,
                    kPrepare, kPublished, kAttached}},
      // The attempt is repeated at once: the attachment itself changed.
      {.name = "A26_status_refused_once",
       .prepare = [](World& world) { world.Forbid("volumeattachments/va1/status"); },
       .expected = {kPrepare, kPublished, kAttached + kRefused, kPublished, kAttached}},
      {.name = "A27_driver_fails_once",
       .prepare =
           [](World& world) { world.driver().FailOnce(kPublish, RpcStatus(13, "mock error")); },
       .expected = {kPrepare, kPublished,
                    StatusPatch(
                        R"("attachError":{"errorCode":13,"message":"rpc error: code = Internal )"
                        R"(desc = mock error","time":"T"})"),
                    kPublished, kAttachedC}},
      {.name = "A28_driver_hangs_once",
       .prepare =
           [](World& world) {
             world.driver()
                 .HandleOnce<::csi::v1::ControllerPublishVolumeRequest,
                             ::csi::v1::ControllerPublishVolumeResponse>(
                     kPublish,
                     [](::csi::v1::ControllerPublishVolumeRequest,
                        ::csi::v1::ControllerPublishVolumeResponse*) -> async::Task<Status> {
                       co_return co_await async::Sleep(seconds(60));
                     });
           },
       .expected = {kPrepare, kPublished,
                    StatusPatch(
                        R"("attachError":{"errorCode":4,"message":"rpc error: code = )"
                        R"(DeadlineExceeded desc = context deadline exceeded","time":"T"})"),
                    kPublished, kAttachedC}},
      {.name = "A30_csinode_without_driver",
       .node_driver = "",
       .expected = {AttachError("CSINode node1 does not contain driver test.csi.example")}},
      {.name = "A33_error_code",
       .prepare =
           [](World& world) { world.driver().FailOnce(kPublish, RpcStatus(8, "mock rpc error")); },
       .expected = {kPrepare, kPublished,
                    StatusPatch(R"("attachError":{"errorCode":8,"message":"rpc error: code = )"
                                R"(ResourceExhausted desc = mock rpc error","time":"T"})"),
                    kPublished, kAttachedC}},
      {.name = "A33_without_the_gate",
       .prepare =
           [](World& world) {
             world.config.error_codes = ErrorCodes::kOmit;
             world.driver().FailOnce(kPublish, RpcStatus(8, "mock rpc error"));
           },
       .expected = {kPrepare, kPublished,
                    AttachError("rpc error: code = ResourceExhausted desc = mock rpc error"),
                    kPublished, kAttachedC}},
      {.name = "A34_driver_without_publish_readonly",
       .prepare = [](World& world) { world.features.publish_readonly = false; },
       .expected = {kPrepare, kPublished, kAttached}},
      {.name = "A35_driver_without_publish_readonly_read_only_volume",
       .volume = VolumeSpec{.csi = R"(,"readOnly":true)"},
       .prepare = [](World& world) { world.features.publish_readonly = false; },
       .expected = {kPrepare, kPublished, kAttached}},
      {.name = "node_id_changed",  // 15.11
       .attachment = {.finalizers = {kFinalizer}, .node_id = "old"},
       .expected = {Metadata(R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"})"),
                    kPublished, kAttached}},
      {.name = "foreign_finalizer_is_kept",
       .attachment = {.finalizers = {"foreign.example/x"}},
       .expected =
           {Metadata(R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"},)"
                     R"("finalizers":["foreign.example/x","external-attacher/test-csi-example"])"),
            kPublished, kAttached}},
      {.name = "in_tree_volume_is_refused_for_now",
       .volume = VolumeSpec{.source = R"("gcePersistentDisk":{"pdName":"testpd"})"},
       .expected = {AttachError("failed to translate in tree pv to CSI: this build does not "
                                "translate in-tree volumes")}},
      {.name = "other_kind_of_volume",
       .volume = VolumeSpec{.source = R"("nfs":{"server":"s","path":"/p"})"},
       .expected = {AttachError("pv spec contained non-csi source that was not migrated")}},
  };
}

INSTANTIATE_TEST_SUITE_P(Rows, AttachRowTest, ::testing::ValuesIn(Rows()),
                         [](const auto& info) { return info.param.name; });

class AttachTest : public ::testing::Test {
 protected:
  void AddUsual() {
    world_.AddVolume();
    world_.AddNode();
    world_.AddAttachment();
  }
  World world_;
};

TEST_F(AttachTest, AttachmentOfALiveClusterIsAttachedOnce) {
  world_.AddVolume();
  world_.AddNode();
  world_.Start();
  world_.AddAttachment();
  world_.Advance(std::chrono::minutes(30));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished, trace::kAttached));
  EXPECT_EQ(world_.controller().caches().remembered(), 0u);
}

TEST_F(AttachTest, ResyncTriesAFailingAttachmentAtOnce) {  // A5
  world_.config.resync = std::chrono::minutes(10);
  world_.config.retry_start = std::chrono::hours(1);
  world_.config.retry_max = std::chrono::hours(1);
  AddUsual();
  world_.driver().FailOnce(kPublish, RpcStatus(13, "one"));
  world_.driver().FailOnce(kPublish, RpcStatus(13, "two"));
  world_.Start();
  EXPECT_EQ(world_.Calls().size(), 2u);
  world_.Advance(std::chrono::minutes(12));
  EXPECT_EQ(world_.Calls().size(), 3u);
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
}

TEST_F(AttachTest, FailingAttachBacksOffAndKeepsTheFirstAttemptsFinalizer) {  // attacher 6.5
  AddUsual();
  world_.driver().Fail(kPublish, RpcStatus(13, "broken"));
  world_.Start();
  EXPECT_EQ(world_.Calls().size(), 2u);  // at 0 and, as the attachment changed, at once again
  world_.Advance(seconds(1));
  EXPECT_EQ(world_.Calls().size(), 3u);  // at 1
  world_.Advance(milliseconds(2900));
  EXPECT_EQ(world_.Calls().size(), 3u);
  world_.Advance(seconds(1));
  EXPECT_EQ(world_.Calls().size(), 4u);  // at 5
  const auto attachment = world_.Find<storage::VolumeAttachment>("va1");
  EXPECT_THAT(attachment->metadata().finalizers(), ElementsAre(kFinalizer));
  EXPECT_EQ(attachment->status().attacherror().message(),
            "rpc error: code = Internal desc = broken");
  EXPECT_FALSE(attachment->status().attached());
}

TEST_F(AttachTest, LongErrorIsCutToWhatTheServerTakes) {
  AddUsual();
  world_.driver().Fail(kPublish, RpcStatus(13, std::string(5000, 'x')));
  world_.Start();
  const auto attachment = world_.Find<storage::VolumeAttachment>("va1");
  EXPECT_EQ(attachment->status().attacherror().message().size(), 1024u);
}

TEST_F(AttachTest, AttachmentRemovedWhileItIsPublishedIsUnpublished) {
  world_.config.call_timeout = seconds(15);
  AddUsual();
  world_.driver()
      .Handle<::csi::v1::ControllerPublishVolumeRequest,
              ::csi::v1::ControllerPublishVolumeResponse>(
          kPublish,
          [](::csi::v1::ControllerPublishVolumeRequest, ::csi::v1::ControllerPublishVolumeResponse*)
              -> async::Task<Status> { co_return co_await async::Sleep(seconds(5)); });
  world_.Start();
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Advance(seconds(10));
  EXPECT_THAT(world_.Trace(),
              ElementsAre(trace::kPrepare, trace::kPublished, trace::kAttached, trace::kUnpublished,
                          trace::kRelease, trace::kDetached + trace::kGone));
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
}

TEST_F(AttachTest, EndOfTheProcessIsNoErrorOfTheAttachment) {
  world_.config.call_timeout = seconds(15);
  AddUsual();
  world_.driver()
      .Handle<::csi::v1::ControllerPublishVolumeRequest,
              ::csi::v1::ControllerPublishVolumeResponse>(
          kPublish,
          [](::csi::v1::ControllerPublishVolumeRequest, ::csi::v1::ControllerPublishVolumeResponse*)
              -> async::Task<Status> { co_return co_await async::Sleep(seconds(5)); });
  world_.Start();
  world_.Stop();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kPrepare, trace::kPublished));
}

TEST_F(AttachTest, DriverThatCannotPublishGetsNoCallAndNoVolumesWatched) {  // 15.7
  world_.features.publish_unpublish_volume = false;
  world_.AddAttachment();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kAttached));
  EXPECT_THAT(world_.Watched(), ElementsAre("volumeattachments"));
}

TEST_F(AttachTest, TrivialAttachIsRetried) {  // 15.7
  world_.features.publish_unpublish_volume = false;
  world_.Start();
  world_.Forbid("volumeattachments/va1/status");
  world_.Forbid("volumeattachments/va1/status");
  world_.AddAttachment();
  world_.Advance(seconds(4));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kAttached + trace::kRefused,
                                          trace::kAttached + trace::kRefused, trace::kAttached));
}

TEST_F(AttachTest, TrivialHandlerLeavesOtherDriversAlone) {  // 15.7
  world_.features.publish_unpublish_volume = false;
  world_.AddAttachment({.attacher = "unknown.example"});
  world_.Start();
  EXPECT_THAT(world_.Trace(), IsEmpty());
}

}  // namespace
}  // namespace csinative::attacher
