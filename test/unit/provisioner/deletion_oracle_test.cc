// SPDX-License-Identifier: Apache-2.0
//
// Deletion at the driver, as the oracle has it (provisioner 22.10). Each entry says what differs
// from a volume without annotations, class and claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/oracle_rows.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using DeleteRequest = ::csi::v1::DeleteVolumeRequest;

constexpr char kSource[] = R"("csi":{"driver":"test-driver","volumeHandle":"vol-id-1"})";
constexpr char kClaim[] = R"(,"claimRef":{"namespace":"ns","name":"c"})";
constexpr char kNoSecret[] = R"("volume.kubernetes.io/provisioner-deletion-secret-name":"",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace":"")";
constexpr char kSecret[] =
    R"("volume.kubernetes.io/provisioner-deletion-secret-name":"provisionersecret",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace":"ns")";
constexpr char kMissingSecret[] =
    R"("volume.kubernetes.io/provisioner-deletion-secret-name":"nowhere",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace":"ns")";
constexpr char kPair[] = R"({"csi.storage.k8s.io/provisioner-secret-name":"provisionersecret",
    "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})";
constexpr char kHalfAPair[] =
    R"({"csi.storage.k8s.io/provisioner-secret-name":"provisionersecret"})";
constexpr char kOtherPair[] = R"({"csi.storage.k8s.io/provisioner-secret-name":"other",
    "csi.storage.k8s.io/provisioner-secret-namespace":"ns"})";

struct DeletionCase {
  std::string rows;
  std::string name;
  std::string annotations = "";
  std::string source = kSource;
  std::string spec = "";        // more members of spec, with a comma in front
  std::string klass = "";       // parameters of the class "sc-name"; empty: there is none
  std::string attached = "";    // the volume that an attachment names
  std::string attachment = "";  // more members of the attachment's metadata
  bool is_attached = true;
  bool deleted = true;
  bool with_secret = false;
};
void PrintTo(const DeletionCase& c, std::ostream* out) { *out << c.name; }

class DeletionOracle : public ::testing::TestWithParam<DeletionCase> {};

TEST_P(DeletionOracle, EndsAsTheOracleSays) {
  const DeletionCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  World world;
  world.features.publish_unpublish_volume = true;
  world.AddSecret("ns", "provisionersecret", "provisionersecret-key",
                  "cHJvdmlzaW9uZXJzZWNyZXQtdmFs");
  world.AddSecret("ns", "other", "k", "dg==");
  if (!c.klass.empty()) world.AddClass({.name = "sc-name", .parameters = c.klass});
  if (!c.attached.empty()) {
    world.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",
        "metadata":{"name":"va")",
                     c.attachment, R"(},"spec":{"attacher":"test-driver","nodeName":"node",
        "source":{"persistentVolumeName":)",
                     JsonString(c.attached), "}}}"));
    world.Merge<storage::VolumeAttachment>(
        {"", "va"}, StrCat(R"({"status":{"attached":)", c.is_attached ? "true" : "false", "}}"),
        "status");
    if (!c.attachment.empty()) world.Remove<storage::VolumeAttachment>({"", "va"});
  }
  world.Start();
  const Status status = world.DeleteStorage(
      World::ParseVolume(StrCat(R"({"metadata":{"name":"pv","annotations":{)", c.annotations,
                                R"(}},"spec":{)", c.source, c.spec, "}}")));
  EXPECT_EQ(status.ok(), c.deleted) << status.message();
  const auto requests = world.Requests<DeleteRequest>(kDeleteVolume);
  ASSERT_EQ(requests.size(), c.deleted ? 1u : 0u);
  if (!c.deleted) return;
  DeleteRequest expected;
  expected.set_volume_id("vol-id-1");
  if (c.with_secret) {
    (*expected.mutable_secrets())["provisionersecret-key"] = "provisionersecret-val";
  }
  EXPECT_TRUE(expected.secrets().size() == requests[0].secrets().size() &&
              expected.SerializeAsString() == requests[0].SerializeAsString());
}

DeletionCase WithSecret(const std::string& row, const std::string& name,
                        const std::string& annotations, const std::string& klass) {
  return {.rows = row,
          .name = name,
          .annotations = annotations,
          .spec = StrCat(kClaim, R"(,"storageClassName":"sc-name")"),
          .klass = klass,
          .with_secret = true};
}
DeletionCase Attached(const std::string& name, bool attached, const std::string& metadata = "") {
  return {.rows = "provisioner/22.10/4",
          .name = name,
          .spec = kClaim,
          .attached = "pv",
          .attachment = metadata,
          .is_attached = attached,
          .deleted = false};
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DeletionOracle,
    ::testing::Values(
        DeletionCase{.rows = "provisioner/22.10/2",
                     .name = "no CSI source",
                     .source = R"("hostPath":{"path":"/x"})",
                     .deleted = false},
        DeletionCase{.rows = "provisioner/22.10/3",
                     .name = "class with half a pair",
                     .spec = StrCat(kClaim, R"(,"storageClassName":"sc-name")"),
                     .klass = kHalfAPair,
                     .deleted = false},
        Attached("attached", true), Attached("not attached", false),
        Attached("attachment is going", true, R"(,"finalizers":["example.com/f"])"),
        DeletionCase{.rows = "provisioner/22.10/5", .name = "no class"},
        DeletionCase{.rows = "provisioner/22.10/6",
                     .name = "another volume is attached",
                     .attached = "another"},
        DeletionCase{.rows = "provisioner/22.10/7", .name = "claim, no class", .spec = kClaim},
        DeletionCase{.rows = "provisioner/22.10/8",
                     .name = "empty annotations, class",
                     .annotations = kNoSecret,
                     .spec = StrCat(kClaim, R"(,"storageClassName":"sc-name")"),
                     .klass = kPair},
        DeletionCase{.rows = "provisioner/22.10/8",
                     .name = "empty annotations, no class",
                     .annotations = kNoSecret,
                     .spec = StrCat(kClaim, R"(,"storageClassName":"sc-name")")},
        WithSecret("provisioner/22.10/9", "annotations, class", kSecret, kPair),
        WithSecret("provisioner/22.10/9", "annotations, no class", kSecret, ""),
        WithSecret("provisioner/22.10/9", "annotations, class with another secret", kSecret,
                   kOtherPair),
        DeletionCase{.rows = "provisioner/22.10/10",
                     .name = "annotations of a missing secret",
                     .annotations = kMissingSecret},
        DeletionCase{.rows = "provisioner/22.10/11",
                     .name = "class by annotation",
                     .annotations = R"("volume.beta.kubernetes.io/storage-class":"sc-name")",
                     .spec = kClaim,
                     .klass = kPair,
                     .with_secret = true}));

}  // namespace
}  // namespace csinative::provisioner
