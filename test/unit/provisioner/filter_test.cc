// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/claim_filter.h"
#include "cmd/provisioner/volume_filter.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

const DriverNames kNames{"foo.bar/baz", ""};
const DriverNames kMigrated{"csi.com/mock-csi", "foo.bar/baz"};

struct ClaimCase {
  std::string rows = "";  // of the oracle
  std::string name;
  DriverNames names = kNames;
  std::vector<std::pair<std::string_view, std::string>> annotations;
  std::string volume_name = "";
  std::string binding_mode = "Immediate";
  bool provision;
};

void PrintTo(const ClaimCase& c, std::ostream* out) { *out << c.name; }

class ShouldProvisionTest : public ::testing::TestWithParam<ClaimCase> {};

TEST_P(ShouldProvisionTest, FollowsTheOracle) {
  const ClaimCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  core::PersistentVolumeClaim claim;
  for (const auto& [key, value] : c.annotations) {
    apis::SetEntry(claim.mutable_metadata()->mutable_annotations(), key, value);
  }
  claim.mutable_spec()->set_volumename(c.volume_name);
  storage::StorageClass klass;
  klass.set_volumebindingmode(c.binding_mode);
  EXPECT_EQ(IsCandidate(claim, c.names) && IsReadyToBind(claim, klass), c.provision);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ShouldProvisionTest,
    ::testing::Values(
        ClaimCase{.rows = "provisioner/22.15/1",
                  .name = "own name",
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "foo.bar/baz"}},
                  .provision = true},
        ClaimCase{.rows = "provisioner/22.15/1 provisioner/22.15/5",
                  .name = "in-tree name and migrated-to",
                  .names = kMigrated,
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "foo.bar/baz"},
                                  {apis::kAnnMigratedTo, "csi.com/mock-csi"}},
                  .provision = true},
        ClaimCase{.rows = "provisioner/22.15/5",
                  .name = "in-tree name without migrated-to",
                  .names = kMigrated,
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "foo.bar/baz"}},
                  .provision = false},
        ClaimCase{.rows = "provisioner/22.15/2",
                  .name = "bound",
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "foo.bar/baz"}},
                  .volume_name = "foo",
                  .provision = false},
        ClaimCase{.rows = "provisioner/22.15/3", .name = "no annotation", .provision = false},
        ClaimCase{.name = "migrated-to alone",
                  .annotations = {{apis::kAnnMigratedTo, "foo.bar/baz"}},
                  .provision = false},
        ClaimCase{.rows = "provisioner/22.15/4",
                  .name = "other provisioner, beta",
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "abc.def/ghi"}},
                  .provision = false},
        ClaimCase{.rows = "provisioner/22.15/4",
                  .name = "other provisioner, GA",
                  .annotations = {{apis::kAnnStorageProvisioner, "abc.def/ghi"}},
                  .provision = false},
        ClaimCase{.name = "empty GA value wins over beta",
                  .annotations = {{apis::kAnnStorageProvisioner, ""},
                                  {apis::kAnnBetaStorageProvisioner, "foo.bar/baz"}},
                  .provision = false},
        ClaimCase{.rows = "provisioner/22.15/6",
                  .name = "waits for a node",
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "foo.bar/baz"}},
                  .binding_mode = "WaitForFirstConsumer",
                  .provision = false},
        ClaimCase{.name = "waits for a node, empty selection",
                  .annotations = {{apis::kAnnStorageProvisioner, "foo.bar/baz"},
                                  {apis::kAnnSelectedNode, ""}},
                  .binding_mode = "WaitForFirstConsumer",
                  .provision = false},
        ClaimCase{.rows = "provisioner/22.15/7",
                  .name = "node selected, beta",
                  .annotations = {{apis::kAnnBetaStorageProvisioner, "foo.bar/baz"},
                                  {apis::kAnnSelectedNode, "n"}},
                  .binding_mode = "WaitForFirstConsumer",
                  .provision = true},
        ClaimCase{.rows = "provisioner/22.15/7",
                  .name = "node selected, GA",
                  .annotations = {{apis::kAnnStorageProvisioner, "foo.bar/baz"},
                                  {apis::kAnnSelectedNode, "n"}},
                  .binding_mode = "WaitForFirstConsumer",
                  .provision = true}));

TEST(ClaimFilterTest, BetaClassAnnotationWinsEvenWhenEmpty) {
  core::PersistentVolumeClaim claim;
  EXPECT_EQ(ClassNameOf(claim), "");
  claim.mutable_spec()->set_storageclassname("sc");
  EXPECT_EQ(ClassNameOf(claim), "sc");
  apis::SetEntry(claim.mutable_metadata()->mutable_annotations(), apis::kAnnBetaStorageClass, "");
  EXPECT_EQ(ClassNameOf(claim), "");
}

TEST(ClaimFilterTest, AlphaNodeCountsOnlyWithoutTheCurrentKey) {
  core::PersistentVolumeClaim claim;
  auto* annotations = claim.mutable_metadata()->mutable_annotations();
  apis::SetEntry(annotations, apis::kAnnAlphaSelectedNode, "old");
  EXPECT_EQ(SelectedNodeOf(claim), "old");
  EXPECT_FALSE(HasSelectedNode(claim));
  apis::SetEntry(annotations, apis::kAnnSelectedNode, "");
  EXPECT_EQ(SelectedNodeOf(claim), "");
}

struct VolumeCase {
  std::string rows = "";  // of the oracle
  std::string name;
  DriverNames names = kNames;
  std::string provisioned_by = "";
  std::string migrated_to = "";
  std::string csi_driver = "";
  bool owned;
};

void PrintTo(const VolumeCase& c, std::ostream* out) { *out << c.name; }

class IsOwnedTest : public ::testing::TestWithParam<VolumeCase> {};

TEST_P(IsOwnedTest, FollowsTheOracle) {
  const VolumeCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  core::PersistentVolume volume;
  auto* annotations = volume.mutable_metadata()->mutable_annotations();
  if (!c.provisioned_by.empty())
    apis::SetEntry(annotations, apis::kAnnProvisionedBy, c.provisioned_by);
  if (!c.migrated_to.empty()) apis::SetEntry(annotations, apis::kAnnMigratedTo, c.migrated_to);
  if (!c.csi_driver.empty()) {
    volume.mutable_spec()->mutable_persistentvolumesource()->mutable_csi()->set_driver(
        c.csi_driver);
  }
  EXPECT_EQ(IsOwned(volume, c.names), c.owned);
}

INSTANTIATE_TEST_SUITE_P(Rows, IsOwnedTest,
                         ::testing::Values(VolumeCase{.rows = "provisioner/22.16/8",
                                                      .name = "own",
                                                      .provisioned_by = "foo.bar/baz",
                                                      .owned = true},
                                           VolumeCase{.rows = "provisioner/22.16/8",
                                                      .name = "in-tree, migrated to own",
                                                      .names = kMigrated,
                                                      .provisioned_by = "foo.bar/baz",
                                                      .migrated_to = "csi.com/mock-csi",
                                                      .owned = true},
                                           VolumeCase{.rows = "provisioner/22.16/9",
                                                      .name = "both annotations other",
                                                      .provisioned_by = "a",
                                                      .migrated_to = "b",
                                                      .owned = false},
                                           VolumeCase{.rows = "provisioner/22.16/10",
                                                      .name = "CSI, by own",
                                                      .provisioned_by = "foo.bar/baz",
                                                      .csi_driver = "foo.bar/baz",
                                                      .owned = true},
                                           VolumeCase{.rows = "provisioner/22.16/10",
                                                      .name = "CSI, by other",
                                                      .provisioned_by = "a",
                                                      .csi_driver = "foo.bar/baz",
                                                      .owned = false},
                                           VolumeCase{.rows = "provisioner/22.16/11",
                                                      .name = "static CSI, own",
                                                      .csi_driver = "foo.bar/baz",
                                                      .owned = true},
                                           VolumeCase{.rows = "provisioner/22.16/11",
                                                      .name = "static CSI, other",
                                                      .csi_driver = "a",
                                                      .owned = false},
                                           VolumeCase{.rows = "provisioner/22.16/12",
                                                      .name = "static in-tree",
                                                      .owned = false},
                                           VolumeCase{.rows = "provisioner/22.16/13",
                                                      .name = "static in-tree, migrated to own",
                                                      .migrated_to = "foo.bar/baz",
                                                      .owned = true},
                                           VolumeCase{.rows = "provisioner/22.16/13",
                                                      .name = "static in-tree, migrated to other",
                                                      .migrated_to = "a",
                                                      .owned = false}));

core::PersistentVolume Volume(std::string_view phase, std::string_view policy, bool finalizer,
                              bool deleted) {
  core::PersistentVolume volume;
  volume.mutable_status()->set_phase(std::string(phase));
  volume.mutable_spec()->set_persistentvolumereclaimpolicy(std::string(policy));
  if (finalizer)
    volume.mutable_metadata()->add_finalizers(std::string(apis::kFinalizerProvisioner));
  if (deleted) volume.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1);
  return volume;
}

struct DeleteEntry {
  std::string row;
  std::string_view phase;
  std::string_view policy;
  bool finalizer;
  bool deleted;  // has a deletionTimestamp
  bool expected;
};

TEST(ShouldDeleteTest, FollowsTheOracle) {
  const DeleteEntry kEntries[] = {
      {"provisioner/22.16/1", "Released", "Delete", false, false, true},
      {"provisioner/22.16/2", "Failed", "Delete", true, false, false},
      {"provisioner/22.16/2", "Bound", "Delete", true, false, false},
      {"provisioner/22.16/2", "Released", "Retain", true, false, false},
      {"provisioner/22.16/3", "Released", "Delete", false, true, false},
      {"provisioner/22.16/5", "Released", "Delete", true, false, true},
      {"provisioner/22.16/5", "Released", "Delete", true, true, true},
      {"provisioner/22.16/6", "Bound", "Delete", true, true, false},
      {"provisioner/22.16/6", "Bound", "Delete", true, false, false},
      {"provisioner/22.16/7", "Released", "Retain", false, false, false},
  };
  for (const DeleteEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(ShouldDelete(Volume(entry.phase, entry.policy, entry.finalizer, entry.deleted)),
              entry.expected);
  }
}

TEST(ShouldDeleteTest, FailedVolumeGoesOnlyWhenSomebodyDeletesIt) {
  const auto failed = [](std::string_view policy, bool finalizer, bool deleted) {
    core::PersistentVolume volume = Volume("Failed", policy, finalizer, deleted);
    volume.mutable_spec()->mutable_claimref()->set_name("claim");
    return volume;
  };
  EXPECT_TRUE(ShouldDelete(failed("Delete", true, true)));
  EXPECT_FALSE(ShouldDelete(failed("Delete", true, false)));
  EXPECT_FALSE(ShouldDelete(failed("Delete", false, true)));
  EXPECT_FALSE(ShouldDelete(failed("Retain", true, true)));
  EXPECT_FALSE(ShouldDelete(Volume("Failed", "Delete", true, true)));
}

TEST(ShouldDeleteTest, MigratedVolumeIsOursToDelete) {
  const oracle::Row row("provisioner/22.16/4");
  core::PersistentVolume volume = Volume("Released", "Delete", true, false);
  auto* annotations = volume.mutable_metadata()->mutable_annotations();
  apis::SetEntry(annotations, apis::kAnnProvisionedBy, "foo.bar/baz");
  apis::SetEntry(annotations, apis::kAnnMigratedTo, "csi.com/mock-csi");
  EXPECT_TRUE(IsOwned(volume, kMigrated) && ShouldDelete(volume));
}

}  // namespace
}  // namespace csinative::provisioner
