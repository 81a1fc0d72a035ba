// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/data_source.h"

#include <gtest/gtest.h>

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
  EXPECT_FALSE(NormalizeDataSource(WithReference("other"), CrossNamespace::kForbidden).ok());
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
  EXPECT_EQ(*classify("PersistentVolumeClaim", "c", "any.group"), SourceType::kClone);
  EXPECT_EQ(*classify("MyPopulator", "p", "my.example.io"), SourceType::kPopulator);
  EXPECT_FALSE(classify("VolumeSnapshot", "", "snapshot.storage.k8s.io").ok());  // 22.7/4
  EXPECT_FALSE(classify("UnsupportedKind", "", "").ok());                        // 22.7/5
  EXPECT_FALSE(classify("VolumeSnapshot", "s", "unsupported.group.io").ok());    // 22.7/6
}

// Provisioner/22.13/8 to 10.
TEST(ReferencedSnapshotTest, FindsSnapshotsAndNothingElse) {
  core::PersistentVolumeClaim claim = Claim();
  EXPECT_FALSE(ReferencedSnapshot(claim).has_value());
  auto* source = claim.mutable_spec()->mutable_datasource();
  source->set_kind("VolumeSnapshot");
  source->set_name("s");
  EXPECT_EQ(ReferencedSnapshot(claim), "own/s");
  source->set_apigroup("snapshot.storage.k8s.io");
  EXPECT_EQ(ReferencedSnapshot(claim), "own/s");
  source->set_apigroup("example.com");
  EXPECT_FALSE(ReferencedSnapshot(claim).has_value());
  source->clear_apigroup();
  source->set_kind("PersistentVolumeClaim");
  EXPECT_FALSE(ReferencedSnapshot(claim).has_value());
  claim.mutable_spec()->clear_datasource();
  auto* reference = claim.mutable_spec()->mutable_datasourceref();
  reference->set_kind("VolumeSnapshot");
  reference->set_name("remote-snapshot");
  reference->set_apigroup("snapshot.storage.k8s.io");
  EXPECT_EQ(ReferencedSnapshot(claim), "own/remote-snapshot");
  reference->set_namespace_("other-namespace");
  EXPECT_EQ(ReferencedSnapshot(claim), "other-namespace/remote-snapshot");
  reference->set_apigroup("example.com");
  EXPECT_FALSE(ReferencedSnapshot(claim).has_value());
}

}  // namespace
}  // namespace csinative::provisioner
