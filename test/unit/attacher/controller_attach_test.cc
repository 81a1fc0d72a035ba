// SPDX-License-Identifier: Apache-2.0
//
// Attaching, as ordered API requests and CSI calls (attacher 15.1, 15.7).
//
// Differs from the oracle's fixture: patches reach the cache, as they do in a cluster; so a second
// attempt does not patch the attachment again, and the server puts its own finalizer on volumes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Trace = std::vector<std::string>;

constexpr char kSecretRef[] =
    R"(,"controllerPublishSecretRef":{"namespace":"default","name":"secret"})";

constexpr char kBothSources[] =
    R"({"persistentVolumeName":"pv1","inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],)"
    R"("csi":{"driver":"com.test.foo","volumeHandle":"handle1"}}})";

std::string InlineWith(const std::string& csi) {
  return R"({"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"com.test.foo",)"
         R"("volumeHandle":"handle1")" +
         csi + "}}}";
}

struct Row {
  std::string row = "";  // of the oracle, if there is one
  std::string name;
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
  std::optional<oracle::Row> reached;
  if (!row.row.empty()) reached.emplace(row.row);
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
      {.row = "attacher/15.1/1",
       .name = "A1_new_attachment",
       .expected = {kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/2",
       .name = "A2_inline",
       .volume = std::nullopt,
       .attachment = {.source = kInline},
       .expected = {kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/3",
       .name = "A3_read_only",
       .volume = VolumeSpec{.csi = R"(,"readOnly":true)"},
       .expected = {kPrepare, "PUB handle1 nodeID1 readonly", kAttached}},
      {.row = "attacher/15.1/4",
       .name = "A4_inline_read_only",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(R"(,"readOnly":true)")},
       .expected = {kPrepare, "PUB handle1 nodeID1 readonly", kAttached}},
      {.row = "attacher/15.1/7",
       .name = "A7_attributes",
       .volume = VolumeSpec{.csi = R"(,"volumeAttributes":{"foo":"bar"})"},
       .expected = {kPrepare, "PUB handle1 nodeID1 context{foo=bar}", kAttached}},
      {.row = "attacher/15.1/8",
       .name = "A8_inline_attributes",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(R"(,"volumeAttributes":{"foo":"bar"})")},
       .expected = {kPrepare, "PUB handle1 nodeID1 context{foo=bar}", kAttached}},
      {.row = "attacher/15.1/9",
       .name = "A9_secret",
       .volume = with_secret,
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", kPrepare, "PUB handle1 nodeID1 secrets{foo=bar}",
                    kAttached}},
      {.row = "attacher/15.1/10",
       .name = "A10_inline_secret",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(kSecretRef)},
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", kPrepare, "PUB handle1 nodeID1 secrets{foo=bar}",
                    kAttached}},
      {.row = "attacher/15.1/11",
       .name = "A11_empty_secret",
       .volume = with_secret,
       .secret_data = "{}",
       .expected = {"GET secrets/secret", kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/12",
       .name = "A12_inline_empty_secret",
       .volume = std::nullopt,
       .attachment = {.source = InlineWith(kSecretRef)},
       .secret_data = "{}",
       .expected = {"GET secrets/secret", kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/13",
       .name = "A13_secret_missing",
       .volume = with_secret,
       .expected = {"GET secrets/secret -> 404", AttachError(no_secret)}},
      {.row = "attacher/15.1/14",
       .name = "A14_volume_without_finalizer",
       .volume = VolumeSpec{.finalizers = {kProtection}},
       .expected = {kAddToVolume, kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/15",
       .name = "A15_volume_finalizer_refused_once",
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
      {.row = "attacher/15.1/16",
       .name = "A16_attached_already",
       .attachment = AttachedBefore(),
       .time = seconds(60),
       .expected = {}},
      {.row = "attacher/15.1/17",
       .name = "A17_volume_going_away",
       .volume = VolumeSpec{.finalizers = {kProtection}},
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .prepare = [](World& world) { world.Remove<core::PersistentVolume>("pv1"); },
       .expected = {AttachError("PersistentVolume \"pv1\" is marked for deletion")}},
      {.row = "attacher/15.1/18",
       .name = "A18_publish_context",
       .prepare =
           [](World& world) {
             ::csi::v1::ControllerPublishVolumeResponse response;
             (*response.mutable_publish_context())["foo"] = "bar";
             world.driver().Answer(kPublish, response);
           },
       .expected = {kPrepare, kPublished,
                    StatusPatch(R"("attached":true,"attachmentMetadata":{"foo":"bar"})")}},
      {.row = "attacher/15.1/19",
       .name = "A19_attacher_unknown",
       .attachment = {.attacher = "unknown.example"},
       .time = seconds(60),
       .expected = {}},
      {.row = "attacher/15.1/20",
       .name = "A20_no_volume",
       .volume = std::nullopt,
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .expected = {AttachError("persistentvolume \"pv1\" not found")}},
      {.row = "attacher/15.1/21",
       .name = "A21_no_volume_and_status_refused_twice",
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
      {.row = "attacher/15.1/22",
       .name = "A22_no_source",
       .attachment = {.invalid_source = "{}"},
       .expected = {AttachError("neither InlineCSIVolumeSource nor PersistentVolumeName specified "
                                "in VA source")}},
      {.row = "attacher/15.1/23",
       .name = "A23_two_sources",
       .attachment = {.invalid_source = kBothSources},
       .expected = {AttachError("both InlineCSIVolumeSource and PersistentVolumeName specified in "
                                "VA source")}},
      {.row = "attacher/15.1/24",
       .name = "A24_no_csinode",
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .node_driver = "none",
       .expected = {AttachError("csinode.storage.k8s.io \"node1\" not found")}},
      {.row = "attacher/15.1/25",
       .name = "A25_preparation_and_status_refused",
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
      {.row = "attacher/15.1/26",
       .name = "A26_status_refused_once",
       .prepare = [](World& world) { world.Forbid("volumeattachments/va1/status"); },
       .time = seconds(2),
       .expected = {kPrepare, kPublished, kAttached + kRefused, kPublished, kAttached}},
      {.row = "attacher/15.1/27",
       .name = "A27_failure_that_is_none_of_grpc",
       .prepare =
           [](World& world) { world.FailPlainlyOnce(kPublish, InternalError("mock error")); },
       .time = seconds(2),
       .expected = {kPrepare, kPublished, AttachError("mock error"), kPublished, kAttachedC}},
      {.name = "driver_fails_once",
       .prepare =
           [](World& world) { world.driver().FailOnce(kPublish, RpcStatus(13, "mock error")); },
       .time = seconds(2),
       .expected = {kPrepare, kPublished,
                    StatusPatch(
                        R"("attachError":{"errorCode":13,"message":"rpc error: code = Internal )"
                        R"(desc = mock error","time":"T"})"),
                    kPublished, kAttachedC}},
      {.row = "attacher/15.1/28",
       .name = "A28_deadline_that_is_none_of_grpc",
       .prepare = [](World& world) { world.HangPlainlyOnce(kPublish); },
       .time = seconds(2),
       .expected = {kPrepare, kPublished, AttachError("context deadline exceeded"), kPublished,
                    kAttachedC}},
      {.name = "driver_hangs_once",
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
       .time = seconds(2),
       .expected = {kPrepare, kPublished,
                    StatusPatch(
                        R"("attachError":{"errorCode":4,"message":"rpc error: code = )"
                        R"(DeadlineExceeded desc = context deadline exceeded","time":"T"})"),
                    kPublished, kAttachedC}},
      {.row = "attacher/15.1/29",
       .name = "A29_node_without_csinode",
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .node_driver = "none",
       .prepare = [](World& world) { world.AddPlainNode(); },
       .expected = {AttachError("csinode.storage.k8s.io \"node1\" not found")}},
      {.row = "attacher/15.1/30",
       .name = "A30_csinode_without_driver",
       .node_driver = "",
       .expected = {AttachError("CSINode node1 does not contain driver test.csi.example")}},
      {.row = "attacher/15.1/31",
       .name = "A31_csinode_and_node_without_annotations",
       .prepare = [](World& world) { world.AddPlainNode(); },
       .expected = {kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/32",
       .name = "A32_gce_disk",
       .volume = kGceDisk,
       .expected = {kPrepare,
                    "PUB projects/UNSPECIFIED/zones/testZone/disks/testpd nodeID1 "
                    "context{partition=}",
                    kAttached}},
      {.row = "attacher/15.1/33",
       .name = "A33_error_code",
       .prepare =
           [](World& world) { world.driver().FailOnce(kPublish, RpcStatus(8, "mock rpc error")); },
       .time = seconds(2),
       .expected = {kPrepare, kPublished,
                    StatusPatch(R"("attachError":{"errorCode":8,"message":"rpc error: code = )"
                                R"(ResourceExhausted desc = mock rpc error","time":"T"})"),
                    kPublished, kAttachedC}},
      {.name = "error_code_without_the_gate",
       .prepare =
           [](World& world) {
             world.config.error_codes = ErrorCodes::kOmit;
             world.driver().FailOnce(kPublish, RpcStatus(8, "mock rpc error"));
           },
       .time = seconds(2),
       .expected = {kPrepare, kPublished,
                    AttachError("rpc error: code = ResourceExhausted desc = mock rpc error"),
                    kPublished, kAttachedC}},
      {.row = "attacher/15.1/34",
       .name = "A34_driver_without_publish_readonly",
       .prepare = [](World& world) { world.features.publish_readonly = false; },
       .expected = {kPrepare, kPublished, kAttached}},
      {.row = "attacher/15.1/35",
       .name = "A35_driver_without_publish_readonly_read_only_volume",
       .volume = VolumeSpec{.csi = R"(,"readOnly":true)"},
       .prepare = [](World& world) { world.features.publish_readonly = false; },
       .expected = {kPrepare, kPublished, kAttached}},
      {.name = "node_id_changed",  // detaching: controller_detach_test.cc
       .attachment = {.finalizers = {kFinalizer}, .node_id = "old"},
       .expected = {Metadata(R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"})"),
                    kPublished, kAttached}},
      {.name = "foreign_finalizer_is_kept",
       .attachment = {.finalizers = {"foreign.example/x"}},
       .expected =
           {Metadata(R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"},)"
                     R"("finalizers":["foreign.example/x","external-attacher/test-csi-example"])"),
            kPublished, kAttached}},
      {.name = "in_tree_volume_that_cannot_be_translated",
       .volume = VolumeSpec{.source = R"("awsElasticBlockStore":{"volumeID":"aws://zone/x"})"},
       .expected = {AttachError("failed to translate in tree pv to CSI: invalid format for AWS "
                                "volume (aws://zone/x)")}},
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

struct ResyncRow {
  std::string row;  // of the oracle
  std::string name;
  std::string source;
};
class ResyncTest : public ::testing::TestWithParam<ResyncRow> {};

// The first attempt, of the addition, fails without a trace in the object: neither the finalizer
// nor the error can be saved. The next one is of the resync's update, long before a retry.
TEST_P(ResyncTest, UpdateWithoutAChangeAttaches) {
  const oracle::Row row(GetParam().row);
  World world;
  world.config.resync = std::chrono::minutes(10);
  world.config.retry_start = std::chrono::hours(1);
  world.config.retry_max = std::chrono::hours(1);
  world.AddVolume();
  world.AddNode();
  world.AddAttachment({.source = GetParam().source});
  world.Forbid("volumeattachments/va1");
  world.Forbid("volumeattachments/va1/status");
  world.Start();
  EXPECT_THAT(world.Calls(), IsEmpty());
  world.Advance(std::chrono::minutes(12));
  EXPECT_THAT(world.Trace(), ElementsAre(trace::kPrepare + trace::kRefused,
                                         trace::AttachError("could not save VolumeAttachment: no") +
                                             trace::kRefused,
                                         trace::kPrepare, trace::kPublished, trace::kAttached));
}

INSTANTIATE_TEST_SUITE_P(Rows, ResyncTest,
                         ::testing::Values(ResyncRow{"attacher/15.1/5", "A5_volume",
                                                     R"({"persistentVolumeName":"pv1"})"},
                                           ResyncRow{"attacher/15.1/6", "A6_inline", kInline}),
                         [](const auto& info) { return info.param.name; });

TEST_F(AttachTest, CallsForMigratedVolumesAreMeasuredApart) {
  const oracle::Row row("attacher/15.1/36");
  world_.AddVolume(kGceDisk);
  world_.AddNode();
  world_.AddAttachment();
  world_.Start();
  EXPECT_EQ(world_.Calls(), (Trace{"ControllerPublishVolume"}));
  EXPECT_THAT(world_.Metrics(), HasSubstr(R"(ControllerPublishVolume",migrated="true"} 1)"));
  EXPECT_THAT(world_.Metrics(), Not(HasSubstr(R"(migrated="false")")));
}

TEST_F(AttachTest, CallsForOtherVolumesAreNotMigrated) {
  AddUsual();
  world_.Start();
  EXPECT_THAT(world_.Metrics(), HasSubstr(R"(ControllerPublishVolume",migrated="false"} 1)"));
  EXPECT_THAT(world_.Metrics(), Not(HasSubstr(R"(migrated="true")")));
}

TEST_F(AttachTest, FinalizerIsAddedToTheVersionThatWasSeen) {
  AddUsual();
  const auto before = world_.Find<storage::VolumeAttachment>("va1");
  world_.Start();
  EXPECT_THAT(world_.Preconditions(), ElementsAre(before->metadata().resourceversion()));
}

TEST_F(AttachTest, AttachmentDeletedWhileItsSecretIsReadIsNotPublished) {
  world_.AddVolume({.csi = kSecretRef});
  world_.AddNode();
  world_.AddSecret("secret");
  world_.AddAttachment({.finalizers = {"foreign.example/x"}});
  world_.WhenArrives("get secrets/secret", [this] {
    world_.RemoveSoon("va1");
    return apiserver::Fault{.delay = milliseconds(100)};
  });
  world_.Start();
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), ElementsAre("GET secrets/secret"));
}

TEST_F(AttachTest, ResyncTriesAFailingAttachmentAtOnce) {
  world_.config.resync = std::chrono::minutes(10);
  world_.config.retry_start = std::chrono::hours(1);
  world_.config.retry_max = std::chrono::hours(1);
  AddUsual();
  world_.driver().FailOnce(kPublish, RpcStatus(13, "one"));
  world_.Start();
  EXPECT_EQ(world_.Calls().size(), 1u);
  world_.Advance(std::chrono::minutes(12));
  EXPECT_EQ(world_.Calls().size(), 2u);
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
}

TEST_F(AttachTest, FailingAttachBacksOffAndKeepsTheFirstAttemptsFinalizer) {  // attacher 6.5
  AddUsual();
  world_.driver().Fail(kPublish, RpcStatus(13, "broken"));
  Duration elapsed = milliseconds(900);
  world_.Start();
  for (const int next : {1, 3, 7}) {
    const size_t before = world_.Calls().size();
    world_.Advance(seconds(next) + milliseconds(-100) - elapsed);
    EXPECT_EQ(world_.Calls().size(), before) << next;
    world_.Advance(milliseconds(200));
    EXPECT_EQ(world_.Calls().size(), before + 1) << next;
    elapsed = seconds(next) + milliseconds(100);
  }
  EXPECT_EQ(world_.Calls().size(), 4u);
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

TEST_F(AttachTest, DriverThatCannotPublishGetsNoCallAndNoVolumesWatched) {
  const oracle::Row row("attacher/15.7/1");
  world_.features.publish_unpublish_volume = false;
  world_.AddAttachment();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kAttached));
  EXPECT_THAT(world_.Watched(), ElementsAre("volumeattachments"));
}

TEST_F(AttachTest, TrivialHandlerMarksAnUpdatedAttachment) {
  const oracle::Row row("attacher/15.7/2");
  world_.features.publish_unpublish_volume = false;
  world_.config.retry_start = std::chrono::hours(1);
  world_.config.retry_max = std::chrono::hours(1);
  world_.AddAttachment();
  world_.Forbid("volumeattachments/va1/status");
  world_.Start();
  world_.Merge<storage::VolumeAttachment>("va1", R"({"metadata":{"annotations":{"a":"b"}}})");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kAttached + trace::kRefused, trace::kAttached));
}

TEST_F(AttachTest, TrivialAttachIsRetried) {
  const oracle::Row row("attacher/15.7/4");
  world_.features.publish_unpublish_volume = false;
  world_.Start();
  world_.Forbid("volumeattachments/va1/status");
  world_.Forbid("volumeattachments/va1/status");
  world_.AddAttachment();
  world_.Advance(seconds(4));
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kAttached + trace::kRefused,
                                          trace::kAttached + trace::kRefused, trace::kAttached));
}

TEST_F(AttachTest, TrivialHandlerLeavesOtherDriversAlone) {
  const oracle::Row row("attacher/15.7/3");
  world_.features.publish_unpublish_volume = false;
  world_.AddAttachment({.attacher = "unknown.example"});
  world_.Start();
  EXPECT_THAT(world_.Trace(), IsEmpty());
}

}  // namespace
}  // namespace csinative::attacher
