// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "apis/core/v1/maps.h"

namespace csinative::attacher {
namespace {

using ::testing::ElementsAre;
using Mode = ::csi::v1::VolumeCapability::AccessMode;

struct CapabilityRow {
  std::string name;
  std::string volume_mode = "";
  std::string fs_type = "";
  std::vector<std::string> modes;
  bool multi_writer = false;
  std::string expected_fs = "ext4";          // "block" for block access
  Mode::Mode expected_mode = Mode::UNKNOWN;  // UNKNOWN: an error
};

class CapabilityTest : public ::testing::TestWithParam<CapabilityRow> {};

TEST_P(CapabilityTest, IsTheOracles) {  // attacher 15.9
  const CapabilityRow& row = GetParam();
  core::PersistentVolumeSpec spec;
  if (!row.volume_mode.empty()) spec.set_volumemode(row.volume_mode);
  if (!row.fs_type.empty()) {
    spec.mutable_persistentvolumesource()->mutable_csi()->set_fstype(row.fs_type);
  }
  for (const std::string& mode : row.modes) spec.add_accessmodes(mode);
  DriverFeatures features;
  features.single_node_multi_writer = row.multi_writer;
  const auto capability = CapabilityOf(spec, "ext4", features);
  ASSERT_EQ(capability.ok(), row.expected_mode != Mode::UNKNOWN);
  if (!capability.ok()) return;
  EXPECT_EQ(capability->access_mode().mode(), row.expected_mode);
  EXPECT_EQ(capability->has_block(), row.expected_fs == "block");
  if (capability->has_mount()) {
    EXPECT_EQ(capability->mount().fs_type(), row.expected_fs);
    EXPECT_EQ(capability->mount().volume_mount_group(), "");
  }
}

const char kRwo[] = "ReadWriteOnce";
const char kRox[] = "ReadOnlyMany";
const char kRwx[] = "ReadWriteMany";
const char kRwop[] = "ReadWriteOncePod";

INSTANTIATE_TEST_SUITE_P(
    Rows, CapabilityTest,
    ::testing::Values(
        CapabilityRow{.name = "filesystem_rwx",
                      .volume_mode = "Filesystem",
                      .modes = {kRwx},
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.name = "block_rwx",
                      .volume_mode = "Block",
                      .modes = {kRwx},
                      .expected_fs = "block",
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.name = "ext3_rwx",
                      .fs_type = "ext3",
                      .modes = {kRwx},
                      .expected_fs = "ext3",
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.name = "rwo", .modes = {kRwo}, .expected_mode = Mode::SINGLE_NODE_WRITER},
        CapabilityRow{.name = "block_rwo",
                      .volume_mode = "Block",
                      .modes = {kRwo},
                      .expected_fs = "block",
                      .expected_mode = Mode::SINGLE_NODE_WRITER},
        CapabilityRow{
            .name = "rox", .modes = {kRox}, .expected_mode = Mode::MULTI_NODE_READER_ONLY},
        CapabilityRow{.name = "all",
                      .modes = {kRwx, kRox, kRwo},
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.name = "rwo_rox", .modes = {kRwo, kRox}}, CapabilityRow{.name = "none"},
        CapabilityRow{.name = "b_rwx",
                      .modes = {kRwx},
                      .multi_writer = true,
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.name = "b_rox_rwo", .modes = {kRox, kRwo}, .multi_writer = true},
        CapabilityRow{.name = "b_rox_rwop", .modes = {kRox, kRwop}, .multi_writer = true},
        CapabilityRow{.name = "b_rwo_rwop", .modes = {kRwo, kRwop}, .multi_writer = true},
        CapabilityRow{.name = "b_rox",
                      .modes = {kRox},
                      .multi_writer = true,
                      .expected_mode = Mode::MULTI_NODE_READER_ONLY},
        CapabilityRow{.name = "b_rwo",
                      .modes = {kRwo},
                      .multi_writer = true,
                      .expected_mode = Mode::SINGLE_NODE_MULTI_WRITER},
        CapabilityRow{.name = "b_rwop",
                      .modes = {kRwop},
                      .multi_writer = true,
                      .expected_mode = Mode::SINGLE_NODE_SINGLE_WRITER},
        CapabilityRow{.name = "b_none", .multi_writer = true}),
    [](const auto& info) { return info.param.name; });

TEST(RequestsTest, MountOptionsKeepTheirOrder) {  // attacher 15.9
  core::PersistentVolumeSpec spec;
  spec.add_accessmodes(kRwx);
  spec.add_mountoptions("first");
  spec.add_mountoptions("second");
  EXPECT_THAT(CapabilityOf(spec, "ext4", {})->mount().mount_flags(),
              ElementsAre("first", "second"));
}

TEST(RequestsTest, SourceIsExactlyOne) {  // A22, A23, D13, D14
  storage::VolumeAttachmentSource source;
  EXPECT_EQ(CheckSource(source).message(),
            "neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source");
  source.set_persistentvolumename("pv1");
  EXPECT_TRUE(CheckSource(source).ok());
  source.mutable_inlinevolumespec();
  EXPECT_EQ(CheckSource(source).message(),
            "both InlineCSIVolumeSource and PersistentVolumeName specified in VA source");
}

TEST(RequestsTest, InlineVolumeNeedsACsiSource) {
  storage::VolumeAttachmentSource source;
  source.mutable_inlinevolumespec();
  EXPECT_EQ(InlineSpecOf(source).status().message(), "inline volume spec contains nil CSI source");
}

TEST(RequestsTest, RecordedNodeIdMayBeEmpty) {  // attacher 8.1
  storage::VolumeAttachment attachment;
  attachment.mutable_spec()->set_nodename("node1");
  apis::SetEntry(attachment.mutable_metadata()->mutable_annotations(),
                 "csi.alpha.kubernetes.io/node-id", "");
  const auto used = NodeIdOf(attachment, std::nullopt, "d", RecordedNodeId::kUse);
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(*used, "");
  EXPECT_FALSE(NodeIdOf(attachment, std::nullopt, "d", RecordedNodeId::kIgnore).ok());
}

}  // namespace
}  // namespace csinative::attacher
