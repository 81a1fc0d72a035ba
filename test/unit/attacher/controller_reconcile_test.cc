// SPDX-License-Identifier: Apache-2.0
//
// The comparison with the driver's list and what it forces (attacher 11a, 15.6, 15.11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ListVolumesRequest;
using ::csi::v1::ListVolumesResponse;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Trace = std::vector<std::string>;

const std::string kEmptyStatus = "PATCH volumeattachments/va1/status {}";

class ReconcileTest : public ::testing::Test {
 protected:
  ReconcileTest() {
    world_.features.lists_published_nodes = true;
    world_.config.reconcile_sync = minutes(1);
    world_.config.call_timeout = seconds(15);
    world_.AddVolume();
  }
  // Finalizer and status of one that is attached, with or without the finalizer.
  static AttachmentSpec Attached() { return AttachedBefore(); }
  static AttachmentSpec With(std::vector<std::string> finalizers, bool attached) {
    return {.finalizers = std::move(finalizers), .node_id = "nodeID1", .attached = attached};
  }
  World world_;
};

TEST_F(ReconcileTest, AttachmentThatTheDriverDoesNotListIsPublishedAgain) {
  const oracle::Row row("attacher/15.6/1");
  world_.AddNode();
  world_.AddAttachment(Attached());
  world_.List({});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kPublished, kEmptyStatus));
}

TEST_F(ReconcileTest, NodeIdIsAlsoTheRecordedOne) {
  const oracle::Row row("attacher/15.6/2");
  world_.AddAttachment(With({}, true));
  world_.List({{"handle1", {"nodeID1"}}});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST"));
}

TEST_F(ReconcileTest, DetachedOneThatTheDriverListsIsUnpublished) {
  const oracle::Row row("attacher/15.6/3");
  // Something else holds the object.
  world_.AddAttachment(With({"foreign.example/x"}, false));
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.List({{"handle1", {"nodeID1"}}});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kUnpublished));
}

TEST_F(ReconcileTest, ListedVolumeWithoutAttachmentIsLeftAlone) {
  const oracle::Row row("attacher/15.6/4");
  world_.AddNode();
  world_.List({{"handle1", {"nodeID1"}}});
  world_.Start();
  world_.Advance(minutes(2));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", "LIST", "LIST"));
}

TEST_F(ReconcileTest, AttachmentsOfOtherDriversAreIgnored) {
  const oracle::Row row("attacher/15.6/5");
  world_.RecordLog();
  world_.AddNode();
  AttachmentSpec foreign = Attached();
  foreign.attacher = "unknown.example";
  world_.AddAttachment(foreign);
  world_.List({});
  world_.Start();
  world_.Advance(minutes(2));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", "LIST", "LIST"));
  EXPECT_EQ(world_.Log().find("va1"), std::string::npos) << world_.Log();
}

TEST_F(ReconcileTest, FailedForcedAttachIsTriedAgainByTheNextPassOnly) {
  const oracle::Row row("attacher/15.11/1");
  world_.AddNode();
  world_.AddAttachment(Attached());
  world_.List({});
  world_.driver().Fail(kPublish, RpcStatus(13, "broken"));
  world_.Start();
  const std::string error = trace::StatusPatch(
      R"("attachError":{"errorCode":13,"message":"rpc error: code = Internal desc = broken",)"
      R"("time":"T"})");
  world_.Advance(seconds(50));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kPublished, error));
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
  world_.Advance(seconds(15));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kPublished, error, "LIST",
                                          trace::kPublished, trace::kAttachErrorAgain));
}

TEST_F(ReconcileTest, ListThatEndsWithAnErrorForcesNothing) {
  const oracle::Row row("attacher/15.11/8");
  world_.AddNode();
  world_.AddAttachment(Attached());
  ListVolumesResponse first;
  first.set_next_token("2");
  world_.driver().AnswerOnce(kListVolumes, first);
  world_.driver().FailOnce(kListVolumes, RpcStatus(10, "bad token"));
  world_.List({{"handle1", {"nodeID1"}}});
  world_.RecordLog();
  world_.Start();
  world_.Advance(seconds(70));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", "LIST", "LIST"));
  const auto requests = world_.Requests<ListVolumesRequest>(kListVolumes);
  EXPECT_EQ(requests[0].starting_token(), "");
  EXPECT_EQ(requests[1].starting_token(), "2");
  EXPECT_EQ(requests[2].starting_token(), "");
  EXPECT_NE(world_.Log().find("failed to ListVolumes: failed to list volumes: rpc error: code = "
                              "Aborted desc = bad token"),
            std::string::npos)
      << world_.Log();
}

TEST_F(ReconcileTest, EntryWithoutStatusIsNotListed) {
  const oracle::Row row("attacher/15.11/9");
  world_.AddNode();
  world_.AddAttachment(Attached());
  ListVolumesResponse response;
  response.add_entries()->mutable_volume()->set_volume_id("handle1");
  response.add_entries()->mutable_status()->add_published_node_ids("nodeID1");
  world_.driver().Answer(kListVolumes, response);
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kPublished, kEmptyStatus));
}

TEST_F(ReconcileTest, LaterEntryReplacesAnEarlierOne) {
  world_.AddNode();
  world_.AddAttachment(Attached());
  world_.List({{"handle1", {"nodeID1"}}, {"handle1", {"other"}}});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kPublished, kEmptyStatus));
}

TEST_F(ReconcileTest, EachPageAsksForAsMuchAsTheFlagSays) {
  world_.config.max_entries = 7;
  ListVolumesResponse first;
  first.set_next_token("2");
  world_.driver().AnswerOnce(kListVolumes, first);
  world_.List({});
  world_.Start();
  const auto requests = world_.Requests<ListVolumesRequest>(kListVolumes);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].max_entries(), 7);
  EXPECT_EQ(requests[1].max_entries(), 7);
}

TEST_F(ReconcileTest, OneTimeLimitIsForTheWholeList) {
  world_.AddNode();
  world_.AddAttachment(Attached());
  world_.driver().Handle<ListVolumesRequest, ListVolumesResponse>(
      kListVolumes, [](ListVolumesRequest, ListVolumesResponse* response) -> async::Task<Status> {
        response->set_next_token("more");
        co_return co_await async::Sleep(seconds(4));
      });
  world_.Start();
  world_.Advance(seconds(20));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", "LIST", "LIST", "LIST"));
  world_.Advance(seconds(70));
  EXPECT_EQ(world_.Trace().size(), 8u);
}

TEST_F(ReconcileTest, LiveOneThatTheDriverListsSkipsItsBackOff) {
  world_.config.retry_start = std::chrono::hours(1);
  world_.config.retry_max = std::chrono::hours(1);
  world_.AddNode();
  world_.AddAttachment({.finalizers = {kFinalizer}, .node_id = "nodeID1"});
  world_.driver().FailOnce(kPublish, RpcStatus(13, "lost"));
  world_.List({{"handle1", {"nodeID1"}}});
  world_.Start();
  world_.Advance(seconds(70));
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
}

TEST_F(ReconcileTest, DetachedOneMarkedAttachedIsMarkedDetached) {
  world_.AddNode();
  world_.AddAttachment(With({"foreign.example/x"}, true));
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.List({});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kUnpublished, trace::kDetached));
}

// What changes while the driver thinks may or may not be in its answer.
TEST_F(ReconcileTest, AttachmentThatChangesWhileTheListIsReadIsLeftToTheNextPass) {
  world_.AddNode();
  world_.driver().HandleOnce<ListVolumesRequest, ListVolumesResponse>(
      kListVolumes, [](ListVolumesRequest, ListVolumesResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(seconds(5));
      });
  world_.List({{"handle1", {"nodeID1"}}});
  world_.AddAttachment();
  world_.Start();
  world_.Advance(minutes(3));
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST", trace::kPrepare, trace::kPublished,
                                          trace::kAttached, "LIST", "LIST"));
}

TEST_F(ReconcileTest, TrivialDriverIsNotAskedForItsList) {
  world_.features.publish_unpublish_volume = false;
  world_.AddAttachment();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::kAttached));
}

TEST_F(ReconcileTest, ForceOfAnAttachmentThatGoesIsForgotten) {
  world_.AddNode();
  world_.AddAttachment(Attached());
  world_.config.worker_threads = 1;
  world_.List({});
  // The only worker is busy with another one while the force arrives and the attachment goes.
  world_.driver()
      .HandleOnce<::csi::v1::ControllerPublishVolumeRequest,
                  ::csi::v1::ControllerPublishVolumeResponse>(
          kPublish,
          [](::csi::v1::ControllerPublishVolumeRequest, ::csi::v1::ControllerPublishVolumeResponse*)
              -> async::Task<Status> { co_return co_await async::Sleep(seconds(5)); });
  world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{
      "name":"va0"},"spec":{"attacher":"test.csi.example","nodeName":"node1",
      "source":{"persistentVolumeName":"pv1"}}})");
  world_.Start();
  world_.Merge<storage::VolumeAttachment>("va1", R"({"metadata":{"finalizers":null}})");
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.List({{"handle1", {"nodeID1"}}});
  world_.AddAttachment(Attached());
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.Requests<::csi::v1::ControllerPublishVolumeRequest>(kPublish),
              ::testing::SizeIs(1));
}

// Handles of GCE disks are completed by what the node says of itself (attacher 12.3).
TEST_F(ReconcileTest, HandlesOfMigratedVolumesAreComparedAsTheDriverSaysThem) {
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Merge<core::PersistentVolume>("pv1", R"({"metadata":{"finalizers":null}})");
  world_.AddVolume(kGceDisk);
  constexpr char kNodeId[] = "projects/p/zones/testZone/instances/n";
  world_.AddNode(kDriver, kNodeId);
  AttachmentSpec spec = Attached();
  spec.node_id = kNodeId;
  world_.AddAttachment(spec);
  world_.List({{"projects/p/zones/testZone/disks/testpd", {kNodeId}}});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST"));
  world_.List({});
  world_.Advance(seconds(70));
  EXPECT_THAT(world_.Calls(), Contains("ControllerPublishVolume"));
}

// Their drivers are none of those that replaced in-tree plugins (attacher 12.4).
TEST_F(ReconcileTest, InlineVolumesOfOtherDriversAreNotCompared) {
  world_.AddNode();
  AttachmentSpec spec = Attached();
  spec.source = kInline;
  world_.AddAttachment(spec);
  world_.List({});
  world_.RecordLog();
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre("LIST"));
  EXPECT_NE(world_.Log().find("could not find In-Tree driver name for CSI plugin com.test.foo"),
            std::string::npos)
      << world_.Log();
}

}  // namespace
}  // namespace csinative::attacher
