// SPDX-License-Identifier: Apache-2.0
//
// CSI volumes of drivers that replace in-tree plugins, as those plugins have them (provisioner 16).
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "apis/json/from_json.h"
#include "lib/translation/translate.h"

namespace csinative::translation {
namespace {

core::PersistentVolume Parse(const std::string& metadata, const std::string& spec) {
  core::PersistentVolume volume;
  const Status parsed =
      apis::FromJsonString(R"({"metadata":{"name":"pv")" + metadata +
                               R"(},"spec":{"capacity":{"storage":"1Gi"},)" + spec + "}}",
                           &volume);
  EXPECT_TRUE(parsed.ok()) << spec << ": " << parsed.message();
  return volume;
}

struct Row {
  std::string name;
  std::string driver;
  std::string csi = "";       // more members of spec.csi, with a comma in front
  std::string affinity = "";  // terms of the node affinity
  std::string labels = "";
  std::string source = "";             // members of spec; empty: an error
  std::string expected_affinity = "";  // empty: as before
  std::string expected_labels = "";
  std::string expected_annotations = "";
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::string Affinity(const std::string& terms) {
  if (terms.empty()) return "";
  return R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[)" + terms + "]}}";
}
std::string In(const std::string& key, const std::string& values) {
  return R"({"key":")" + key + R"(","operator":"In","values":[)" + values + "]}";
}
std::string Term(const std::string& requirements) {
  return R"({"matchExpressions":[)" + requirements + "]}";
}

class ToInTreeTest : public ::testing::TestWithParam<Row> {};

TEST_P(ToInTreeTest, SourceTopologyAndLabelsAreThePlugins) {
  const Row& row = GetParam();
  const auto metadata = [](const std::string& labels, const std::string& annotations) {
    return (labels.empty() ? "" : R"(,"labels":{)" + labels + "}") +
           (annotations.empty() ? "" : R"(,"annotations":{)" + annotations + "}");
  };
  const auto translated =
      ToInTree(Parse(metadata(row.labels, ""), R"("csi":{"driver":")" + row.driver + '"' + row.csi +
                                                   "}" + Affinity(row.affinity)));
  ASSERT_EQ(translated.ok(), !row.source.empty()) << translated.status().message();
  if (!translated.ok()) return;
  const std::string& affinity =
      row.expected_affinity.empty() ? row.affinity : row.expected_affinity;
  const std::string& labels = row.expected_labels.empty() ? row.labels : row.expected_labels;
  EXPECT_EQ(translated->DebugString(),
            Parse(metadata(labels, row.expected_annotations), row.source + Affinity(affinity))
                .DebugString());
}

const std::string kZone = "topology.kubernetes.io/zone";
const std::string kRegion = "topology.kubernetes.io/region";
const std::string kBetaZone = "failure-domain.beta.kubernetes.io/zone";
const std::string kBetaRegion = "failure-domain.beta.kubernetes.io/region";
const std::string kEbs = "ebs.csi.aws.com";
const std::string kEbsZone = "topology.ebs.csi.aws.com/zone";
const std::string kGce = "pd.csi.storage.gke.io";
const std::string kGceZone = "topology.gke.io/zone";
const std::string kAzure = "disk.csi.azure.com";
const std::string kFile = "file.csi.azure.com";
const std::string kVsphere = "csi.vsphere.vmware.com";
const std::string kEbsSource = R"("awsElasticBlockStore":{"volumeID":"vol-1"})";
const std::string kDisk =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/disk-1";

// The zone of an EBS volume -> its region.
Row EbsZone(const std::string& zone, const std::string& region) {
  return {.name = "ebs: region of " + zone,
          .driver = kEbs,
          .csi = R"(,"volumeHandle":"vol-1")",
          .affinity = Term(In(kEbsZone, '"' + zone + '"')),
          .source = region.empty() ? "" : kEbsSource,
          .expected_affinity =
              Term(In(kZone, '"' + zone + '"') + "," + In(kRegion, '"' + region + '"')),
          .expected_labels =
              '"' + kRegion + R"(":")" + region + R"(",")" + kZone + R"(":")" + zone + '"'};
}

INSTANTIATE_TEST_SUITE_P(
    Ebs, ToInTreeTest,
    ::testing::Values(
        Row{.name = "ebs: all fields",
            .driver = kEbs,
            .csi = R"(,"volumeHandle":"vol-1","fsType":"xfs","readOnly":true,
                "volumeAttributes":{"partition":"3","other":"x"})",
            .source = R"("awsElasticBlockStore":{"volumeID":"vol-1","fsType":"xfs",
                "readOnly":true,"partition":3})"},
        Row{.name = "ebs: bad partition",
            .driver = kEbs,
            .csi = R"(,"volumeHandle":"vol-1","volumeAttributes":{"partition":"x"})"},
        EbsZone("us-west-2a", "us-west-2"), EbsZone("us-gov-east-1a", "us-gov-east-1"),
        EbsZone("us-west-2-lax-1a", "us-west-2"), EbsZone("us-east-1-wl1-bos-wlz-1", "us-east-1"),
        EbsZone("us-west-2ab", ""), EbsZone("west", ""),
        Row{.name = "ebs: two regions in one term",
            .driver = kEbs,
            .csi = R"(,"volumeHandle":"vol-1")",
            .affinity = Term(In(kEbsZone, R"("us-west-2a","us-east-1a")"))},
        Row{.name = "ebs: term without a zone",
            .driver = kEbs,
            .csi = R"(,"volumeHandle":"vol-1")",
            .affinity = Term(In("rack", R"("r")"))},
        Row{.name = "ebs: terms of two regions have no region label",
            .driver = kEbs,
            .csi = R"(,"volumeHandle":"vol-1")",
            .affinity = Term(In(kEbsZone, R"("us-west-2a")")) + "," +
                        Term(In(kEbsZone, R"("us-east-1b","us-east-1a")")),
            .source = kEbsSource,
            .expected_affinity =
                Term(In(kZone, R"("us-west-2a")") + "," + In(kRegion, R"("us-west-2")")) + "," +
                Term(In(kZone, R"("us-east-1b","us-east-1a")") + "," +
                     In(kRegion, R"("us-east-1")")),
            .expected_labels = '"' + kZone + R"(":"us-east-1a__us-east-1b__us-west-2a")"}));

INSTANTIATE_TEST_SUITE_P(
    Gce, ToInTreeTest,
    ::testing::Values(
        Row{.name = "gce: disk of the handle",
            .driver = kGce,
            .csi = R"(,"volumeHandle":"projects/p/zones/z/disks/d","fsType":"ext4",
                "volumeAttributes":{"partition":"1"})",
            .source = R"("gcePersistentDisk":{"pdName":"d","fsType":"ext4","partition":1})"},
        Row{.name = "gce: empty partition",
            .driver = kGce,
            .csi = R"(,"volumeHandle":"projects/p/zones/z/disks/d",
                "volumeAttributes":{"partition":""})",
            .source = R"("gcePersistentDisk":{"pdName":"d"})"},
        Row{.name = "gce: short handle", .driver = kGce, .csi = R"(,"volumeHandle":"a/b/c/d/e")"},
        Row{.name = "gce: beta labels of the volume are used",
            .driver = kGce,
            .csi = R"(,"volumeHandle":"projects/p/zones/z/disks/d")",
            .affinity = Term(In(kGceZone, R"("us-central1-a")")),
            .labels = '"' + kBetaZone + R"(":"there")",
            .source = R"("gcePersistentDisk":{"pdName":"d"})",
            .expected_affinity = Term(In(kBetaZone, R"("us-central1-a")") + "," +
                                      In(kBetaRegion, R"("us-central1")")),
            .expected_labels = '"' + kBetaRegion + R"(":"us-central1",")" + kBetaZone +
                               R"(":"there")"},
        Row{.name = "gce: a region that is there stays",
            .driver = kGce,
            .csi = R"(,"volumeHandle":"projects/p/zones/z/disks/d")",
            .affinity = Term(In(kGceZone, R"("nowhere")") + "," + In(kRegion, R"("r")")),
            .source = R"("gcePersistentDisk":{"pdName":"d"})",
            .expected_affinity = Term(In(kZone, R"("nowhere")") + "," + In(kRegion, R"("r")")),
            .expected_labels = '"' + kRegion + R"(":"r",")" + kZone + R"(":"nowhere")"}));

INSTANTIATE_TEST_SUITE_P(
    Others, ToInTreeTest,
    ::testing::Values(
        Row{.name = "cinder: zone without region",
            .driver = "cinder.csi.openstack.org",
            .csi = R"(,"volumeHandle":"v","fsType":"ext4","readOnly":true)",
            .affinity = Term(In("topology.cinder.csi.openstack.org/zone", R"("nova")")),
            .source = R"("cinder":{"volumeID":"v","fsType":"ext4","readOnly":true})",
            .expected_affinity = Term(In(kZone, R"("nova")")),
            .expected_labels = '"' + kZone + R"(":"nova")"},
        Row{.name = "azure disk: managed",
            .driver = kAzure,
            .csi = R"(,"fsType":"ext4","volumeHandle":")" + kDisk +
                   R"(","volumeAttributes":{"cachingMode":"ReadOnly","fsType":"xfs"})",
            .source = R"("azureDisk":{"diskName":"disk-1","diskURI":")" + kDisk +
                      R"(","cachingMode":"ReadOnly","fsType":"xfs","readOnly":false,
                      "kind":"Managed"})"},
        Row{.name = "azure disk: unmanaged",
            .driver = kAzure,
            .csi = R"(,"volumeHandle":"https://a.blob/vhds/d.vhd")",
            .source = R"("azureDisk":{"diskName":"d.vhd","diskURI":"https://a.blob/vhds/d.vhd",
                "fsType":"","readOnly":false,"kind":"Managed"})"},
        Row{.name = "azure disk: other handle", .driver = kAzure, .csi = R"(,"volumeHandle":"d")"},
        Row{.name = "azure file: attributes in any letter case",
            .driver = kFile,
            .csi = R"(,"volumeHandle":"h","readOnly":true,"volumeAttributes":{"shareName":"s",
                "SECRETNAME":"n","secretnamespace":"ns"})",
            .source = R"("azureFile":{"shareName":"s","secretName":"n","secretNamespace":"ns",
                "readOnly":true})"},
        Row{.name = "azure file: secret of the stage reference wins",
            .driver = kFile,
            .csi = R"(,"volumeHandle":"h","volumeAttributes":{"sharename":"s","secretname":"n"},
                "nodeStageSecretRef":{"name":"m","namespace":"ms"})",
            .source = R"("azureFile":{"shareName":"s","secretName":"m","secretNamespace":"ms"})"},
        Row{.name = "azure file: all from the handle",
            .driver = kFile,
            .csi = R"(,"volumeHandle":"rg#acc#share#disk")",
            .source = R"("azureFile":{"shareName":"share",
                "secretName":"azure-storage-account-acc-secret","secretNamespace":"default"})",
            .expected_annotations = R"("kubernetes.io/azure-file-resource-group":"rg")"},
        Row{.name = "azure file: nothing to find",
            .driver = kFile,
            .csi = R"(,"volumeHandle":"x")"},
        Row{.name = "vsphere: path of the attribute, zone and region",
            .driver = kVsphere,
            .csi = R"(,"volumeHandle":"h","fsType":"ext4",
                "volumeAttributes":{"initialvolumefilepath":"[ds] a.vmdk"})",
            .affinity = Term(In("topology.csi.vmware.com/zone", R"("z")") + "," +
                             In("topology.csi.vmware.com/region", R"("r")")),
            .source = R"("vsphereVolume":{"volumePath":"[ds] a.vmdk","fsType":"ext4"})",
            .expected_affinity = Term(In(kZone, R"("z")") + "," + In(kRegion, R"("r")")),
            .expected_labels = '"' + kRegion + R"(":"r",")" + kZone + R"(":"z")"},
        Row{.name = "portworx",
            .driver = "pxd.portworx.com",
            .csi = R"(,"volumeHandle":"h","fsType":"ext4","readOnly":true)",
            .source = R"("portworxVolume":{"volumeID":"h","fsType":"ext4","readOnly":true})"},
        Row{.name = "any other driver", .driver = "drv", .csi = R"(,"volumeHandle":"h")"}));

}  // namespace
}  // namespace csinative::translation
