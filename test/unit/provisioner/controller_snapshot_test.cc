// SPDX-License-Identifier: Apache-2.0
//
// Restores: the finalizer on the snapshot, the content source, and what stays when they fail
// (provisioner 9.4, 15.1, 22.7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "lib/base/strings.h"
#include "test/support/oracle.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using CreateRequest = ::csi::v1::CreateVolumeRequest;

constexpr char kOurs[] = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection";

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    world_.features.create_delete_snapshot = true;
    world_.AddClass();
    AddSnapshot();
  }
  // Snapshot "s" with content "c"; the status as the snapshot controller writes it.
  void AddSnapshot() {
    world_.Add(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",
        "metadata":{"name":"s","namespace":"ns"},
        "spec":{"source":{"persistentVolumeClaimName":"src"}}})");
    const std::string uid = *TextAt(Json("volumesnapshots", "ns", "s"), {"metadata", "uid"});
    world_.Add(StrCat(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotContent",
        "metadata":{"name":"c"},"spec":{"driver":"test-driver","deletionPolicy":"Delete",
        "source":{"volumeHandle":"v"},
        "volumeSnapshotRef":{"name":"s","namespace":"ns","uid":")",
                      uid, R"("}}})"));
    world_.MergeDocument("volumesnapshots", "ns", "s",
                         R"({"status":{"readyToUse":true,"restoreSize":"1000",
                             "boundVolumeSnapshotContentName":"c"}})",
                         "status");
    world_.MergeDocument("volumesnapshotcontents", "", "c",
                         R"({"status":{"snapshotHandle":"sid","readyToUse":true}})", "status");
  }
  rapidjson::Document Json(const std::string& resource, const std::string& ns,
                           const std::string& name) {
    rapidjson::Document document;
    const auto object = world_.api().GetObject("snapshot.storage.k8s.io", resource, ns, name);
    document.Parse(object ? object->json.c_str() : "{}");
    return document;
  }
  bool Protected() { return HasFinalizer(Json("volumesnapshots", "ns", "s"), kOurs); }
  ClaimSpec Restore(const std::string& request = "1000") {
    return {.request = request,
            .extra_spec = R"(,"dataSource":{"apiGroup":"snapshot.storage.k8s.io",
                              "kind":"VolumeSnapshot","name":"s"})"};
  }

  World world_;
};

TEST_F(SnapshotTest, RestoreIsProtectedWhileItRuns) {  // provisioner/22.7/1
  world_.AddClaim(Restore());
  world_.Start();
  EXPECT_THAT(world_.Writes(),
              ElementsAre("PUT /apis/snapshot.storage.k8s.io/v1/namespaces/ns/volumesnapshots/s",
                          "PUT /apis/snapshot.storage.k8s.io/v1/namespaces/ns/volumesnapshots/s",
                          "POST persistentvolumes"));
  EXPECT_FALSE(Protected());
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].volume_content_source().snapshot().snapshot_id(), "sid");
  EXPECT_EQ(
      world_.Counter("controller_persistentvolumeclaim_provision_total", {"sc", "VolumeSnapshot"}),
      1);
}

TEST_F(SnapshotTest, FailedRestoreKeepsTheSnapshot) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim(Restore());
  world_.Start();
  EXPECT_TRUE(Protected());
  world_.Advance(std::chrono::seconds(2));
  EXPECT_FALSE(Protected());
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(SnapshotTest, SmallClaimNeverTouchesTheSnapshot) {  // provisioner/22.7/3
  world_.AddClaim(Restore("100"));
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_THAT(world_.Events(),
              Contains(HasSubstr("error getting handle for DataSource Type VolumeSnapshot by Name "
                                 "s: requested volume size 100 is less than the size")));
}

TEST_F(SnapshotTest, AnswerWithoutContentSourceIsCleanedUp) {  // provisioner/22.7/14
  ::csi::v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id("empty");
  world_.driver().AnswerOnce(kCreateVolume, response);
  world_.AddClaim(Restore());
  world_.Start();
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume", "DeleteVolume"));
  EXPECT_THAT(world_.Events(), Contains(HasSubstr("content source missing")));
}

TEST_F(SnapshotTest, MissingRightToProtectIsTolerated) {
  world_.api().set_fault_hook([](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource == "volumesnapshots" && info.verb == "update") fault.code = 403;
    return fault;
  });
  world_.AddClaim(Restore());
  world_.Start();
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

TEST_F(SnapshotTest, ConflictWhileProtectingIsRetried) {
  bool first = true;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource == "volumesnapshots" && info.verb == "update" && first) {
      first = false;
      fault.code = 409;
      fault.reason = "Conflict";
    }
    return fault;
  });
  world_.AddClaim(Restore());
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  world_.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
}

// Provisioner 15.2, 22.13; field report 29.
class SweepTest : public SnapshotTest {
 protected:
  void Finalizers(const std::string& list) {
    world_.MergeDocument("volumesnapshots", "ns", "s",
                         StrCat(R"({"metadata":{"finalizers":[)", list, "]}}"), "");
  }
  const std::string both_ = StrCat("\"example.com/other\",\"", kOurs, "\"");
};

TEST_F(SweepTest, OrphanIsReleasedAtTheStartAndKeepsOtherFinalizers) {
  const oracle::Row row("provisioner/22.13/4");
  Finalizers(both_);
  world_.Start();
  EXPECT_FALSE(Protected());
  EXPECT_TRUE(HasFinalizer(Json("volumesnapshots", "ns", "s"), "example.com/other"));
}

TEST_F(SweepTest, SnapshotOfAWaitingClaimStaysUntilNoClaimWaits) {
  const oracle::Row row("provisioner/22.13/2");
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim(Restore());
  world_.Start();
  ASSERT_TRUE(Protected());
  world_.Advance(std::chrono::minutes(11));
  EXPECT_TRUE(Protected());
  world_.RemoveClaim("claim");
  world_.Advance(std::chrono::minutes(6));
  EXPECT_FALSE(Protected());
}

TEST_F(SweepTest, BoundClaimDoesNotHoldTheSnapshot) {
  const oracle::Row row("provisioner/22.13/1");
  world_.AddClaim(Restore());
  world_.Start();
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"}, R"({"status":{"phase":"Bound"}})",
                                            "status");
  Finalizers(both_);
  world_.Advance(std::chrono::minutes(6));
  EXPECT_FALSE(Protected());
}

TEST_F(SweepTest, OrphanIsReleasedBesideAnotherSnapshot) {
  const oracle::Row row("provisioner/22.13/6");
  Finalizers(both_);
  world_.Add(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",
      "metadata":{"name":"other","namespace":"ns","finalizers":["example.com/other-finalizer"]},
      "spec":{"source":{"persistentVolumeClaimName":"src"}}})");
  world_.Start();
  EXPECT_FALSE(Protected());
  EXPECT_THAT(world_.Writes(),
              ElementsAre("PUT /apis/snapshot.storage.k8s.io/v1/namespaces/ns/volumesnapshots/s"));
  EXPECT_TRUE(HasFinalizer(Json("volumesnapshots", "ns", "other"), "example.com/other-finalizer"));
}

// A claim that waits for its volume, by dataSource with and without group, and by dataSourceRef.
TEST_F(SweepTest, EveryKindOfReferenceHoldsTheSnapshot) {
  struct Entry {
    std::string row;
    std::string source;
    bool bound_one_too = false;
  };
  const Entry kEntries[] = {
      {"provisioner/22.13/2", R"("dataSource":{"apiGroup":"snapshot.storage.k8s.io",
          "kind":"VolumeSnapshot","name":"s"})"},
      {"provisioner/22.13/3", R"("dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io",
          "kind":"VolumeSnapshot","name":"s","namespace":"ns"})"},
      {"provisioner/22.13/5", R"("dataSource":{"apiGroup":"snapshot.storage.k8s.io",
          "kind":"VolumeSnapshot","name":"s"})",
       true},
  };
  Finalizers(both_);
  world_.config.worker_threads = 0;
  for (const Entry& entry : kEntries) {
    const oracle::Row row(entry.row);
    world_.AddClaim({.name = "waiting", .extra_spec = "," + entry.source});
    if (entry.bound_one_too) {
      world_.AddClaim({.name = "bound", .extra_spec = "," + entry.source});
      world_.Merge<core::PersistentVolumeClaim>({"ns", "bound"}, R"({"status":{"phase":"Bound"}})",
                                                "status");
    }
    world_.Start();
    auto& claims = world_.controller().caches().claims();
    core::PersistentVolumeClaim claim = claims.Get("ns/waiting").value();
    if (claim.spec().datasource().has_apigroup()) {
      // The API server of today does not store it without the group.
      claim.mutable_spec()->mutable_datasource()->clear_apigroup();
      claim.mutable_spec()->clear_datasourceref();
      claims.OverwriteForNow(claim);
    }
    world_.Advance(std::chrono::minutes(6));
    EXPECT_TRUE(Protected());
    world_.RemoveClaim("waiting");
    world_.Stop();
  }
}

TEST_F(SweepTest, DriverWithoutSnapshotsOrClusterWithoutThemIsNotSwept) {
  const oracle::Row row("provisioner/22.13/7");
  size_t lists = 0, discoveries = 0;
  bool installed = false;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource == "volumesnapshots" && info.verb == "list") ++lists;
    if (info.path == "/apis/snapshot.storage.k8s.io/v1") {
      ++discoveries;
      if (!installed) fault.code = 404;
    }
    return fault;
  });
  Finalizers(both_);
  world_.features.create_delete_snapshot = false;
  world_.Start();
  world_.Advance(std::chrono::minutes(6));
  EXPECT_EQ(discoveries + lists, 0u);
  world_.Stop();
  world_.features.create_delete_snapshot = true;
  world_.Start();
  world_.Advance(std::chrono::minutes(6));
  EXPECT_EQ(lists, 0u);
  EXPECT_TRUE(Protected());
  // Upstream has to be started again.
  installed = true;
  world_.Advance(std::chrono::minutes(6));
  EXPECT_FALSE(Protected());
}

// Upstream lets go with the first restore that succeeds (provisioner 23.4).
TEST_F(SnapshotTest, SnapshotIsHeldUntilTheLastOfItsRestoresIsDone) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  world_.AddClaim(Restore());
  world_.Start();
  ClaimSpec second = Restore();
  second.name = "second";
  world_.AddClaim(second);
  world_.Advance(std::chrono::milliseconds(10));
  ASSERT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_TRUE(Protected());
  world_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(world_.Requests<CreateRequest>(kCreateVolume).size(), 3u);
  EXPECT_FALSE(Protected());
}

TEST_F(SnapshotTest, SnapshotIsHeldForADeletedClaimWhoseVolumeIsStillBeingMade) {
  world_.driver().Fail(kCreateVolume, RpcStatus(4, "slow"));
  world_.config.retry_start = std::chrono::minutes(10);
  world_.config.retry_max = std::chrono::minutes(10);
  world_.AddClaim(Restore());
  world_.Start();
  world_.RemoveClaim("claim");
  world_.Advance(std::chrono::minutes(9));
  EXPECT_TRUE(Protected());
  world_.UseGoodDriver();
  world_.Advance(std::chrono::minutes(12));
  EXPECT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_FALSE(Protected());
}

// A namespace that is deleted takes claim, secret and snapshot along, and often goes with its
// class.
TEST_F(SnapshotTest, DeletedRestoreIsDrivenToAnEndWithoutItsClassSecretAndSnapshot) {
  world_.Remove<storage::StorageClass>({"", "sc"});
  world_.AddClass({.parameters =
                       R"({"csi.storage.k8s.io/provisioner-secret-name":"per-namespace",
                       "csi.storage.k8s.io/provisioner-secret-namespace":"${pvc.namespace}",
                       "fstype":"xfs"})"});
  world_.AddSecret("ns", "per-namespace", "key", "aGlkZGVuLXZhbHVl");  // hidden-value
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  const std::string uid = world_.AddClaim(Restore());
  world_.Start();
  ASSERT_TRUE(world_.controller().claim_sync().InProgress(uid));
  ASSERT_TRUE(Protected());
  world_.RemoveDocument("volumesnapshots", "ns", "s");  // held by our finalizer
  world_.Remove<core::Secret>({"ns", "per-namespace"});
  world_.Remove<storage::StorageClass>({"", "sc"});
  world_.RemoveClaim("claim");
  ASSERT_TRUE(Protected());
  world_.Advance(std::chrono::seconds(3));
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].SerializeAsString(), requests[1].SerializeAsString());
  EXPECT_EQ(requests[1].secrets().at("key"), "hidden-value");
  const auto volume = world_.OnlyVolume();
  ASSERT_TRUE(volume.has_value());
  EXPECT_EQ(volume->spec().claimref().uid(), uid);
  EXPECT_EQ(volume->spec().persistentvolumereclaimpolicy(), "Delete");
  EXPECT_EQ(volume->spec().persistentvolumesource().csi().fstype(), "xfs");
  EXPECT_FALSE(Protected());
  EXPECT_FALSE(world_.controller().claim_sync().InProgress(uid));
  EXPECT_THAT(world_.Log(), ::testing::Not(HasSubstr("hidden-value")));
}

TEST_F(SnapshotTest, DeletedRestoreThatIsRefusedInTheEndFreesTheSnapshot) {
  world_.driver().FailOnce(kCreateVolume, RpcStatus(4, "slow"));
  world_.driver().FailOnce(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim(Restore());
  world_.Start();
  world_.Remove<storage::StorageClass>({"", "sc"});
  world_.RemoveClaim("claim");
  world_.Advance(std::chrono::minutes(6));
  EXPECT_EQ(world_.Calls().size(), 2u);
  EXPECT_FALSE(world_.OnlyVolume().has_value());
  EXPECT_FALSE(Protected());
}

TEST_F(SnapshotTest, ClaimThatGotAnotherVolumeDoesNotHoldTheSnapshot) {
  world_.driver().Fail(kCreateVolume, RpcStatus(4, "slow"));
  const std::string uid = world_.AddClaim(Restore());
  world_.Start();
  ASSERT_TRUE(Protected());
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"}, R"({"spec":{"volumeName":"other"}})");
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"}, R"({"status":{"phase":"Bound"}})",
                                            "status");
  world_.Advance(std::chrono::minutes(6));
  EXPECT_TRUE(world_.controller().claim_sync().InProgress(uid));
  EXPECT_FALSE(Protected());
}

TEST_F(SnapshotTest, ForbiddenChangeOfModeIsToldAndTheClaimStaysPending) {
  const oracle::Row row("provisioner/22.7/18");
  world_.MergeDocument("volumesnapshotcontents", "", "c",
                       R"({"spec":{"sourceVolumeMode":"Filesystem"}})", "");
  ClaimSpec claim = Restore();
  claim.volume_mode = "Block";
  world_.AddClaim(claim);
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Events(),
              Contains(HasSubstr("modifies the mode of the source volume but does not have "
                                 "permission to do so")));
  EXPECT_EQ(world_.Find<core::PersistentVolumeClaim>({"ns", "claim"})->status().phase(), "Pending");
}

TEST_F(SweepTest, OtherSnapshotsAreNotWritten) {
  Finalizers("\"example.com/other\"");
  world_.Start();
  world_.Advance(std::chrono::minutes(6));
  EXPECT_THAT(world_.Writes(), IsEmpty());
}

TEST_F(SweepTest, IntervalOfZeroNeverSweeps) {
  world_.config.snapshot_sweep_interval = Duration::zero();
  Finalizers(both_);
  world_.Start();
  world_.Advance(std::chrono::minutes(30));
  EXPECT_TRUE(Protected());
}

TEST_F(SweepTest, MissingRightToListEndsTheSweepQuietly) {
  size_t lists = 0;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource == "volumesnapshots" && info.verb == "list") {
      ++lists;
      fault.code = 403;
    }
    return fault;
  });
  Finalizers(both_);
  world_.Start();
  world_.Advance(std::chrono::minutes(30));
  EXPECT_EQ(lists, 1u);
  EXPECT_TRUE(Protected());
}

}  // namespace
}  // namespace csinative::provisioner
