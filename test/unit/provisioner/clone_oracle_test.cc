// SPDX-License-Identifier: Apache-2.0
//
// One attempt to clone a claim, as the oracle has it (provisioner 22.8): claim "src" of ns1 with
// volume "pv" and 1000 bytes. Each entry says what differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/provisioner/clone_source.h"
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

constexpr char kSource[] = R"("dataSource":{"kind":"PersistentVolumeClaim","name":"src"})";
constexpr char kFrom[] = R"({"group":"","kind":"PersistentVolumeClaim","namespace":"ns2"})";
constexpr char kTo[] = R"({"group":"","kind":"PersistentVolumeClaim"})";

// The reference with these members for group and namespace, each with a comma in front.
std::string Reference(const std::string& members,
                      const std::string& kind = "PersistentVolumeClaim") {
  return StrCat(R"("dataSourceRef":{"kind":)", JsonString(kind), R"(,"name":"src")", members, "}");
}

struct Grant {
  std::string from = kFrom;
  std::string to = kTo;
  std::string ns = "ns1";
};

struct CloneCase {
  std::string rows;
  std::string name;
  // The claim.
  std::string claim_ns = "ns1";
  std::string source = kSource;
  std::string klass = R"("storageClassName":"fake-sc-1",)";
  std::string request = "1000";
  std::string mode = "";  // null
  // Its source.
  bool has_source = true;
  std::string source_class = R"("storageClassName":"fake-sc-1",)";
  std::string source_phase = "Bound";
  bool has_volume = true;
  std::string volume_phase = "Bound";
  std::string volume_driver = "test-driver";
  std::string volume_mode = "";  // null
  bool has_claim_ref = true;
  std::string ref_uid = "", ref_ns = "ns1", ref_name = "src";
  // The rest.
  bool gate = false;
  std::optional<Grant> grant = {};
  bool driver_clones = true;
  int64_t answers_bytes = 0;  // 0: as requested
  bool ok = false;
  bool protects = false;
  size_t creates = 0;
  size_t deletes = 0;
};
void PrintTo(const CloneCase& c, std::ostream* out) { *out << c.name; }

class CloneOracle : public ::testing::TestWithParam<CloneCase> {
 protected:
  CloneOracle() {
    const CloneCase& c = GetParam();
    world_.config.worker_threads = 0;
    world_.config.clone_threads = 0;
    world_.config.cross_namespace_gate = c.gate;
    world_.features.clone_volume = c.driver_clones;
    for (const char* ns : {"ns1", "ns2"}) {
      world_.Add(
          StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", ns, R"("}})"));
    }
    if (c.has_source) AddSource();
    if (c.has_volume) AddVolume();
    if (c.grant) world_.AddGrant(c.grant->ns, c.grant->from, c.grant->to);
    if (c.answers_bytes != 0) {
      CreateResponse response;
      auto* volume = response.mutable_volume();
      volume->set_volume_id("test-volume-id");
      volume->set_capacity_bytes(c.answers_bytes);
      volume->mutable_content_source()->mutable_volume()->set_volume_id("source-id");
      world_.driver().Answer(kCreateVolume, response);
    }
    world_.Start();
  }
  void AddSource() {
    const CloneCase& c = GetParam();
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{
        "name":"src","namespace":"ns1"},"spec":{"accessModes":["ReadWriteOnce"],)",
                      c.source_class,
                      R"("volumeName":"pv","resources":{"requests":{"storage":"1000"}}}})"));
    world_.Merge<core::PersistentVolumeClaim>(
        {"ns1", "src"}, StrCat(R"({"status":{"phase":)", JsonString(c.source_phase), "}}"),
        "status");
  }
  void AddVolume() {
    const CloneCase& c = GetParam();
    const auto source = world_.Find<core::PersistentVolumeClaim>({"ns1", "src"});
    const std::string uid = !c.ref_uid.empty() ? c.ref_uid
                            : source           ? source->metadata().uid()
                                               : "none";
    std::string reference;
    if (c.has_claim_ref) {
      reference =
          StrCat(R"("claimRef":{"kind":"PersistentVolumeClaim","name":)", JsonString(c.ref_name),
                 R"(,"namespace":)", JsonString(c.ref_ns), R"(,"uid":)", JsonString(uid), "},");
    }
    if (!c.volume_mode.empty()) reference += StrCat(R"("volumeMode":")", c.volume_mode, "\",");
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},
        "spec":{"capacity":{"storage":"1000"},"accessModes":["ReadWriteOnce"],)",
                      reference, R"("csi":{"volumeHandle":"source-id","driver":)",
                      JsonString(c.volume_driver), "}}}"));
    world_.Merge<core::PersistentVolume>(
        {"", "pv"}, StrCat(R"({"status":{"phase":)", JsonString(c.volume_phase), "}}"), "status");
  }
  bool IsProtected() {
    const auto source = world_.Find<core::PersistentVolumeClaim>({"ns1", "src"});
    return source && HasCloneFinalizer(*source);
  }

  World world_;
};

TEST_P(CloneOracle, EndsAsTheOracleSays) {
  const CloneCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  std::string mode;
  if (!c.mode.empty()) mode = StrCat(R"("volumeMode":")", c.mode, "\",");
  const ProvisionResult result = world_.Attempt(
      World::ParseClaim(StrCat(R"({"metadata":{"uid":"testid","name":"claim","namespace":)",
                               JsonString(c.claim_ns), R"(,"annotations":{
          "volume.beta.kubernetes.io/storage-provisioner":"test-driver"}},
          "spec":{"accessModes":["ReadWriteOnce"],)",
                               c.klass, mode, R"("resources":{"requests":{"storage":)",
                               JsonString(c.request), "}},", c.source, "}}")),
      World::ParseClass(R"({"metadata":{"name":"fake-sc-1"},"provisioner":"test-driver"})"));
  EXPECT_EQ(result.volume.has_value(), c.ok) << result.status.message();
  EXPECT_EQ(IsProtected(), c.protects);
  const auto creates = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(creates.size(), c.creates);
  for (const CreateRequest& request : creates) {
    EXPECT_EQ(request.volume_content_source().volume().volume_id(), "source-id");
  }
  EXPECT_EQ(world_.Requests<DeleteRequest>(kDeleteVolume).size(), c.deletes);
}

CloneCase Cloned(CloneCase c) {
  c.ok = true;
  c.protects = true;
  c.creates = 1;
  return c;
}

INSTANTIATE_TEST_SUITE_P(
    Claims, CloneOracle,
    ::testing::Values(
        Cloned({.rows = "provisioner/22.8/1", .name = "matching"}),
        Cloned({.rows = "provisioner/22.8/1", .name = "matching, gate on", .gate = true}),
        CloneCase{
            .rows = "provisioner/22.8/2", .name = "driver cannot clone", .driver_clones = false},
        Cloned({.rows = "provisioner/22.8/3",
                .name = "another class",
                .klass = R"("storageClassName":"fake-sc-2",)"}),
        CloneCase{.rows = "provisioner/22.8/4",
                  .name = "volume of the source's size",
                  .request = "1001",
                  .answers_bytes = 1000,
                  .protects = true,
                  .creates = 1,
                  .deletes = 1},
        CloneCase{.rows = "provisioner/22.8/5", .name = "smaller", .request = "999"},
        CloneCase{.rows = "provisioner/22.8/6", .name = "no source", .has_source = false},
        CloneCase{.rows = "provisioner/22.8/7", .name = "source without class", .source_class = ""},
        CloneCase{.rows = "provisioner/22.8/8", .name = "claim without class", .klass = ""},
        CloneCase{.rows = "provisioner/22.8/9", .name = "no volume", .has_volume = false},
        CloneCase{.rows = "provisioner/22.8/10", .name = "Pending", .source_phase = "Pending"},
        CloneCase{.rows = "provisioner/22.8/10", .name = "Lost", .source_phase = "Lost"},
        CloneCase{.rows = "provisioner/22.8/11", .name = "Released", .volume_phase = "Released"},
        CloneCase{.rows = "provisioner/22.8/11", .name = "Failed", .volume_phase = "Failed"},
        CloneCase{.rows = "provisioner/22.8/11", .name = "PV Pending", .volume_phase = "Pending"},
        CloneCase{.rows = "provisioner/22.8/11", .name = "Available", .volume_phase = "Available"},
        CloneCase{.rows = "provisioner/22.8/12", .name = "no claimRef", .has_claim_ref = false},
        CloneCase{.rows = "provisioner/22.8/13", .name = "other UID", .ref_uid = "other"},
        CloneCase{.rows = "provisioner/22.8/13", .name = "other namespace", .ref_ns = "other"},
        CloneCase{.rows = "provisioner/22.8/13", .name = "other name", .ref_name = "other"},
        CloneCase{
            .rows = "provisioner/22.8/14", .name = "other driver", .volume_driver = "wrong.com"},
        Cloned({.rows = "provisioner/22.8/15",
                .name = "Block from Block",
                .mode = "Block",
                .volume_mode = "Block"}),
        CloneCase{.rows = "provisioner/22.8/16",
                  .name = "Block from Filesystem",
                  .mode = "Block",
                  .volume_mode = "Filesystem"},
        Cloned({.rows = "provisioner/22.8/17", .name = "nothing said"}),
        Cloned({.rows = "provisioner/22.8/17",
                .name = "Filesystem from Filesystem",
                .mode = "Filesystem",
                .volume_mode = "Filesystem"}),
        Cloned({.rows = "provisioner/22.8/17",
                .name = "Filesystem from nothing",
                .mode = "Filesystem"}),
        CloneCase{.rows = "provisioner/22.8/18",
                  .name = "Filesystem from Block",
                  .mode = "Filesystem",
                  .volume_mode = "Block"}));

constexpr char kNs1[] = R"(,"namespace":"ns1")";

CloneCase CrossNamespace(const std::string& row, const std::string& name,
                         std::optional<Grant> grant, const std::string& members = "") {
  return {.rows = row,
          .name = name,
          .claim_ns = "ns2",
          .source = Reference(members + kNs1),
          .gate = true,
          .grant = std::move(grant)};
}
CloneCase NotGranted(const std::string& name, std::optional<Grant> grant) {
  return CrossNamespace("provisioner/22.8/23", name, std::move(grant));
}

INSTANTIATE_TEST_SUITE_P(
    OtherNamespaces, CloneOracle,
    ::testing::Values(
        Cloned(CrossNamespace("provisioner/22.8/19", "granted", Grant())),
        Cloned(CrossNamespace(
            "provisioner/22.8/19", "granted by name",
            Grant{.to = R"({"group":"","kind":"PersistentVolumeClaim","name":"src"})"})),
        Cloned({.rows = "provisioner/22.8/20",
                .name = "own namespace by name",
                .source = Reference(kNs1),
                .gate = true}),
        Cloned({.rows = "provisioner/22.8/20",
                .name = "no namespace",
                .source = Reference(""),
                .gate = true}),
        Cloned({.rows = "provisioner/22.8/20",
                .name = "namespace null",
                .source = Reference(R"(,"namespace":null)"),
                .gate = true}),
        Cloned(CrossNamespace("provisioner/22.8/21", "apiGroup null", Grant(),
                              R"(,"apiGroup":null)")),
        Cloned(CrossNamespace("provisioner/22.8/21", "apiGroup absent", Grant())),
        CloneCase{.rows = "provisioner/22.8/22",
                  .name = "wrong kind",
                  .claim_ns = "ns2",
                  .source = Reference(kNs1, "WrongKind"),
                  .gate = true,
                  .grant = Grant()},
        NotGranted("grant elsewhere", Grant{.ns = "ns2"}),
        NotGranted("from another group", Grant{.from = R"({"group":"g",
            "kind":"PersistentVolumeClaim","namespace":"ns2"})"}),
        NotGranted("from another kind",
                   Grant{.from = R"({"group":"","kind":"Wrong","namespace":"ns2"})"}),
        NotGranted("from another namespace", Grant{.from = R"({"group":"",
            "kind":"PersistentVolumeClaim","namespace":"ns3"})"}),
        NotGranted("to another group",
                   Grant{.to = R"({"group":"g","kind":"PersistentVolumeClaim"})"}),
        NotGranted("to another kind", Grant{.to = R"({"group":"","kind":"Wrong"})"}),
        NotGranted("to another name", Grant{.to = R"({"group":"",
            "kind":"PersistentVolumeClaim","name":"other"})"}),
        NotGranted("empty grant", Grant{.from = "", .to = ""}),
        NotGranted("no grant", std::nullopt),
        CloneCase{.rows = "provisioner/22.8/24",
                  .name = "gate off",
                  .claim_ns = "ns2",
                  .source = Reference(kNs1),
                  .grant = Grant()}));

}  // namespace
}  // namespace csinative::provisioner
