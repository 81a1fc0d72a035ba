// SPDX-License-Identifier: Apache-2.0
//
// What users of the original ran into, as public reports tell it (docs/compatibility.md names
// them). Each scenario ends with what must happen here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/clone_source.h"
#include "cmd/provisioner/pv_finalizers.h"
#include "test/unit/provisioner/report_fixture.h"

namespace csinative::provisioner {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;
using DeleteRequest = ::csi::v1::DeleteVolumeRequest;

constexpr char kSnapshotFinalizer[] =
    "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection";

// external-provisioner#1465
TEST_F(FieldReport, RetriesAskForTheSameTopology) {
  AddZones();
  world_.driver().FailOnce(kCreateVolume, RpcStatus(10, "busy"));
  world_.driver().FailOnce(kCreateVolume, RpcStatus(10, "busy"));
  world_.AddClass(late_);
  world_.AddClaim({.selected_node = "z3a"});
  world_.Start();
  // Labels change between the tries.
  world_.Merge<core::Node>({"", "z1a"}, R"({"metadata":{"labels":{"zone":"z9"}}})");
  world_.Advance(seconds(5));
  const auto requests = Creates();
  ASSERT_EQ(requests.size(), 3u);
  for (const CreateRequest& request : requests) {
    EXPECT_EQ(request.accessibility_requirements().SerializeAsString(),
              requests[0].accessibility_requirements().SerializeAsString());
  }
  const auto& requirements = requests[0].accessibility_requirements();
  EXPECT_THAT(Zones(requirements.requisite()), ElementsAre("z1", "z2", "z3"));
  EXPECT_THAT(Zones(requirements.preferred()), ElementsAre("z3", "z1", "z2"));
}

// external-provisioner#311
TEST_F(FieldReport, SlowVolumeOfADeletedClaimLeavesNothing) {
  const auto slow = [](CreateRequest, CreateResponse*) -> async::Task<Status> {
    co_return co_await async::Sleep(std::chrono::hours(1));
  };
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(kCreateVolume, slow);
  world_.driver().HandleOnce<CreateRequest, CreateResponse>(kCreateVolume, slow);
  world_.AddClass();
  const std::string uid = world_.AddClaim();
  world_.Start();
  world_.Advance(seconds(10));  // the second try runs
  ASSERT_EQ(Creates().size(), 2u);
  world_.RemoveClaim("claim");
  world_.Advance(seconds(10));
  const auto requests = Creates();
  ASSERT_EQ(requests.size(), 3u);
  for (const CreateRequest& request : requests) EXPECT_EQ(request.name(), "pvc-" + uid);
  LoseClaim("pvc-" + uid);
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].volume_id(), "test-volume-id");
  EXPECT_FALSE(Exists("pvc-" + uid));
}

// external-provisioner#546, #195
TEST_F(FieldReport, VolumeThatIsDeletedBeforeItsClaimIsNotLost) {
  for (const std::string policy : {"Delete", "Retain"}) {
    SCOPED_TRACE(policy);
    World world;
    world.AddClass({.reclaim_policy = policy});
    const std::string name = "pvc-" + world.AddClaim();
    world.Start();
    world.Bind(name);
    world.Settle();
    world.Remove<core::PersistentVolume>({"", name});
    world.Settle();
    EXPECT_EQ(world.Requests<DeleteRequest>(kDeleteVolume).size(), 0u);
    world.RemoveClaim("claim");
    world.Release(name);
    world.Advance(minutes(20));
    EXPECT_EQ(world.Requests<DeleteRequest>(kDeleteVolume).size(), policy == "Delete" ? 1u : 0u);
    const auto left = world.Find<core::PersistentVolume>({"", name});
    if (left) {
      EXPECT_FALSE(HasVolumeFinalizer(*left));
    }
  }
}

// sig-storage-lib-external-provisioner#121, kubernetes#100485, azuredisk#1475
TEST_F(FieldReport, NodeThatVanishesBetweenTwoFinalFailuresIsGivenUp) {
  AddZones();
  world_.driver().FailOnce(kCreateVolume, RpcStatus(13, "first"));
  world_.AddClass(late_);
  world_.AddClaim({.selected_node = "z2a"});
  world_.Start();
  ASSERT_EQ(Creates().size(), 1u);
  RemoveNode("z2a");
  world_.Advance(seconds(3));
  EXPECT_FALSE(HasSelectedNodeNow());
  EXPECT_EQ(Creates().size(), 1u);
  EXPECT_THAT(world_.Events(), Contains(HasSubstr("failed to get selected CSINode z2a")));
}

// external-provisioner#1437, sig-storage-lib-external-provisioner#152
TEST_F(FieldReport, NodeThatVanishesDuringACreationIsGivenUpOnlyWhenTheDriverSaysNo) {
  for (const bool succeeds : {true, false}) {
    SCOPED_TRACE(succeeds);
    World world;
    world.features.accessibility_constraints = true;
    world.Add(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"zone":"z"}}})");
    world.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n"},
        "spec":{"drivers":[{"name":"test-driver","nodeID":"x","topologyKeys":["zone"]}]}})");
    world.driver().FailOnce(kCreateVolume, RpcStatus(10, "busy"));
    world.driver().FailOnce(kCreateVolume, RpcStatus(succeeds ? 10 : 13, "second"));
    world.AddClass(late_);
    world.AddClaim({.selected_node = "n"});
    world.Start();
    world.Remove<storage::CSINode>({"", "n"});
    world.Remove<core::Node>({"", "n"});
    world.Advance(seconds(10));
    const auto requests = world.Requests<CreateRequest>(kCreateVolume);
    ASSERT_EQ(requests.size(), succeeds ? 3u : 2u);
    EXPECT_EQ(requests[0].SerializeAsString(), requests.back().SerializeAsString());
    EXPECT_EQ(world.OnlyVolume().has_value(), succeeds);
    const auto claim = world.Find<core::PersistentVolumeClaim>({"ns", "claim"});
    EXPECT_EQ(HasSelectedNode(*claim), succeeds);
  }
}

// external-provisioner#1507
class RestoreReport : public FieldReport {
 protected:
  RestoreReport() {
    world_.features.create_delete_snapshot = true;
    world_.AddClass();
    world_.Add(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",
        "metadata":{"name":"s","namespace":"ns"},
        "spec":{"source":{"persistentVolumeClaimName":"src"}}})");
    world_.Add(StrCat(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotContent",
        "metadata":{"name":"c"},"spec":{"driver":"test-driver","deletionPolicy":"Delete",
        "source":{"volumeHandle":"v"},"volumeSnapshotRef":{"name":"s","namespace":"ns","uid":")",
                      *TextAt(Snapshot(), {"metadata", "uid"}), R"("}}})"));
    world_.MergeDocument("volumesnapshots", "ns", "s", R"({"status":{"readyToUse":true,
        "boundVolumeSnapshotContentName":"c"}})",
                         "status");
    world_.MergeDocument("volumesnapshotcontents", "", "c",
                         R"({"status":{"snapshotHandle":"sid"}})", "status");
  }
  rapidjson::Document Snapshot() {
    rapidjson::Document document;
    document.Parse(world_.api()
                       .GetObject("snapshot.storage.k8s.io", "volumesnapshots", "ns", "s")
                       ->json.c_str());
    return document;
  }
  bool IsProtected() { return HasFinalizer(Snapshot(), kSnapshotFinalizer); }

  const ClaimSpec restore_{.extra_spec = R"(,"dataSource":{"apiGroup":"snapshot.storage.k8s.io",
      "kind":"VolumeSnapshot","name":"s"})"};
};

TEST_F(RestoreReport, SnapshotIsFreedAfterADeathInTheMiddle) {
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim(restore_);
  world_.Start();
  world_.Stop();
  ASSERT_TRUE(IsProtected());
  world_.RemoveClaim("claim");
  world_.Start();
  EXPECT_FALSE(IsProtected());
}

TEST_F(RestoreReport, SnapshotIsFreedWhenTheRemovalWasRefusedOnce) {
  size_t updates = 0;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.resource != "volumesnapshots" || info.verb != "update") return fault;
    if (++updates == 2) fault.code = 500;
    return fault;
  });
  const std::string uid = world_.AddClaim(restore_);
  world_.Start();
  EXPECT_TRUE(Exists("pvc-" + uid));
  world_.Bind("pvc-" + uid);
  world_.Advance(minutes(6));
  EXPECT_FALSE(IsProtected());
}

TEST_F(RestoreReport, SnapshotIsNeverFreedWhileAClaimWaits) {
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "no"));
  world_.AddClaim(restore_);
  world_.Start();
  for (int i = 0; i < 30; ++i) {
    world_.Advance(minutes(1));
    EXPECT_TRUE(IsProtected());
  }
}

// external-provisioner#414, ibm-spectrum-scale-csi#843
TEST_F(FieldReport, SourceOfClonesIsFreedByANewProcess) {
  world_.features.clone_volume = true;
  world_.AddClass();
  const std::string uid = world_.AddClaim({.name = "src"});
  world_.Start();
  world_.Bind("pvc-" + uid, {.name = "src"});
  world_.driver().Fail(kCreateVolume, RpcStatus(13, "later"));
  world_.AddClaim({.name = "clone",
                   .extra_spec = R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"src"})"});
  world_.Settle();
  world_.RemoveClaim("src");
  world_.Advance(minutes(1));
  const auto source = world_.Find<core::PersistentVolumeClaim>({"ns", "src"});
  ASSERT_TRUE(source && HasCloneFinalizer(*source));
  world_.Stop();
  world_.RemoveClaim("clone");
  world_.Start();
  EXPECT_FALSE(world_.Find<core::PersistentVolumeClaim>({"ns", "src"}).has_value());
}

// external-provisioner#1097, kubernetes#121799
TEST_F(FieldReport, VolumeMadeByHandNeverStaysForOurFinalizer) {
  for (const std::string driver : {"test-driver", "another"}) {
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")",
                      driver,
                      R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy":"Delete","claimRef":{"kind":"PersistentVolumeClaim",
        "namespace":"ns","name":"c","uid":"u"},"csi":{"volumeHandle":"h","driver":")",
                      driver, R"("}}})"));
    world_.Merge<core::PersistentVolume>({"", driver}, R"({"status":{"phase":"Bound"}})", "status");
  }
  world_.Start();
  EXPECT_TRUE(HasVolumeFinalizer(*world_.Find<core::PersistentVolume>({"", "test-driver"})));
  EXPECT_FALSE(HasVolumeFinalizer(*world_.Find<core::PersistentVolume>({"", "another"})));
  for (const std::string driver : {"test-driver", "another"}) {
    LoseClaim(driver);
    if (Exists(driver)) world_.Remove<core::PersistentVolume>({"", driver});
    DropFinalizer(driver, "kubernetes.io/pv-protection");
    world_.Settle();
    EXPECT_FALSE(Exists(driver)) << driver;
  }
}

// external-provisioner#1235, #176, kubernetes#84226
TEST_F(FieldReport, AttachedVolumeIsDeletedOnceAndOnlyAfterItsDetachment) {
  world_.features.publish_unpublish_volume = true;
  world_.AddClass();
  const std::string name = "pvc-" + world_.AddClaim();
  world_.Start();
  world_.Bind(name);
  world_.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",
      "metadata":{"name":"va"},"spec":{"attacher":"test-driver","nodeName":"n",
      "source":{"persistentVolumeName":")",
                    name, R"("}}})"));
  world_.RemoveClaim("claim");
  world_.Release(name);
  for (int i = 0; i < 30; ++i) {
    world_.Merge<core::PersistentVolume>(
        {"", name}, StrCat(R"({"metadata":{"labels":{"tick":")", i, R"("}}})"));
    world_.Advance(seconds(1));
    ASSERT_EQ(Deletes().size(), 0u);
  }
  world_.Remove<storage::VolumeAttachment>({"", "va"});
  for (int i = 0; i < 10 && Exists(name); ++i) {
    world_.Merge<core::PersistentVolume>(
        {"", name}, StrCat(R"({"metadata":{"labels":{"tock":")", i, R"("}}})"));
    world_.Advance(milliseconds(100));
  }
  world_.Advance(minutes(20));
  EXPECT_EQ(Deletes().size(), 1u);
}

// external-provisioner#330, #53
TEST_F(FieldReport, SecretOfADeletedClassIsStillFound) {
  for (const bool secret_exists : {true, false}) {
    SCOPED_TRACE(secret_exists);
    World world;
    world.AddSecret("ns", "s", "k", "dmFs");
    world.AddClass({.parameters = R"({"csi.storage.k8s.io/provisioner-secret-name":"s",
        "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})"});
    const std::string name = "pvc-" + world.AddClaim();
    world.Start();
    world.Bind(name);
    world.Remove<storage::StorageClass>({"", "sc"});
    if (!secret_exists) world.Remove<core::Secret>({"ns", "s"});
    world.RemoveClaim("claim");
    world.Release(name);
    world.Settle();
    const auto deletes = world.Requests<DeleteRequest>(kDeleteVolume);
    ASSERT_EQ(deletes.size(), 1u);
    EXPECT_EQ(deletes[0].secrets().size(), secret_exists ? 1u : 0u);
  }
}

// sig-storage-lib-external-provisioner PR 103
TEST_F(FieldReport, ChangeDuringARetryIsNeverLost) {
  // The claim changes at any moment around the second try, which runs from 1 s to 3 s.
  for (int at = 100; at < 3500; at += 170) {
    SCOPED_TRACE(at);
    World world;
    world.driver().FailOnce(kCreateVolume, RpcStatus(13, "first"));
    world.driver().HandleOnce<CreateRequest, CreateResponse>(
        kCreateVolume, [](CreateRequest, CreateResponse*) -> async::Task<Status> {
          CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(2)));
          co_return RpcStatus(13, "second");
        });
    world.config.extra_create_metadata = true;
    world.AddSecret("ns", "s-old", "k", "b2xk");
    world.AddSecret("ns", "s-new", "k", "bmV3");
    world.AddClass(
        {.parameters = R"({"csi.storage.k8s.io/provisioner-secret-name":"s-${pvc.annotations['v']}",
        "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})"});
    world.AddClaim({.annotations = R"(,"v":"old")"});
    world.Start();  // takes 900 ms
    if (at > 900) world.Advance(milliseconds(at - 900));
    world.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                             R"({"metadata":{"annotations":{"v":"new"}}})");
    world.Advance(seconds(20));
    const auto requests = world.Requests<CreateRequest>(kCreateVolume);
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_EQ(requests.back().secrets().at("k"), "new");
    EXPECT_TRUE(world.OnlyVolume().has_value());
  }
}

// external-provisioner#1277
TEST_F(FieldReport, MissingRightToPatchVolumesIsNamedAndHealsByItself) {
  bool allowed = false;
  const std::string text =
      R"(persistentvolumes "pv" is forbidden: User "provisioner" cannot patch resource "persistentvolumes")";
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "patch" &&
        info.resource == "persistentvolumes" && !allowed) {
      fault.code = 403;
      fault.message = text;
    }
    return fault;
  });
  world_.AddClass();
  const std::string name = "pvc-" + world_.AddClaim();
  world_.Start();
  world_.Bind(name);
  world_.RemoveClaim("claim");
  LoseClaim(name);
  world_.Advance(minutes(5));
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_THAT(world_.Log(), HasSubstr("Failed to remove the finalizer"));
  EXPECT_THAT(world_.Log(), HasSubstr("cannot patch resource \\\"persistentvolumes\\\""));
  EXPECT_TRUE(Exists(name));
  allowed = true;
  world_.Advance(minutes(6));
  EXPECT_FALSE(Exists(name));
  EXPECT_EQ(Deletes().size(), 1u);
}

// external-provisioner#150, #221
TEST_F(FieldReport, SelectedZoneComesFirst) {
  for (const bool strict : {false, true}) {
    for (int order = 0; order < 20; ++order) {
      World world;
      world.features.accessibility_constraints = true;
      world.config.topology.strict = strict;
      // The order in which nodes come does not matter.
      for (int i = 0; i < 3; ++i) {
        const std::string zone = StrCat("z", (i * (order % 2 + 1) + order) % 3 + 1);
        world.Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n-)", zone,
                         R"(","labels":{"zone":")", zone, R"("}}})"));
        world.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode",
            "metadata":{"name":"n-)",
                         zone, R"("},"spec":{"drivers":[{"name":"test-driver","nodeID":"x",
            "topologyKeys":["zone"]}]}})"));
      }
      world.AddClass(late_);
      world.AddClaim({.selected_node = "n-z2"});
      world.Start();
      const auto requests = world.Requests<CreateRequest>(kCreateVolume);
      ASSERT_EQ(requests.size(), 1u);
      const auto& requirements = requests[0].accessibility_requirements();
      if (strict) {
        EXPECT_THAT(Zones(requirements.requisite()), ElementsAre("z2"));
        EXPECT_THAT(Zones(requirements.preferred()), ElementsAre("z2"));
      } else {
        EXPECT_THAT(Zones(requirements.requisite()), ElementsAre("z1", "z2", "z3"));
        EXPECT_THAT(Zones(requirements.preferred()), ElementsAre("z2", "z3", "z1"));
      }
    }
  }
}

// external-provisioner#517, #143
TEST_F(FieldReport, ClaimsOfAStatefulSetAreSpreadOverTheZones) {
  AddZones();
  world_.AddClass();
  std::map<std::string, std::string> zone_of;  // claim, its first choice
  world_.Start();
  for (const std::string tmpl : {"data", "logs"}) {
    for (int i = 0; i < 9; ++i) {
      const std::string name = StrCat(tmpl, "-web-", i);
      world_.AddClaim({.name = name});
      world_.Settle();
      zone_of[name] = Zones(Creates().back().accessibility_requirements().preferred())[0];
    }
  }
  for (int i = 0; i < 9; ++i) {
    const std::string here = zone_of[StrCat("data-web-", i)];
    EXPECT_EQ(here, zone_of[StrCat("logs-web-", i)]);
    if (i + 1 < 9) {
      const int next = (here[1] - '1' + 1) % 3 + 1;
      EXPECT_EQ(zone_of[StrCat("data-web-", i + 1)], StrCat("z", next));
    }
  }
}

}  // namespace
}  // namespace csinative::provisioner
