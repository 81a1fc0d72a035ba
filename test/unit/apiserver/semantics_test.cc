// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/semantics.h"

#include <gtest/gtest.h>

#include "lib/async/virtual_loop.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/codec.h"

namespace csinative::apiserver {
namespace {

constexpr char kClaim[] = R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],)"
                          R"("resources":{"requests":{"storage":"1024Mi"}}}})";
constexpr char kPod[] =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";

class SemanticsTest : public ::testing::Test {
 protected:
  SemanticsTest() { Create("namespaces", "", R"({"metadata":{"name":"ns"}})"); }

  Target At(std::string_view resource, std::string_view namespace_name, std::string_view name = "",
            std::string_view subresource = "") {
    Target target;
    for (std::string_view group : {"", "storage.k8s.io", "coordination.k8s.io"}) {
      if (target.info == nullptr) target.info = resources_.Find(group, "v1", resource);
    }
    target.namespace_name = namespace_name;
    target.name = name;
    target.subresource = subresource;
    return target;
  }

  // The object as JSON, or the failure's code and message.
  std::string Create(std::string_view resource, std::string_view namespace_name,
                     std::string_view json) {
    Target target = At(resource, namespace_name);
    Outcome<JsonDocument> document = DecodeBody(*target.info, Encoding::kJson, json);
    if (!document.ok()) return Show(document.failure());
    Outcome<ObjectPtr> created = semantics_.Create(target, std::move(*document));
    return created.ok() ? (*created)->json : Show(created.failure());
  }
  std::string Patch(const Target& target, std::string_view patch) {
    Outcome<Written> written = semantics_.Patch(target, PatchType::kMerge, patch, nullptr);
    return written.ok() ? written->object->json : Show(written.failure());
  }
  std::string Put(const Target& target, std::string_view json) {
    Outcome<JsonDocument> document = DecodeBody(*target.info, Encoding::kJson, json);
    if (!document.ok()) return Show(document.failure());
    Outcome<Written> written = semantics_.Update(target, std::move(*document));
    return written.ok() ? written->object->json : Show(written.failure());
  }
  std::string Delete(const Target& target, DeleteOptions options = {}) {
    Outcome<Deleted> deleted = semantics_.Delete(target, options);
    if (!deleted.ok()) return Show(deleted.failure());
    return deleted->gone ? "gone" : "kept";
  }
  // A value of the stored object, as JSON text; "absent" for none.
  template <typename... Keys>
  std::string Stored(const Target& target, Keys... keys) {
    ObjectPtr object = store_.collection(*target.info).Get(target.namespace_name, target.name);
    if (object == nullptr) return "no object";
    JsonDocument document = *ParseJson(object->json);
    const Json* value = Find(document, keys...);
    return value == nullptr ? "absent" : Dump(*value);
  }
  static std::string Show(const Failure& failure) {
    return StrCat(failure.code, " ", failure.message);
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  ResourceTable resources_;
  ObjectStore store_;
  Semantics semantics_{store_, resources_, loop_, *random_, {}};
};

TEST_F(SemanticsTest, ClaimIsDefaultedAndProtected) {
  Create("persistentvolumeclaims", "ns", kClaim);
  Target claim = At("persistentvolumeclaims", "ns", "c");
  EXPECT_EQ(Stored(claim, "metadata", "finalizers"), R"(["kubernetes.io/pvc-protection"])");
  EXPECT_EQ(Stored(claim, "metadata", "creationTimestamp"), R"("2024-01-01T00:00:00Z")");
  EXPECT_EQ(Stored(claim, "spec", "volumeMode"), R"("Filesystem")");
  EXPECT_EQ(Stored(claim, "spec", "resources", "requests", "storage"), R"("1Gi")");
  EXPECT_EQ(Stored(claim, "status", "phase"), R"("Pending")");
  EXPECT_EQ(Stored(claim, "metadata", "generation"), "absent");
}

TEST_F(SemanticsTest, NewestDefaultClassIsChosen) {
  constexpr char kAnnotations[] =
      R"("annotations":{"storageclass.kubernetes.io/is-default-class":"true"})";
  Create("storageclasses", "",
         StrCat(R"({"provisioner":"d","metadata":{"name":"old",)", kAnnotations, "}}"));
  scheduler_.Advance(std::chrono::seconds(2));
  Create("storageclasses", "",
         StrCat(R"({"provisioner":"d","metadata":{"name":"young",)", kAnnotations, "}}"));
  Create("persistentvolumeclaims", "ns", kClaim);
  EXPECT_EQ(Stored(At("persistentvolumeclaims", "ns", "c"), "spec", "storageClassName"),
            R"("young")");
}

TEST_F(SemanticsTest, SameNameTwiceExistsAlready) {
  Create("persistentvolumeclaims", "ns", kClaim);
  EXPECT_EQ(Create("persistentvolumeclaims", "ns", kClaim),
            "409 persistentvolumeclaims \"c\" already exists");
}

TEST_F(SemanticsTest, GeneratedNamesDiffer) {
  std::string first = Create("configmaps", "ns", R"({"metadata":{"generateName":"g-"}})");
  std::string second = Create("configmaps", "ns", R"({"metadata":{"generateName":"g-"}})");
  JsonDocument a = *ParseJson(first), b = *ParseJson(second);
  EXPECT_TRUE(TextAt(a, "metadata", "name").starts_with("g-"));
  EXPECT_NE(TextAt(a, "metadata", "name"), TextAt(b, "metadata", "name"));
}

TEST_F(SemanticsTest, MissingNamespaceIsNotFound) {
  EXPECT_EQ(Create("configmaps", "nowhere", R"({"metadata":{"name":"a"}})"),
            "404 namespaces \"nowhere\" not found");
}

TEST_F(SemanticsTest, StaleVersionConflicts) {
  Create("configmaps", "ns", R"({"metadata":{"name":"a"}})");
  Target target = At("configmaps", "ns", "a");
  EXPECT_EQ(Put(target, R"({"metadata":{"name":"a","resourceVersion":"1"}})"),
            "409 Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  EXPECT_EQ(Patch(target, R"({"metadata":{"resourceVersion":"1"}})").substr(0, 3), "409");
}

TEST_F(SemanticsTest, PatchThatChangesNothingKeepsTheVersion) {
  Create("configmaps", "ns", R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  Target target = At("configmaps", "ns", "a");
  std::string before = Stored(target, "metadata", "resourceVersion");
  Patch(target, R"({"data":{"k":"v"}})");
  EXPECT_EQ(Stored(target, "metadata", "resourceVersion"), before);
  Patch(target, R"({"data":{"k":"w"}})");
  EXPECT_NE(Stored(target, "metadata", "resourceVersion"), before);
}

TEST_F(SemanticsTest, LeaseNeedsAVersionForAnUpdateButNotToAppear) {
  Target lease = At("leases", "ns", "l");
  EXPECT_EQ(Put(lease, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"x"}})").front(), '{');
  EXPECT_EQ(Put(lease, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"y"}})"),
            "422 leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid "
            "value: 0: must be specified for an update");
}

TEST_F(SemanticsTest, FinalizersHoldADeletedObject) {
  Create("persistentvolumeclaims", "ns", kClaim);
  Target claim = At("persistentvolumeclaims", "ns", "c");
  EXPECT_EQ(Delete(claim), "kept");
  EXPECT_EQ(Stored(claim, "metadata", "deletionTimestamp"), R"("2024-01-01T00:00:00Z")");
  EXPECT_EQ(Stored(claim, "metadata", "deletionGracePeriodSeconds"), "0");
  EXPECT_EQ(Delete(claim), "kept");
  EXPECT_EQ(Patch(claim, R"({"metadata":{"finalizers":["x/y"]}})").substr(0, 3), "422");
  EXPECT_EQ(Patch(claim, R"({"metadata":{"finalizers":null}})").front(), '{');
  EXPECT_EQ(Stored(claim, "metadata"), "no object");
}

TEST_F(SemanticsTest, WatchersSeeTheStoredStateOfAFinalizedObject) {
  Create("persistentvolumeclaims", "ns", kClaim);
  Target claim = At("persistentvolumeclaims", "ns", "c");
  Delete(claim);
  int64_t version = store_.resource_version();
  Patch(claim, R"({"metadata":{"finalizers":null}})");
  Collection& claims = store_.collection(*claim.info);
  const Change* change = *claims.ChangeAt(*claims.CursorAfter(version));
  ASSERT_NE(change, nullptr);
  EXPECT_TRUE(change->deleted);
  EXPECT_NE(change->object->json.find("pvc-protection"), std::string::npos);
}

TEST_F(SemanticsTest, DeletePreconditionsAreChecked) {
  Create("configmaps", "ns", R"({"metadata":{"name":"a"}})");
  Target target = At("configmaps", "ns", "a");
  EXPECT_EQ(Delete(target, {.uid = "other"}).substr(0, 3), "409");
  EXPECT_EQ(Delete(target, {.resource_version = "1"}).substr(0, 3), "409");
  EXPECT_EQ(Delete(target), "gone");
  EXPECT_EQ(Delete(target), "404 configmaps \"a\" not found");
}

TEST_F(SemanticsTest, StatusAndSpecHaveTheirOwnEndpoints) {
  Create("volumeattachments", "",
         R"({"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n",)"
         R"("source":{"persistentVolumeName":"v"}}})");
  Target main = At("volumeattachments", "", "a");
  Target status = At("volumeattachments", "", "a", "status");
  Patch(main, R"({"status":{"attached":true}})");
  EXPECT_EQ(Stored(main, "status", "attached"), "false");
  Patch(status, R"({"status":{"attached":true},"metadata":{"annotations":{"a":"b"}}})");
  EXPECT_EQ(Stored(main, "status", "attached"), "true");
  EXPECT_EQ(Stored(main, "metadata", "annotations"), "absent");
}

TEST_F(SemanticsTest, PodOnANodeGetsItsGracePeriod) {
  Create("pods", "ns", kPod);
  Target pod = At("pods", "ns", "p");
  ASSERT_TRUE(semantics_.Bind(pod, "n").ok());
  EXPECT_EQ(Delete(pod), "kept");
  EXPECT_EQ(Stored(pod, "metadata", "deletionGracePeriodSeconds"), "30");
  EXPECT_EQ(Stored(pod, "metadata", "deletionTimestamp"), R"("2024-01-01T00:00:30Z")");
  EXPECT_EQ(Stored(pod, "metadata", "generation"), "2");
  EXPECT_EQ(Delete(pod), "kept");
  EXPECT_EQ(Delete(pod, {.grace_period_seconds = 0}), "gone");
}

TEST_F(SemanticsTest, UnscheduledPodGoesAtOnce) {
  Create("pods", "ns", kPod);
  EXPECT_EQ(Delete(At("pods", "ns", "p")), "gone");
}

TEST_F(SemanticsTest, NamespaceGoesWithItsLastObject) {
  Create("persistentvolumeclaims", "ns", kClaim);
  Target space = At("namespaces", "", "ns");
  EXPECT_EQ(Delete(space), "kept");
  EXPECT_EQ(Stored(space, "status", "phase"), R"("Terminating")");
  EXPECT_EQ(Create("configmaps", "ns", R"({"metadata":{"name":"a"}})").substr(0, 3), "403");
  Patch(At("persistentvolumeclaims", "ns", "c"), R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(Stored(space, "metadata"), "no object");
}

TEST_F(SemanticsTest, UnboundClaimSpecIsImmutable) {
  Create("persistentvolumeclaims", "ns", kClaim);
  Target claim = At("persistentvolumeclaims", "ns", "c");
  EXPECT_EQ(Patch(claim, R"({"spec":{"accessModes":["ReadWriteMany"]}})").substr(0, 3), "422");
  EXPECT_EQ(Patch(claim, R"({"spec":{"volumeName":"v"}})").front(), '{');
}

TEST_F(SemanticsTest, BoundClaimGrowsOnlyWhereItsClassAllowsIt) {
  Create("storageclasses", "", R"({"metadata":{"name":"fixed"},"provisioner":"d"})");
  Create("storageclasses", "",
         R"({"metadata":{"name":"growing"},"provisioner":"d","allowVolumeExpansion":true})");
  for (std::string_view name : {"fixed", "growing"}) {
    Create("persistentvolumeclaims", "ns",
           StrCat(R"({"metadata":{"name":")", name, R"("},"spec":{"volumeName":"v",)",
                  R"("accessModes":["ReadWriteOnce"],"storageClassName":")", name,
                  R"(","resources":{"requests":{"storage":"1Gi"}}}})"));
  }
  constexpr char kGrow[] = R"({"spec":{"resources":{"requests":{"storage":"2Gi"}}}})";
  EXPECT_EQ(Patch(At("persistentvolumeclaims", "ns", "fixed"), kGrow).substr(0, 3), "403");
  EXPECT_EQ(Patch(At("persistentvolumeclaims", "ns", "growing"), kGrow).front(), '{');
}

TEST_F(SemanticsTest, NamespaceGetsItsServiceAccount) {
  EXPECT_EQ(Stored(At("serviceaccounts", "ns", "default"), "metadata", "name"), R"("default")");
}

TEST_F(SemanticsTest, PhaseOfAVolumeRemembersWhenItChanged) {
  Create("persistentvolumes", "",
         R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},)"
         R"("accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"}}})");
  Target volume = At("persistentvolumes", "", "v");
  Target status = At("persistentvolumes", "", "v", "status");
  scheduler_.Advance(std::chrono::seconds(5));
  Patch(status, R"({"status":{"message":"m"}})");
  EXPECT_EQ(Stored(volume, "status", "lastPhaseTransitionTime"), R"("2024-01-01T00:00:00Z")");
  Patch(status, R"({"status":{"phase":"Bound"}})");
  EXPECT_EQ(Stored(volume, "status", "lastPhaseTransitionTime"), R"("2024-01-01T00:00:05Z")");
}

TEST_F(SemanticsTest, DryRunWritesNothing) {
  int64_t version = store_.resource_version();
  Target target = At("configmaps", "ns");
  target.dry_run = true;
  Outcome<JsonDocument> document =
      DecodeBody(*target.info, Encoding::kJson, R"({"metadata":{"name":"a"}})");
  EXPECT_TRUE(semantics_.Create(target, std::move(*document)).ok());
  EXPECT_EQ(store_.resource_version(), version);
}

}  // namespace
}  // namespace csinative::apiserver
