// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "apis/core/v1/maps.h"
#include "cmd/attacher/attached_volume.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

using ::testing::ElementsAreArray;
using Mode = ::csi::v1::VolumeCapability::AccessMode;

struct CapabilityRow {
  std::string row;  // of the oracle
  std::string name;
  std::string volume_mode = "";
  std::string fs_type = "";
  std::vector<std::string> modes = {};
  std::vector<std::string> mount_options = {};
  bool multi_writer = false;
  std::string expected_fs = "ext4";          // "block" for block access
  Mode::Mode expected_mode = Mode::UNKNOWN;  // UNKNOWN: an error
};

class CapabilityTest : public ::testing::TestWithParam<CapabilityRow> {};

TEST_P(CapabilityTest, IsTheOracles) {  // attacher 15.9
  const CapabilityRow& row = GetParam();
  const oracle::Row reached(row.row);
  core::PersistentVolumeSpec spec;
  if (!row.volume_mode.empty()) spec.set_volumemode(row.volume_mode);
  if (!row.fs_type.empty()) {
    spec.mutable_persistentvolumesource()->mutable_csi()->set_fstype(row.fs_type);
  }
  for (const std::string& mode : row.modes) spec.add_accessmodes(mode);
  for (const std::string& option : row.mount_options) spec.add_mountoptions(option);
  DriverFeatures features;
  features.single_node_multi_writer = row.multi_writer;
  const auto capability = CapabilityOf(spec, "ext4", features);
  ASSERT_EQ(capability.ok(), row.expected_mode != Mode::UNKNOWN);
  if (!capability.ok()) return;
  EXPECT_EQ(capability->access_mode().mode(), row.expected_mode);
  EXPECT_EQ(capability->has_block(), row.expected_fs == "block");
  if (capability->has_mount()) {
    EXPECT_THAT(capability->mount().mount_flags(), ElementsAreArray(row.mount_options));
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
        CapabilityRow{.row = "attacher/15.9/1",
                      .name = "filesystem_rwx",
                      .volume_mode = "Filesystem",
                      .modes = {kRwx},
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/2",
                      .name = "block_rwx",
                      .volume_mode = "Block",
                      .modes = {kRwx},
                      .expected_fs = "block",
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/3",
                      .name = "ext3_rwx",
                      .fs_type = "ext3",
                      .modes = {kRwx},
                      .expected_fs = "ext3",
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/4",
                      .name = "rwo",
                      .modes = {kRwo},
                      .expected_mode = Mode::SINGLE_NODE_WRITER},
        CapabilityRow{.row = "attacher/15.9/5",
                      .name = "block_rwo",
                      .volume_mode = "Block",
                      .modes = {kRwo},
                      .expected_fs = "block",
                      .expected_mode = Mode::SINGLE_NODE_WRITER},
        CapabilityRow{.row = "attacher/15.9/6",
                      .name = "rox",
                      .modes = {kRox},
                      .expected_mode = Mode::MULTI_NODE_READER_ONLY},
        CapabilityRow{.row = "attacher/15.9/7",
                      .name = "all",
                      .modes = {kRwx, kRox, kRwo},
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/8",
                      .name = "mount_options",
                      .modes = {kRwx},
                      .mount_options = {"first", "second"},
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/9", .name = "rwo_rox", .modes = {kRwo, kRox}},
        CapabilityRow{.row = "attacher/15.9/10", .name = "none"},
        CapabilityRow{.row = "attacher/15.9/11",
                      .name = "b_rwx",
                      .volume_mode = "Filesystem",
                      .modes = {kRwx},
                      .multi_writer = true,
                      .expected_mode = Mode::MULTI_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/12",
                      .name = "b_rox_rwo",
                      .volume_mode = "Filesystem",
                      .modes = {kRox, kRwo},
                      .multi_writer = true},
        CapabilityRow{.row = "attacher/15.9/13",
                      .name = "b_rox_rwop",
                      .volume_mode = "Filesystem",
                      .modes = {kRox, kRwop},
                      .multi_writer = true},
        CapabilityRow{.row = "attacher/15.9/14",
                      .name = "b_rwo_rwop",
                      .volume_mode = "Filesystem",
                      .modes = {kRwo, kRwop},
                      .multi_writer = true},
        CapabilityRow{.row = "attacher/15.9/15",
                      .name = "b_rox",
                      .volume_mode = "Filesystem",
                      .modes = {kRox},
                      .multi_writer = true,
                      .expected_mode = Mode::MULTI_NODE_READER_ONLY},
        CapabilityRow{.row = "attacher/15.9/16",
                      .name = "b_rwo",
                      .volume_mode = "Filesystem",
                      .modes = {kRwo},
                      .multi_writer = true,
                      .expected_mode = Mode::SINGLE_NODE_MULTI_WRITER},
        CapabilityRow{.row = "attacher/15.9/17",
                      .name = "b_rwop",
                      .volume_mode = "Filesystem",
                      .modes = {kRwop},
                      .multi_writer = true,
                      .expected_mode = Mode::SINGLE_NODE_SINGLE_WRITER},
        CapabilityRow{.row = "attacher/15.9/18", .name = "b_none", .multi_writer = true}),
    [](const auto& info) { return info.param.name; });

TEST(RequestsTest, SourceIsExactlyOne) {
  storage::VolumeAttachmentSource source;
  EXPECT_FALSE(CheckSource(source).ok());
  source.set_persistentvolumename("pv1");
  EXPECT_TRUE(CheckSource(source).ok());
  source.mutable_inlinevolumespec();
  EXPECT_FALSE(CheckSource(source).ok());
}

TEST(RequestsTest, HandleAndReadOnlyAreThoseOfTheSource) {
  const oracle::Row row("attacher/15.10/6");
  DriverFeatures features;
  features.publish_readonly = true;
  for (const bool read_only : {false, true}) {
    core::PersistentVolumeSpec spec;
    spec.add_accessmodes(kRwo);
    auto* csi = spec.mutable_persistentvolumesource()->mutable_csi();
    csi->set_volumehandle("name");
    csi->set_readonly(read_only);
    const auto request = PublishRequest(spec, "ext4", features);
    ASSERT_TRUE(request.ok());
    EXPECT_EQ(request->volume_id(), "name");
    EXPECT_EQ(request->readonly(), read_only);
  }
}

TEST(RequestsTest, SourceHasToBeOfCsi) {
  const oracle::Row row("attacher/15.10/7");
  storage::VolumeAttachmentSource source;
  source.mutable_inlinevolumespec();
  EXPECT_EQ(InlineVolumeOf(source).status().message(),
            "inline volume spec contains nil CSI source");
  EXPECT_EQ(CsiVolumeOf(core::PersistentVolume()).status().message(),
            "pv spec contained non-csi source that was not migrated");
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
