// SPDX-License-Identifier: Apache-2.0
//
// Volumes that lose their claim: finalizers and deletion by reclaim policy (provisioner 13, 22.10,
// 22.14).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/oracle.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using DeleteRequest = ::csi::v1::DeleteVolumeRequest;

constexpr char kDeleted[] = "controller_persistentvolume_delete_total";
constexpr char kDeleteFailed[] = "controller_persistentvolume_delete_failed_total";
constexpr char kOurs[] = "external-provisioner.volume.kubernetes.io/finalizer";

struct VolumeSpec {
  std::string name = "pv";
  std::string policy = "Delete";
  std::string phase = "Released";
  std::vector<std::string> finalizers = {"kubernetes.io/pv-protection", kOurs};
  std::string annotations = R"("pv.kubernetes.io/provisioned-by":"test-driver",
      "volume.kubernetes.io/provisioner-deletion-secret-name":"",
      "volume.kubernetes.io/provisioner-deletion-secret-namespace":"")";
  std::string klass = "";
  std::string driver = "test-driver";
  std::string claim_ref = R"({"kind":"PersistentVolumeClaim","namespace":"ns","name":"c",
      "uid":"u"})";
};

class DeleteTest : public ::testing::Test {
 protected:
  void AddVolume(const VolumeSpec& spec = {}) {
    std::vector<std::string> finalizers;
    for (const std::string& finalizer : spec.finalizers)
      finalizers.push_back(JsonString(finalizer));
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":)",
                      JsonString(spec.name), R"(,"annotations":{)", spec.annotations,
                      R"(},"finalizers":[)", Join(finalizers, ","),
                      R"(]},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
                      "persistentVolumeReclaimPolicy":)",
                      JsonString(spec.policy), R"(,"storageClassName":)", JsonString(spec.klass),
                      spec.claim_ref.empty() ? "" : R"(,"claimRef":)", spec.claim_ref,
                      R"(,"csi":{"driver":)", JsonString(spec.driver),
                      R"(,"volumeHandle":"handle"}}})"));
    world_.Merge<core::PersistentVolume>(
        {"", spec.name}, StrCat(R"({"status":{"phase":)", JsonString(spec.phase), "}}"), "status");
  }
  // What the protection controller of the control plane does once nothing uses the volume.
  void Unprotect(const std::string& name = "pv") {
    auto volume = world_.Find<core::PersistentVolume>({"", name});
    ASSERT_TRUE(volume.has_value());
    std::vector<std::string> kept;
    for (const std::string& finalizer : volume->metadata().finalizers()) {
      if (finalizer != "kubernetes.io/pv-protection") kept.push_back(JsonString(finalizer));
    }
    world_.Merge<core::PersistentVolume>(
        {"", name}, StrCat(R"({"metadata":{"finalizers":[)", Join(kept, ","), "]}}"));
  }
  std::vector<std::string> Finalizers(const std::string& name = "pv") {
    auto volume = world_.Find<core::PersistentVolume>({"", name});
    if (!volume) return {"gone"};
    return {volume->metadata().finalizers().begin(), volume->metadata().finalizers().end()};
  }
  std::vector<DeleteRequest> Deletes() { return world_.Requests<DeleteRequest>(kDeleteVolume); }

  World world_;
};

TEST_F(DeleteTest, ReleasedVolumeIsDeletedOnceAndItsObjectReleased) {
  const oracle::Row row("provisioner/22.14/33");
  AddVolume();
  world_.Start();
  Unprotect();
  world_.Advance(minutes(20));
  EXPECT_THAT(world_.Calls(), ElementsAre("DeleteVolume"));
  EXPECT_EQ(Deletes()[0].volume_id(), "handle");
  EXPECT_TRUE(Deletes()[0].secrets().empty());
  EXPECT_THAT(world_.Writes(),
              ElementsAre("DELETE persistentvolumes/pv", "PATCH persistentvolumes/pv"));
  EXPECT_THAT(Finalizers(), ElementsAre("gone"));
  EXPECT_EQ(world_.Counter(kDeleted, {""}), 1);
  EXPECT_EQ(world_.controller().volume_sync().remembered(), 0u);
}

TEST_F(DeleteTest, VolumeThatIsTerminatingAlreadyIsDeletedToo) {
  const oracle::Row row("provisioner/22.14/33");
  AddVolume();
  world_.Remove<core::PersistentVolume>({"", "pv"});
  world_.Start();
  EXPECT_EQ(Deletes().size(), 1u);
  Unprotect();
  EXPECT_THAT(Finalizers(), ElementsAre("gone"));
}

TEST_F(DeleteTest, TerminatingVolumeWithoutOurFinalizerIsLeftAlone) {
  const oracle::Row row("provisioner/22.14/32");
  AddVolume({.finalizers = {"kubernetes.io/pv-protection"}});
  world_.Remove<core::PersistentVolume>({"", "pv"});
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_EQ(world_.Counter(kDeleted, {""}), 0);
}

TEST_F(DeleteTest, OnlyReleasedVolumesOfOursWithPolicyDeleteGo) {
  const oracle::Row row("provisioner/22.14/8");
  AddVolume({.name = "bound", .phase = "Bound"});
  AddVolume({.name = "failed", .phase = "Failed"});
  AddVolume({.name = "available", .phase = "Available"});
  AddVolume({.name = "foreign", .annotations = R"("pv.kubernetes.io/provisioned-by":"other")"});
  AddVolume({.name = "static-foreign", .annotations = "", .driver = "other"});
  world_.Start();
  world_.Advance(minutes(16));
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_EQ(world_.Counter(kDeleted, {""}) + world_.Counter(kDeleteFailed, {""}), 0);
}

TEST_F(DeleteTest, FailedVolumeThatSomebodyDeletesGoes) {
  AddVolume({.phase = "Failed"});
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  world_.Remove<core::PersistentVolume>({"", "pv"});
  world_.Settle();
  EXPECT_EQ(Deletes().size(), 1u);
  Unprotect();
  world_.Settle();
  EXPECT_THAT(Finalizers(), ElementsAre("gone"));
  EXPECT_EQ(Deletes().size(), 1u);
}

TEST_F(DeleteTest, AvailableVolumeThatSomebodyDeletesGoesAndItsStorageStays) {
  AddVolume({.phase = "Available", .claim_ref = ""});
  world_.Start();
  EXPECT_THAT(world_.Writes(), IsEmpty());
  world_.Remove<core::PersistentVolume>({"", "pv"});
  world_.Settle();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(Finalizers(), ElementsAre("kubernetes.io/pv-protection"));
  Unprotect();
  world_.Settle();
  EXPECT_THAT(Finalizers(), ElementsAre("gone"));
  EXPECT_THAT(world_.Writes(), ElementsAre("PATCH persistentvolumes/pv"));
}

TEST_F(DeleteTest, OtherPhasesKeepTheObjectOfAVolumeThatSomebodyDeletes) {
  AddVolume({.name = "bound", .phase = "Bound"});
  AddVolume({.name = "reserved", .phase = "Available"});
  AddVolume({.name = "unclaimed", .phase = "Failed", .claim_ref = ""});
  for (const char* name : {"bound", "reserved", "unclaimed"}) {
    world_.Remove<core::PersistentVolume>({"", name});
  }
  world_.Start();
  world_.Advance(minutes(16));
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
}

TEST_F(DeleteTest, OfTwoReleasedVolumesOnlyTheOwnOneGoes) {
  const oracle::Row row("provisioner/22.14/5");
  AddVolume({.name = "own"});
  AddVolume({.name = "foreign", .annotations = R"("pv.kubernetes.io/provisioned-by":"other")"});
  world_.Start();
  Unprotect("own");
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_THAT(Finalizers("own"), ElementsAre("gone"));
  EXPECT_THAT(Finalizers("foreign"), Contains(kOurs));
  EXPECT_EQ(world_.Counter(kDeleted, {""}), 1);
}

// Finalizers before and after one look at the volume.
struct FinalizerCase {
  std::string row;
  std::string policy;  // Retain: ours is taken off; Delete: it is put on
  std::vector<std::string> before;
  std::vector<std::string> after;
  size_t writes;
};

class FinalizerTest : public DeleteTest, public ::testing::WithParamInterface<FinalizerCase> {};

TEST_P(FinalizerTest, OursIsPutOnAndTakenOff) {
  const FinalizerCase& c = GetParam();
  const oracle::Row row(c.row);
  AddVolume({.policy = c.policy, .phase = "Bound"});
  std::vector<std::string> quoted;
  for (const std::string& finalizer : c.before) quoted.push_back(JsonString(finalizer));
  world_.Merge<core::PersistentVolume>(
      {"", "pv"}, StrCat(R"({"metadata":{"finalizers":[)", Join(quoted, ","), "]}}"));
  world_.Start();
  EXPECT_EQ(world_.Writes().size(), c.writes);
  EXPECT_EQ(Finalizers(), c.after);
  EXPECT_THAT(world_.Calls(), IsEmpty());
}

constexpr char kDummy[] = "example.com/dummy";

INSTANTIATE_TEST_SUITE_P(
    Rows, FinalizerTest,
    ::testing::Values(FinalizerCase{"provisioner/22.16/14", "Retain", {kOurs}, {}, 1},
                      FinalizerCase{"provisioner/22.16/15", "Retain", {kDummy}, {kDummy}, 0},
                      FinalizerCase{"provisioner/22.16/16", "Retain", {kDummy, kOurs}, {kDummy}, 1},
                      FinalizerCase{"provisioner/22.16/17", "Retain", {}, {}, 0},
                      FinalizerCase{"provisioner/22.16/18", "Delete", {kOurs}, {kOurs}, 0},
                      FinalizerCase{"provisioner/22.16/19", "Delete", {}, {kOurs}, 1},
                      FinalizerCase{"provisioner/22.16/20", "Delete", {kDummy}, {kDummy, kOurs}, 1},
                      FinalizerCase{
                          "provisioner/22.14/31", "Retain", {kDummy, kOurs}, {kDummy}, 1}));

// Upstream's patch says null, and takes along what others have put on since its cache was filled.
TEST_F(DeleteTest, FinalizersThatOthersPutOnMeanwhileStay) {
  AddVolume({.policy = "Retain", .phase = "Bound"});
  world_.Merge<core::PersistentVolume>({"", "pv"},
                                       StrCat(R"({"metadata":{"finalizers":[")", kOurs, "\"]}}"));
  bool first = true;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "patch" && first) {
      first = false;
      fault.delay = seconds(2);
    }
    return fault;
  });
  world_.Start();
  world_.Merge<core::PersistentVolume>(
      {"", "pv"}, StrCat(R"({"metadata":{"finalizers":[")", kOurs, "\",\"", kDummy, "\"]}}"));
  world_.Advance(seconds(5));
  EXPECT_THAT(Finalizers(), ElementsAre(kDummy));
}

TEST_F(DeleteTest, RetainedVolumeLosesTheFinalizerAndStays) {
  const oracle::Row row("provisioner/22.14/9");
  AddVolume({.policy = "Retain"});
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), ElementsAre("PATCH persistentvolumes/pv"));
  EXPECT_THAT(Finalizers(), ElementsAre("kubernetes.io/pv-protection"));
}

TEST_F(DeleteTest, BoundStaticVolumeGetsTheFinalizer) {
  const oracle::Row row("provisioner/22.14/37");
  AddVolume({.phase = "Bound", .finalizers = {"kubernetes.io/pv-protection"}, .annotations = ""});
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), ElementsAre("PATCH persistentvolumes/pv"));
  EXPECT_THAT(Finalizers(), ElementsAre("kubernetes.io/pv-protection", kOurs));
}

TEST_F(DeleteTest, StaticVolumeOfOursIsDeletedAtTheDriver) {
  AddVolume({.annotations = ""});
  world_.Start();
  EXPECT_EQ(Deletes().size(), 1u);
}

TEST_F(DeleteTest, FailureIsToldAndRetried) {
  const oracle::Row row("provisioner/22.14/11");
  const oracle::Row row2("provisioner/22.14/34");
  world_.driver().FailOnce(kDeleteVolume, RpcStatus(13, "busy"));
  world_.driver().FailOnce(kDeleteVolume, RpcStatus(5, "not found"));
  AddVolume({.klass = "sc"});
  world_.Start();
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_THAT(world_.Events(), ElementsAre("Warning VolumeFailedDelete: rpc error: code = Internal "
                                           "desc = busy"));
  EXPECT_EQ(world_.Counter(kDeleteFailed, {"sc"}), 1);
  world_.Advance(seconds(3));
  EXPECT_EQ(Deletes().size(), 3u);
  EXPECT_EQ(world_.Counter(kDeleteFailed, {"sc"}), 2);
  EXPECT_EQ(world_.Counter(kDeleted, {"sc"}), 1);
}

// Provisioner/22.14/35: the object cannot be deleted; the driver is not asked again.
TEST_F(DeleteTest, ObjectThatCannotBeDeletedIsRetriedWithoutTheDriver) {
  const oracle::Row row("provisioner/22.14/12");
  const oracle::Row row2("provisioner/22.14/35");
  int refused = 0;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "delete" && refused < 2) {
      ++refused;
      fault.code = 403;
    }
    return fault;
  });
  AddVolume();
  world_.Start();
  EXPECT_EQ(world_.Counter(kDeleteFailed, {""}), 1);
  EXPECT_THAT(Finalizers(), Contains(kOurs));
  EXPECT_THAT(world_.Events(), IsEmpty());
  world_.Advance(seconds(4));
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(world_.Counter(kDeleted, {""}), 1);
}

// Field report 58: no right to patch.
TEST_F(DeleteTest, FinalizerThatCannotBeRemovedIsRetriedWithoutTheDriver) {
  bool allowed = false;
  world_.api().set_fault_hook([&](const apiserver::RequestInfo& info) {
    apiserver::Fault fault;
    if (info.user == "provisioner" && info.verb == "patch" &&
        info.resource == "persistentvolumes" && !allowed) {
      fault.code = 403;
    }
    return fault;
  });
  AddVolume();
  world_.Start();
  Unprotect();
  world_.Advance(minutes(1));
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_THAT(Finalizers(), ElementsAre(kOurs));
  allowed = true;
  world_.Advance(minutes(5));
  EXPECT_THAT(Finalizers(), ElementsAre("gone"));
  EXPECT_EQ(Deletes().size(), 1u);
}

TEST_F(DeleteTest, AttachedVolumeWaitsForItsDetachment) {  // provisioner/22.10/4, field report 32
  world_.features.publish_unpublish_volume = true;
  world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",
      "metadata":{"name":"va"},"spec":{"attacher":"test-driver","nodeName":"node-7",
      "source":{"persistentVolumeName":"pv"}}})");
  AddVolume();
  world_.Start();
  world_.Advance(seconds(20));
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Events()[0], HasSubstr("pv"));
  EXPECT_THAT(world_.Events()[0], HasSubstr("node-7"));
  world_.Remove<storage::VolumeAttachment>({"", "va"});
  world_.Advance(std::chrono::milliseconds(50));
  EXPECT_EQ(Deletes().size(), 1u);
}

TEST_F(DeleteTest, AttachmentOfAnotherVolumeDoesNotMatter) {  // provisioner/22.10/6
  world_.features.publish_unpublish_volume = true;
  world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",
      "metadata":{"name":"va"},"spec":{"attacher":"test-driver","nodeName":"node-7",
      "source":{"persistentVolumeName":"another"}}})");
  AddVolume();
  world_.Start();
  EXPECT_EQ(Deletes().size(), 1u);
}

constexpr char kSecretAnnotations[] = R"("pv.kubernetes.io/provisioned-by":"test-driver",
    "volume.kubernetes.io/provisioner-deletion-secret-name":"provisionersecret",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace":"ns")";

TEST_F(DeleteTest, SecretOfTheAnnotationsIsPassed) {  // provisioner/22.10/9, field report 33
  world_.AddSecret("ns", "provisionersecret", "key", "dmFs");
  AddVolume({.annotations = kSecretAnnotations, .klass = "gone"});
  world_.Start();
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].secrets().at("key"), "val");
}

TEST_F(DeleteTest, MissingSecretDoesNotStopTheDeletion) {  // provisioner/22.10/10
  AddVolume({.annotations = kSecretAnnotations});
  world_.Start();
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_TRUE(Deletes()[0].secrets().empty());
}

TEST_F(DeleteTest, ClassIsAskedWhenTheAnnotationsAreMissing) {  // provisioner/22.10/11
  world_.AddSecret("ns", "s-c", "key", "dmFs");
  world_.AddClass({.parameters =
                       R"({"csi.storage.k8s.io/provisioner-secret-name":"s-${pvc.name}",
                       "csi.storage.k8s.io/provisioner-secret-namespace":"${pvc.namespace}"})"});
  AddVolume({.annotations = R"("pv.kubernetes.io/provisioned-by":"test-driver",
                 "volume.beta.kubernetes.io/storage-class":"sc")"});
  world_.Start();
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].secrets().at("key"), "val");
}

TEST_F(DeleteTest, MalformedClassStopsTheDeletion) {  // provisioner/22.10/3
  world_.AddClass({.parameters = R"({"csi.storage.k8s.io/provisioner-secret-name":"s"})"});
  AddVolume({.annotations = R"("pv.kubernetes.io/provisioned-by":"test-driver")", .klass = "sc"});
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Events()[0], HasSubstr("Warning VolumeFailedDelete"));
}

TEST_F(DeleteTest, DriverThatCannotDeleteIsNotAsked) {
  world_.features.create_delete_volume = false;
  AddVolume();
  world_.Start();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Events()[0], HasSubstr("CREATE_DELETE_VOLUME"));
}

TEST_F(DeleteTest, WholeLifeOfAClaimLeavesNothing) {  // field report 10
  world_.AddClass();
  const std::string uid = world_.AddClaim();
  const std::string name = "pvc-" + uid;
  world_.Start();
  world_.Bind(name);
  world_.Settle();
  // The volume is deleted first: it must not go while the claim uses it.
  world_.Remove<core::PersistentVolume>({"", name});
  world_.Settle();
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
  world_.RemoveClaim("claim");
  world_.Release(name);
  world_.Settle();
  world_.Advance(minutes(1));
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_THAT(Finalizers(name), ::testing::Not(Contains(kOurs)));
}

}  // namespace
}  // namespace csinative::provisioner
