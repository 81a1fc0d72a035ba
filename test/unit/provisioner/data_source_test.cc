// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/data_source.h"

#include <gtest/gtest.h>

#include "apis/json/from_json.h"
#include "test/support/oracle.h"

namespace csinative::provisioner {
namespace {

core::PersistentVolumeClaim Claim() {
  core::PersistentVolumeClaim claim;
  claim.mutable_metadata()->set_namespace_("own");
  return claim;
}

core::PersistentVolumeClaim WithReference(std::optional<std::string> ns) {
  core::PersistentVolumeClaim claim = Claim();
  auto* reference = claim.mutable_spec()->mutable_datasourceref();
  reference->set_kind("PersistentVolumeClaim");
  reference->set_name("src");
  if (ns) reference->set_namespace_(*ns);
  return claim;
}

TEST(NormalizeDataSourceTest, NoSourceIsNone) {
  EXPECT_FALSE(NormalizeDataSource(Claim(), CrossNamespace::kForbidden)->has_value());
}

TEST(NormalizeDataSourceTest, DataSourceLivesWithTheClaimAndWinsOverTheReference) {
  core::PersistentVolumeClaim claim = WithReference("other");
  claim.mutable_spec()->mutable_datasource()->set_kind("VolumeSnapshot");
  claim.mutable_spec()->mutable_datasource()->set_name("s");
  claim.mutable_spec()->mutable_datasource()->set_apigroup("snapshot.storage.k8s.io");
  const auto source = NormalizeDataSource(claim, CrossNamespace::kForbidden);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->kind, "VolumeSnapshot");
  EXPECT_EQ((*source)->group, "snapshot.storage.k8s.io");
  EXPECT_EQ((*source)->ns, "own");
}

TEST(NormalizeDataSourceTest, NamespaceOfAReferenceNeedsTheGate) {  // provisioner/22.8/24
  EXPECT_EQ(
      NormalizeDataSource(WithReference("other"), CrossNamespace::kForbidden).status().message(),
      "dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is "
      "disabled");
  EXPECT_EQ((*NormalizeDataSource(WithReference("other"), CrossNamespace::kAllowed))->ns, "other");
  EXPECT_EQ((*NormalizeDataSource(WithReference("own"), CrossNamespace::kAllowed))->ns, "own");
  EXPECT_EQ((*NormalizeDataSource(WithReference(std::nullopt), CrossNamespace::kAllowed))->ns,
            "own");
}

// Provisioner 23.1: upstream crashes.
TEST(NormalizeDataSourceTest, EmptyNamespaceOfAReferenceIsHarmless) {
  EXPECT_EQ((*NormalizeDataSource(WithReference(""), CrossNamespace::kForbidden))->ns, "own");
}

TEST(ClassifyDataSourceTest, FollowsKindAndGroup) {
  const auto classify = [](std::string kind, std::string name, std::string group) {
    return ClassifyDataSource(DataSource{std::move(kind), std::move(name), std::move(group), "ns"});
  };
  EXPECT_EQ(*ClassifyDataSource(std::nullopt), SourceType::kNone);
  EXPECT_EQ(*classify("VolumeSnapshot", "s", "snapshot.storage.k8s.io"), SourceType::kSnapshot);
  EXPECT_EQ(*classify("PersistentVolumeClaim", "c", ""), SourceType::kClone);
  EXPECT_EQ(*classify("PersistentVolumeClaim", "c", "any.group"), SourceType::kPopulator);
  EXPECT_EQ(*classify("MyPopulator", "p", "my.example.io"), SourceType::kPopulator);
  EXPECT_FALSE(classify("VolumeSnapshot", "", "snapshot.storage.k8s.io").ok());  // 22.7/4
  EXPECT_FALSE(classify("UnsupportedKind", "", "").ok());                        // 22.7/5
  EXPECT_FALSE(classify("VolumeSnapshot", "s", "unsupported.group.io").ok());    // 22.7/6
}

struct ReferenceCase {
  std::string row;
  std::string spec;
  std::string expected;  // empty: no reference
};

std::string Source(const std::string& member, const std::string& group, const std::string& kind,
                   const std::string& ns = "") {
  return '"' + member + R"(":{"kind":")" + kind + R"(","name":"remote-snapshot")" +
         (group.empty() ? "" : R"(,"apiGroup":")" + group + '"') +
         (ns.empty() ? "" : R"(,"namespace":")" + ns + '"') + "}";
}

TEST(ReferencedSnapshotOracle, FindsSnapshotsAndNothingElse) {
  constexpr char kGroup[] = "snapshot.storage.k8s.io";
  const ReferenceCase kCases[] = {
      {"provisioner/22.13/8", Source("dataSource", "", "VolumeSnapshot"), "own/remote-snapshot"},
      {"provisioner/22.13/8", Source("dataSource", kGroup, "VolumeSnapshot"),
       "own/remote-snapshot"},
      {"provisioner/22.13/8", Source("dataSourceRef", kGroup, "VolumeSnapshot"),
       "own/remote-snapshot"},
      {"provisioner/22.13/9", Source("dataSource", "", "PersistentVolumeClaim"), ""},
      {"provisioner/22.13/9", "", ""},
      {"provisioner/22.13/9", Source("dataSource", "example.com", "VolumeSnapshot"), ""},
      {"provisioner/22.13/9", Source("dataSourceRef", "example.com", "VolumeSnapshot"), ""},
      {"provisioner/22.13/10", Source("dataSourceRef", kGroup, "VolumeSnapshot", "other-namespace"),
       "other-namespace/remote-snapshot"},
  };
  for (const ReferenceCase& c : kCases) {
    const oracle::Row row(c.row);
    core::PersistentVolumeClaim claim;
    const std::string json = R"({"metadata":{"namespace":"own"},"spec":{)" + c.spec + "}}";
    ASSERT_TRUE(apis::FromJsonString(json, &claim).ok()) << json;
    EXPECT_EQ(ReferencedSnapshot(claim).value_or(""), c.expected) << json;
  }
}

// Upstream sees only dataSource (provisioner 23.5).
TEST(ReferencedClaimTest, FindsClaimsByBothFields) {
  EXPECT_FALSE(ReferencedClaim(Claim()).has_value());
  EXPECT_EQ(ReferencedClaim(WithReference("other")), "other/src");
  EXPECT_EQ(ReferencedClaim(WithReference(std::nullopt)), "own/src");
  core::PersistentVolumeClaim claim = Claim();
  claim.mutable_spec()->mutable_datasource()->set_kind("PersistentVolumeClaim");
  claim.mutable_spec()->mutable_datasource()->set_name("near");
  EXPECT_EQ(ReferencedClaim(claim), "own/near");
}

}  // namespace
}  // namespace csinative::provisioner
