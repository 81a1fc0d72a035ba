// SPDX-License-Identifier: Apache-2.0
//
// Handles as drivers say them (attacher 12.3).
#include <gtest/gtest.h>

#include "lib/translation/translate.h"

namespace csinative::translation {
namespace {

constexpr char kGce[] = "pd.csi.storage.gke.io";
constexpr char kNode[] = "projects/p/zones/us-central1-c/instances/n";

struct Row {
  std::string name;
  std::string driver = kGce;
  std::string handle;
  std::string node_id = kNode;
  std::string expected = "";  // empty: an error
};
class HandleTest : public ::testing::TestWithParam<Row> {};

TEST_P(HandleTest, IsRepaired) {
  const Row& row = GetParam();
  const auto repaired = RepairVolumeHandle(row.driver, row.handle, row.node_id);
  EXPECT_EQ(repaired.ok() ? *repaired : "", row.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, HandleTest,
    ::testing::Values(
        Row{.name = "other_driver",
            .driver = "ebs.csi.aws.com",
            .handle = "vol-1",
            .expected = "vol-1"},
        Row{.name = "driver_without_plugin", .driver = "a.example", .handle = "vol-1"},
        Row{.name = "too_short", .handle = "projects/UNSPECIFIED/zones/z"},
        Row{.name = "project_known",
            .handle = "projects/q/zones/UNSPECIFIED/disks/d",
            .expected = "projects/q/zones/UNSPECIFIED/disks/d"},
        Row{.name = "node_without_project",
            .handle = "projects/UNSPECIFIED/zones/z/disks/d",
            .node_id = "node"},
        Row{.name = "zone_known",
            .handle = "projects/UNSPECIFIED/zones/z/disks/d",
            .expected = "projects/p/zones/z/disks/d"},
        Row{.name = "zone_of_the_node",
            .handle = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
            .expected = "projects/p/zones/us-central1-c/disks/d"},
        Row{.name = "region_known",
            .handle = "projects/UNSPECIFIED/regions/r/disks/d",
            .expected = "projects/p/regions/r/disks/d"},
        Row{.name = "region_of_the_node",
            .handle = "projects/UNSPECIFIED/regions/UNSPECIFIED/disks/d",
            .expected = "projects/p/regions/us-central1/disks/d"},
        Row{.name = "region_of_a_strange_node",
            .handle = "projects/UNSPECIFIED/regions/UNSPECIFIED/disks/d",
            .node_id = "projects/p/zones/nowhere/instances/n"},
        Row{.name = "neither_zone_nor_region", .handle = "projects/UNSPECIFIED/moons/m/disks/d"}),
    [](const auto& info) { return info.param.name; });

TEST(PluginTest, SevenDriversReplaceAPlugin) {
  EXPECT_EQ(InTreePluginOf("ebs.csi.aws.com"), "kubernetes.io/aws-ebs");
  EXPECT_EQ(InTreePluginOf("pd.csi.storage.gke.io"), "kubernetes.io/gce-pd");
  EXPECT_EQ(InTreePluginOf("cinder.csi.openstack.org"), "kubernetes.io/cinder");
  EXPECT_EQ(InTreePluginOf("disk.csi.azure.com"), "kubernetes.io/azure-disk");
  EXPECT_EQ(InTreePluginOf("file.csi.azure.com"), "kubernetes.io/azure-file");
  EXPECT_EQ(InTreePluginOf("csi.vsphere.vmware.com"), "kubernetes.io/vsphere-volume");
  EXPECT_EQ(InTreePluginOf("pxd.portworx.com"), "kubernetes.io/portworx-volume");
  EXPECT_EQ(InTreePluginOf("sample.example"), "");
  EXPECT_FALSE(ReplacesInTreePlugin("sample.example"));
}

}  // namespace
}  // namespace csinative::translation
