// SPDX-License-Identifier: Apache-2.0
//
// Detaching, as ordered API requests and CSI calls (attacher 15.2, 15.11).
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
using ::testing::IsEmpty;
using ::testing::SizeIs;
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
  std::string row = "";  // of the oracle, if there is one
  std::string name;
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
  std::optional<oracle::Row> reached;
  if (!row.row.empty()) reached.emplace(row.row);
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
  AttachmentSpec no_source = AttachedBefore();
  no_source.invalid_source = "{}";
  AttachmentSpec two_sources = AttachedBefore();
  two_sources.invalid_source = Inline().source;
  two_sources.invalid_source.insert(1, R"("persistentVolumeName":"pv1",)");
  const std::string no_secret =
      R"(failed to load secret "default/secret": secrets "secret" not found)";
  return {
      {.row = "attacher/15.2/1",
       .name = "D1_attached",
       .expected = {kUnpublished, kRelease, detached}},
      {.row = "attacher/15.2/2",
       .name = "D2_inline",
       .volume = std::nullopt,
       .attachment = Inline(),
       .expected = {kUnpublished, kRelease, detached}},
      {.row = "attacher/15.2/3",
       .name = "D3_secret_and_recorded_node",
       .volume = with_secret,
       .node_driver = "none",
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", "UNPUB handle1 nodeID1 secrets{foo=bar}", kRelease,
                    detached}},
      {.row = "attacher/15.2/4",
       .name = "D4_inline_secret",
       .volume = std::nullopt,
       .attachment = Inline(kSecretRef),
       .node_driver = "none",
       .secret_data = R"({"foo":"YmFy"})",
       .expected = {"GET secrets/secret", "UNPUB handle1 nodeID1 secrets{foo=bar}", kRelease,
                    detached}},
      {.row = "attacher/15.2/5",
       .name = "D5_empty_secret",
       .volume = with_secret,
       .secret_data = "{}",
       .expected = {"GET secrets/secret", kUnpublished, kRelease, detached}},
      {.row = "attacher/15.2/6",
       .name = "D6_inline_empty_secret",
       .volume = std::nullopt,
       .attachment = Inline(kSecretRef),
       .secret_data = "{}",
       .expected = {"GET secrets/secret", kUnpublished, kRelease, detached}},
      {.row = "attacher/15.2/7",
       .name = "D7_secret_missing",
       .volume = with_secret,
       .expected = {"GET secrets/secret -> 404", DetachError(no_secret)}},
      {.row = "attacher/15.2/8",
       .name = "D8_failure_that_is_none_of_grpc",
       .prepare =
           [](World& world) { world.FailPlainlyOnce(kUnpublish, InternalError("mock error")); },
       .time = seconds(2),
       .expected = {kUnpublished, DetachError("mock error"), kUnpublished, kRelease, detached_c}},
      {.name = "driver_fails_once",
       .prepare =
           [](World& world) { world.driver().FailOnce(kUnpublish, RpcStatus(13, "mock error")); },
       .time = seconds(2),
       .expected = {kUnpublished, DetachError("rpc error: code = Internal desc = mock error"),
                    kUnpublished, kRelease, detached_c}},
      {.row = "attacher/15.2/9",
       .name = "D9_deadline_that_is_none_of_grpc",
       .prepare = [](World& world) { world.HangPlainlyOnce(kUnpublish); },
       .time = seconds(2),
       .expected = {kUnpublished, DetachError("context deadline exceeded"), kUnpublished, kRelease,
                    detached_c}},
      {.name = "driver_hangs_once",
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
      {.row = "attacher/15.2/10",
       .name = "D10_never_attached",
       .attachment = {.finalizers = {"foreign.example/x"}},
       .time = seconds(60),
       .expected = {}},
      {.row = "attacher/15.2/11",
       .name = "D11_no_volume",
       .volume = std::nullopt,
       .time = milliseconds(3500),
       .expected = {DetachError("persistentvolume \"pv1\" not found"), kDetachErrorAgain,
                    kDetachErrorAgain}},
      {.row = "attacher/15.2/12",
       .name = "D12_no_volume_and_status_refused_twice",
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
      {.row = "attacher/15.2/13",
       .name = "D13_no_source",
       .attachment = no_source,
       .expected = {DetachError("neither InlineCSIVolumeSource nor PersistentVolumeName specified "
                                "in VA source")}},
      {.row = "attacher/15.2/14",
       .name = "D14_two_sources",
       .attachment = two_sources,
       .expected = {DetachError("both InlineCSIVolumeSource and PersistentVolumeName specified in "
                                "VA source")}},
      {.row = "attacher/15.2/15",
       .name = "D15_no_node_at_all",
       .attachment = without_node,
       .node_driver = "none",
       .expected = {DetachError("csinode.storage.k8s.io \"node1\" not found")}},
      {.row = "attacher/15.2/16",
       .name = "D16_recorded_node",
       .attachment = annotated,
       .node_driver = "none",
       .expected = {"UNPUB handle1 annotatedNodeID", kRelease, detached}},
      {.row = "attacher/15.2/18",
       .name = "D18_gce_disk",
       .volume = kGceDisk,
       .expected = {"UNPUB projects/UNSPECIFIED/zones/testZone/disks/testpd nodeID1", kRelease,
                    detached}},
      {.row = "attacher/15.11/6",
       .name = "csinode_without_driver_and_recorded_node",
       .attachment = annotated,
       .node_driver = "",
       .expected = {"UNPUB handle1 annotatedNodeID", kRelease, detached}},
      {.name = "csinode_wins_over_recorded_node",  // after another one: below
       .attachment = annotated,
       .expected = {kUnpublished, kRelease, detached}},
      {.row = "attacher/15.2/17",
       .name = "D17_finalizer_refused_once",
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
      {.row = "attacher/15.11/2",
       .name = "other_finalizers_stay",
       .attachment = shared,
       .expected = {kUnpublished, Metadata(R"("finalizers":["foreign.example/x"])"), kDetached}},
      {.row = "attacher/15.11/3",
       .name = "publish_never_succeeded_and_nothing_else_holds_it",
       .attachment = {.finalizers = {kFinalizer}, .node_id = "nodeID1"},
       .expected = {kUnpublished, kRelease,
                    StrCat("PATCH volumeattachments/va1/status {}", kGone)}},
      {.row = "attacher/15.11/3",
       .name = "publish_never_succeeded",
       .attachment = never_attached,
       .expected = {kUnpublished, Metadata(R"("finalizers":["foreign.example/x"])"),
                    "PATCH volumeattachments/va1/status {}"}},
      {.row = "attacher/15.11/4",
       .name = "status_refused_after_the_finalizer",
       .attachment = shared,
       .prepare = [](World& world) { world.Forbid("volumeattachments/va1/status", "mock"); },
       .time = seconds(60),
       .expected = {kUnpublished, Metadata(R"("finalizers":["foreign.example/x"])"),
                    kDetached + kRefused, DetachError("could not mark as detached: mock")}},
  };
}

INSTANTIATE_TEST_SUITE_P(Rows, DetachRowTest, ::testing::ValuesIn(Rows()),
                         [](const auto& info) { return info.param.name; });

// The driver answers the next call only then.
void NextUnpublishTakes(World& world, Duration duration) {
  world.driver()
      .HandleOnce<::csi::v1::ControllerUnpublishVolumeRequest,
                  ::csi::v1::ControllerUnpublishVolumeResponse>(
          kUnpublish,
          [duration](::csi::v1::ControllerUnpublishVolumeRequest,
                     ::csi::v1::ControllerUnpublishVolumeResponse*) -> async::Task<Status> {
            co_return co_await async::Sleep(duration);
          });
}

TEST(DetachTest, NodeIdThatChangedIsRecordedAndThenCounts) {
  const oracle::Row row("attacher/15.11/5");
  World world;
  world.AddVolume();
  world.AddNode();
  world.AddAttachment({.finalizers = {kFinalizer}, .node_id = "old"});
  world.Start();
  world.Merge<storage::VolumeAttachment>(
      "va1", R"({"metadata":{"annotations":{"csi.alpha.kubernetes.io/node-id":"older"}}})");
  world.Remove<storage::VolumeAttachment>("va1");
  world.Settle();
  EXPECT_THAT(
      world.Trace(),
      ElementsAre(trace::Metadata(R"("annotations":{"csi.alpha.kubernetes.io/node-id":"nodeID1"})"),
                  trace::kPublished, trace::kAttached, trace::kUnpublished, trace::kRelease,
                  trace::kDetached + trace::kGone));
}

TEST(DetachTest, FinalizerIsRemovedFromTheVersionThatWasSeen) {
  World world;
  world.AddVolume();
  world.AddNode();
  world.AddAttachment(AttachedBefore());
  world.Start();
  world.Remove<storage::VolumeAttachment>("va1");
  const auto going = world.Find<storage::VolumeAttachment>("va1");
  ASSERT_TRUE(going.has_value());
  world.Settle();
  EXPECT_THAT(world.Preconditions(), ElementsAre(going->metadata().resourceversion()));
}

// Somebody changes the attachment at the moment in which its finalizer is taken off.
void ChangeBeforeTheRelease(World& world) {
  world.AddVolume();
  world.AddNode();
  world.AddAttachment(AttachedBefore());
  world.Start();
  world.WhenArrives("patch volumeattachments/va1", [&world] {
    world.AnnotateSoon("va1");
    return apiserver::Fault{.delay = milliseconds(20)};
  });
}

TEST(DetachTest, ConflictAtTheFinalizerIsNoReasonToUnpublishAgain) {
  World world;
  ChangeBeforeTheRelease(world);
  world.Remove<storage::VolumeAttachment>("va1");
  world.Advance(seconds(60));
  EXPECT_THAT(world.Trace(), ElementsAre(trace::kUnpublished, trace::kRelease + trace::kConflict,
                                         "GET volumeattachments/va1", trace::kRelease,
                                         trace::kDetached + trace::kGone));
}

TEST(DetachTest, ConflictIsTriedAgainWhereAttachmentsCannotBeRead) {
  World world;
  ChangeBeforeTheRelease(world);
  world.WhenArrives("get volumeattachments/va1", [] { return apiserver::Fault{.code = 403}; });
  world.Remove<storage::VolumeAttachment>("va1");
  world.Advance(seconds(60));
  EXPECT_THAT(world.Trace(), ElementsAre(trace::kUnpublished, trace::kRelease + trace::kConflict,
                                         "GET volumeattachments/va1 -> 403", trace::kUnpublished,
                                         trace::kRelease, trace::kDetached + trace::kGone));
}

TEST(DetachTest, FinalizerThatSomebodyElseTookOffIsNoReasonToUnpublishAgain) {
  World world;
  world.AddVolume();
  world.AddNode();
  AttachmentSpec shared = AttachedBefore();
  shared.finalizers = {kFinalizer, "foreign.example/x"};
  world.AddAttachment(shared);
  world.config.call_timeout = seconds(15);
  NextUnpublishTakes(world, seconds(5));
  world.Start();
  world.Remove<storage::VolumeAttachment>("va1");
  world.Settle();
  world.HoldCaches(true);
  world.Merge<storage::VolumeAttachment>("va1",
                                         R"({"metadata":{"finalizers":["foreign.example/x"]}})");
  world.Advance(seconds(60));
  EXPECT_THAT(world.Requests<::csi::v1::ControllerUnpublishVolumeRequest>(kUnpublish), SizeIs(1));
  EXPECT_FALSE(world.Find<storage::VolumeAttachment>("va1")->status().attached());
}

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
  NextUnpublishTakes(world, seconds(60));
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
