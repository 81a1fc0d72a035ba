// SPDX-License-Identifier: Apache-2.0
//
// One attempt to restore a snapshot, as the oracle has it (provisioner 22.7): snapshot "snap" of
// ns1 with content "content" and handle "sid", 1000 bytes. Each entry says what differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/provisioner/document.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/oracle_rows.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;
using DeleteRequest = ::csi::v1::DeleteVolumeRequest;

constexpr char kSource[] = R"("dataSource":{"apiGroup":"snapshot.storage.k8s.io",
    "kind":"VolumeSnapshot","name":"snap"})";
constexpr char kReference[] = R"("dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io",
    "kind":"VolumeSnapshot","name":"snap","namespace":"ns1"})";
constexpr char kFrom[] = R"({"group":"","kind":"PersistentVolumeClaim","namespace":"ns2"})";
constexpr char kTo[] = R"({"group":"snapshot.storage.k8s.io","kind":"VolumeSnapshot"})";
constexpr char kSourceProtection[] =
    "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection";

struct Grant {
  std::string from = kFrom;
  std::string to = kTo;
  std::string ns = "ns1";
};

struct RestoreCase {
  std::string rows;
  std::string name;
  // The claim and its class.
  std::string claim_ns = "ns1";
  std::string source = kSource;
  std::string request = "1000";
  std::string mode = "Filesystem";
  std::string provisioner = "test-driver";
  // Snapshot and content.
  std::string snapshot_status = R"({"readyToUse":true,"restoreSize":"1000",
      "boundVolumeSnapshotContentName":"content"})";
  std::string terminating_with = "";  // a finalizer; empty: not being deleted
  std::string ref_uid = "", ref_ns = "ns1", ref_name = "snap";
  std::string content_status = R"({"snapshotHandle":"sid","readyToUse":true})";
  std::string content_mode = R"("Filesystem")";
  std::string annotations = "";
  // The rest.
  bool gate = false;
  std::optional<Grant> grant = {};
  bool answers_with_source = true;
  bool ok = false;
  size_t creates = 0;
  size_t deletes = 0;
};
void PrintTo(const RestoreCase& c, std::ostream* out) { *out << c.name; }

class RestoreOracle : public ::testing::TestWithParam<RestoreCase> {
 protected:
  RestoreOracle() {
    const RestoreCase& c = GetParam();
    world_.config.worker_threads = 0;
    world_.config.snapshot_sweep_interval = Duration::zero();
    world_.config.cross_namespace_gate = c.gate;
    world_.features.create_delete_snapshot = true;
    for (const char* ns : {"ns1", "ns2"}) {
      world_.Add(
          StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", ns, R"("}})"));
    }
    AddSnapshot();
    if (c.grant) {
      world_.AddGrant(c.grant->ns, c.grant->from, c.grant->to);
    }
    if (!c.answers_with_source) {
      CreateResponse response;
      response.mutable_volume()->set_volume_id("test-volume-id");
      world_.driver().Answer(kCreateVolume, response);
    }
    world_.Start();
  }
  void AddSnapshot() {
    const RestoreCase& c = GetParam();
    world_.Add(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot",
        "metadata":{"name":"snap","namespace":"ns1"},
        "spec":{"source":{"persistentVolumeClaimName":"src"}}})");
    const std::string uid = c.ref_uid.empty() ? SnapshotUid() : c.ref_uid;
    world_.Add(StrCat(R"({"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotContent",
        "metadata":{"name":"content","annotations":{)",
                      c.annotations, R"(}},"spec":{"driver":"test-driver","deletionPolicy":"Delete",
        "sourceVolumeMode":)",
                      c.content_mode,
                      R"(,"source":{"volumeHandle":"v"},"volumeSnapshotRef":{"name":)",
                      JsonString(c.ref_name), R"(,"namespace":)", JsonString(c.ref_ns),
                      R"(,"uid":)", JsonString(uid), "}}}"));
    world_.MergeDocument("volumesnapshots", "ns1", "snap",
                         StrCat(R"({"status":)", c.snapshot_status, "}"), "status");
    world_.MergeDocument("volumesnapshotcontents", "", "content",
                         StrCat(R"({"status":)", c.content_status, "}"), "status");
    if (c.terminating_with.empty()) return;
    world_.MergeDocument(
        "volumesnapshots", "ns1", "snap",
        StrCat(R"({"metadata":{"finalizers":[)", JsonString(c.terminating_with), "]}}"), "");
    world_.RemoveDocument("volumesnapshots", "ns1", "snap");
  }
  std::string SnapshotUid() {
    rapidjson::Document document;
    document.Parse(world_.api()
                       .GetObject("snapshot.storage.k8s.io", "volumesnapshots", "ns1", "snap")
                       ->json.c_str());
    return TextAt(document, {"metadata", "uid"}).value_or("");
  }

  World world_;
};

TEST_P(RestoreOracle, EndsAsTheOracleSays) {
  const RestoreCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  const ProvisionResult result = world_.Attempt(
      World::ParseClaim(StrCat(R"({"metadata":{"uid":"testid","name":"claim","namespace":)",
                               JsonString(c.claim_ns), R"(,"annotations":{
          "volume.beta.kubernetes.io/storage-provisioner":"test-driver"}},
          "spec":{"accessModes":["ReadWriteOnce"],"volumeMode":)",
                               JsonString(c.mode), R"(,"resources":{"requests":{"storage":)",
                               JsonString(c.request), "}},", c.source, "}}")),
      World::ParseClass(
          StrCat(R"({"metadata":{"name":"sc"},"provisioner":)", JsonString(c.provisioner), "}")));
  EXPECT_EQ(result.volume.has_value(), c.ok) << result.status.message();
  const auto creates = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(creates.size(), c.creates);
  for (const CreateRequest& request : creates) {
    EXPECT_EQ(request.volume_content_source().snapshot().snapshot_id(), "sid");
  }
  const auto deletes = world_.Requests<DeleteRequest>(kDeleteVolume);
  ASSERT_EQ(deletes.size(), c.deletes);
  for (const DeleteRequest& request : deletes) {
    EXPECT_EQ(request.DebugString(), "volume_id: \"test-volume-id\"\n");
  }
}

RestoreCase Restored(RestoreCase c) {
  c.ok = true;
  c.creates = 1;
  return c;
}
RestoreCase CrossNamespace(const std::string& row, const std::string& name,
                           std::optional<Grant> grant) {
  return {.rows = row,
          .name = name,
          .claim_ns = "ns2",
          .source = kReference,
          .gate = true,
          .grant = std::move(grant)};
}
std::string ToWithName(const std::string& name) {
  return StrCat(R"({"group":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":)", name, "}");
}

INSTANTIATE_TEST_SUITE_P(
    Snapshots, RestoreOracle,
    ::testing::Values(
        Restored({.rows = "provisioner/22.7/1", .name = "matching"}),
        Restored({.rows = "provisioner/22.7/2", .name = "matching, gate on", .gate = true}),
        RestoreCase{.rows = "provisioner/22.7/3", .name = "small claim", .request = "100"},
        RestoreCase{.rows = "provisioner/22.7/4",
                    .name = "source without a name",
                    .source = R"("dataSource":{"apiGroup":"snapshot.storage.k8s.io",
                        "kind":"VolumeSnapshot","name":""})"},
        RestoreCase{.rows = "provisioner/22.7/5",
                    .name = "unknown kind without a name",
                    .source = R"("dataSource":{"apiGroup":"snapshot.storage.k8s.io",
                        "kind":"UnsupportedKind","name":""})"},
        RestoreCase{.rows = "provisioner/22.7/6",
                    .name = "unknown group",
                    .source = R"("dataSource":{"apiGroup":"unsupported.group.io",
                        "kind":"VolumeSnapshot","name":"snap"})"},
        RestoreCase{.rows = "provisioner/22.7/7",
                    .name = "not ready",
                    .request = "100",
                    .snapshot_status = R"({"readyToUse":false,"restoreSize":"1000",
                        "boundVolumeSnapshotContentName":"content"})"},
        RestoreCase{.rows = "provisioner/22.7/8",
                    .name = "nothing said about ready",
                    .snapshot_status = R"({"restoreSize":"1000",
                        "boundVolumeSnapshotContentName":"content"})"},
        RestoreCase{.rows = "provisioner/22.7/9", .name = "no status", .snapshot_status = "null"},
        RestoreCase{.rows = "provisioner/22.7/10",
                    .name = "no content",
                    .snapshot_status = R"({"readyToUse":true,"restoreSize":"1000"})"},
        RestoreCase{.rows = "provisioner/22.7/11", .name = "other UID", .ref_uid = "other"},
        RestoreCase{.rows = "provisioner/22.7/11", .name = "other namespace", .ref_ns = "other"},
        RestoreCase{.rows = "provisioner/22.7/11", .name = "other name", .ref_name = "other"},
        RestoreCase{.rows = "provisioner/22.7/12",
                    .name = "class of another driver",
                    .provisioner = "another-driver"},
        RestoreCase{.rows = "provisioner/22.7/13",
                    .name = "content without status",
                    .content_status = "null"},
        RestoreCase{.rows = "provisioner/22.7/13",
                    .name = "content without handle",
                    .content_status = R"({"readyToUse":true})"},
        RestoreCase{.rows = "provisioner/22.7/14",
                    .name = "answer without a source",
                    .answers_with_source = false,
                    .creates = 1,
                    .deletes = 1},
        Restored(
            {.rows = "provisioner/22.7/15",
             .name = "Block with permission",
             .mode = "Block",
             .annotations = R"("snapshot.storage.kubernetes.io/allow-volume-mode-change":"true")"}),
        RestoreCase{
            .rows = "provisioner/22.7/16", .name = "Block without permission", .mode = "Block"},
        Restored({.rows = "provisioner/22.7/17",
                  .name = "Block, mode of the source unknown",
                  .mode = "Block",
                  .content_mode = "null"}),
        RestoreCase{.rows = "provisioner/22.7/20",
                    .name = "terminating, some finalizer",
                    .terminating_with = "example.com/some-other-finalizer"},
        Restored({.rows = "provisioner/22.7/21",
                  .name = "terminating, our finalizer",
                  .terminating_with = kSourceProtection})));

INSTANTIATE_TEST_SUITE_P(
    OtherNamespaces, RestoreOracle,
    ::testing::Values(
        Restored(CrossNamespace("provisioner/22.7/22", "granted", Grant())),
        Restored(CrossNamespace("provisioner/22.7/22", "granted, name null",
                                Grant{.to = ToWithName("null")})),
        Restored(CrossNamespace("provisioner/22.7/22", "granted, name empty",
                                Grant{.to = ToWithName("\"\"")})),
        Restored(CrossNamespace("provisioner/22.7/22", "granted by name",
                                Grant{.to = ToWithName("\"snap\"")})),
        Restored({.rows = "provisioner/22.7/23",
                  .name = "own namespace by name",
                  .source = kReference,
                  .gate = true}),
        Restored({.rows = "provisioner/22.7/24",
                  .name = "reference without namespace",
                  .source = R"("dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io",
                      "kind":"VolumeSnapshot","name":"snap"})",
                  .gate = true}),
        CrossNamespace("provisioner/22.7/25", "no grant", std::nullopt),
        RestoreCase{.rows = "provisioner/22.7/26",
                    .name = "gate off",
                    .claim_ns = "ns2",
                    .source = kReference,
                    .grant = Grant()},
        CrossNamespace("provisioner/22.7/27", "grant elsewhere", Grant{.ns = "ns2"}),
        CrossNamespace(
            "provisioner/22.7/28", "from another group",
            Grant{.from = R"({"group":"g","kind":"PersistentVolumeClaim","namespace":"ns2"})"}),
        CrossNamespace("provisioner/22.7/28", "from another kind",
                       Grant{.from = R"({"group":"","kind":"Wrong","namespace":"ns2"})"}),
        CrossNamespace(
            "provisioner/22.7/28", "from another namespace",
            Grant{.from = R"({"group":"","kind":"PersistentVolumeClaim","namespace":"ns3"})"}),
        CrossNamespace("provisioner/22.7/28", "to another kind",
                       Grant{.to = R"({"group":"snapshot.storage.k8s.io","kind":"Wrong"})"}),
        CrossNamespace("provisioner/22.7/28", "to another group",
                       Grant{.to = R"({"group":"wrong","kind":"VolumeSnapshot"})"}),
        CrossNamespace("provisioner/22.7/28", "to another name",
                       Grant{.to = ToWithName("\"other\"")}),
        CrossNamespace("provisioner/22.7/29", "empty grant", Grant{.from = "", .to = ""})));

}  // namespace
}  // namespace csinative::provisioner
