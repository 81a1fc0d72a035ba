// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/create_request.h"

#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

using AccessMode = ::csi::v1::VolumeCapability::AccessMode;

core::PersistentVolumeClaim Claim(std::vector<std::string> modes) {
  core::PersistentVolumeClaim claim;
  for (auto& mode : modes) claim.mutable_spec()->add_accessmodes(mode);
  return claim;
}

TEST(VolumeNameTest, IsPrefixAndUid) {
  EXPECT_EQ(*VolumeName({}, "1-2-3"), "pvc-1-2-3");
  EXPECT_EQ(*VolumeName({"test", 5}, "testid"), "test-testi");
  EXPECT_EQ(*VolumeName({"v", 6}, "123e4567-e89b-12d3-a456-426614174000"), "v-123e45");
  EXPECT_EQ(*VolumeName({"v", 32}, "123e4567-e89b-12d3-a456-426614174000"),
            "v-123e4567e89b12d3a456426614174000");
}

TEST(VolumeNameTest, RefusesWhatGivesNoUniqueName) {
  EXPECT_FALSE(VolumeName({"", -1}, "uid").ok());
  EXPECT_FALSE(VolumeName({}, "").ok());  // provisioner/22.4/19
  EXPECT_FALSE(VolumeName({"v", 0}, "uid").ok());
  EXPECT_FALSE(VolumeName({"v", -2}, "uid").ok());
  EXPECT_FALSE(VolumeName({"v", 33}, "uid").ok());
}

TEST(RequestedBytesTest, RoundsUpAndIgnoresLimits) {
  core::PersistentVolumeClaim claim;
  EXPECT_EQ(*RequestedBytes(claim), 0);
  auto* resources = claim.mutable_spec()->mutable_resources();
  apis::MutableEntry(resources->mutable_limits(), "storage")->set_string("5Gi");
  EXPECT_EQ(*RequestedBytes(claim), 0);
  auto* request = apis::MutableEntry(resources->mutable_requests(), "storage");
  request->set_string("1Gi");
  EXPECT_EQ(*RequestedBytes(claim), int64_t{1} << 30);
  request->set_string("100m");
  EXPECT_EQ(*RequestedBytes(claim), 1);
}

struct ModesCase {
  std::string rows = "";  // of the oracle
  std::string name;
  std::vector<std::string> claim_modes;
  csi::SingleNodeMultiWriter single_node = csi::SingleNodeMultiWriter::kNo;
  std::vector<AccessMode::Mode> expected;
};

void PrintTo(const ModesCase& c, std::ostream* out) { *out << c.name; }

class VolumeCapabilitiesTest : public ::testing::TestWithParam<ModesCase> {};

TEST_P(VolumeCapabilitiesTest, MapEachModeAlone) {
  const ModesCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  auto got = VolumeCapabilities(Claim(c.claim_modes), {}, "ext4", c.single_node);
  ASSERT_TRUE(got.ok());
  std::vector<AccessMode::Mode> modes;
  for (const auto& capability : *got) modes.push_back(capability.access_mode().mode());
  EXPECT_EQ(modes, c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, VolumeCapabilitiesTest,
    ::testing::Values(
        ModesCase{.rows = "provisioner/22.4/3", .name = "none -> none", .expected = {}},
        ModesCase{.rows = "provisioner/22.4/4",
                  .name = "RWX",
                  .claim_modes = {"ReadWriteMany"},
                  .expected = {AccessMode::MULTI_NODE_MULTI_WRITER}},
        ModesCase{.rows = "provisioner/22.4/5",
                  .name = "ROX",
                  .claim_modes = {"ReadOnlyMany"},
                  .expected = {AccessMode::MULTI_NODE_READER_ONLY}},
        ModesCase{.rows = "provisioner/22.4/7",
                  .name = "RWO",
                  .claim_modes = {"ReadWriteOnce"},
                  .expected = {AccessMode::SINGLE_NODE_WRITER}},
        ModesCase{.name = "RWOP, plain driver",
                  .claim_modes = {"ReadWriteOncePod"},
                  .expected = {AccessMode::SINGLE_NODE_WRITER}},
        ModesCase{.rows = "provisioner/22.4/8",
                  .name = "RWO, multi-writer driver",
                  .claim_modes = {"ReadWriteOnce"},
                  .single_node = csi::SingleNodeMultiWriter::kYes,
                  .expected = {AccessMode::SINGLE_NODE_MULTI_WRITER}},
        ModesCase{.rows = "provisioner/22.4/9",
                  .name = "RWOP, multi-writer driver",
                  .claim_modes = {"ReadWriteOncePod"},
                  .single_node = csi::SingleNodeMultiWriter::kYes,
                  .expected = {AccessMode::SINGLE_NODE_SINGLE_WRITER}},
        ModesCase{.rows = "provisioner/22.4/10",
                  .name = "ROX and RWO, in order",
                  .claim_modes = {"ReadOnlyMany", "ReadWriteOnce"},
                  .expected = {AccessMode::MULTI_NODE_READER_ONLY, AccessMode::SINGLE_NODE_WRITER}},
        ModesCase{.name = "duplicates are kept",
                  .claim_modes = {"ReadWriteMany", "ReadWriteMany"},
                  .expected = {AccessMode::MULTI_NODE_MULTI_WRITER,
                               AccessMode::MULTI_NODE_MULTI_WRITER}}));

TEST(VolumeCapabilitiesTest, UnknownModeIsAnError) {
  EXPECT_FALSE(
      VolumeCapabilities(Claim({"ReadSometimes"}), {}, "", csi::SingleNodeMultiWriter::kNo).ok());
}

TEST(VolumeCapabilitiesTest, MountCarriesFsTypeAndOptionsAndBlockNothing) {
  storage::StorageClass klass;
  klass.add_mountoptions("foo=bar");
  klass.add_mountoptions("baz=qux");
  core::PersistentVolumeClaim claim = Claim({"ReadWriteOnce"});
  auto mount = VolumeCapabilities(claim, klass, "xfs", csi::SingleNodeMultiWriter::kNo);
  ASSERT_TRUE(mount.ok());
  EXPECT_EQ((*mount)[0].mount().fs_type(), "xfs");
  ASSERT_EQ((*mount)[0].mount().mount_flags_size(), 2);
  EXPECT_EQ((*mount)[0].mount().mount_flags(1), "baz=qux");
  claim.mutable_spec()->set_volumemode("Block");
  auto block = VolumeCapabilities(claim, klass, "xfs", csi::SingleNodeMultiWriter::kNo);
  ASSERT_TRUE(block.ok());
  EXPECT_TRUE((*block)[0].has_block());
}

}  // namespace
}  // namespace csinative::provisioner
