// SPDX-License-Identifier: Apache-2.0
//
// In-tree volumes as CSI volumes (attacher 12.1, 12.2).
#include "lib/translation/translate.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/json/from_json.h"

namespace csinative::translation {
namespace {

using Map = std::map<std::string, std::string>;

core::PersistentVolume Parse(const std::string& metadata, const std::string& spec) {
  core::PersistentVolume volume;
  const Status parsed = apis::FromJsonString(
      R"({"metadata":{"name":"pv")" + metadata + R"(},"spec":{)" + spec + "}}", &volume);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return volume;
}

struct Row {
  std::string name;
  std::string metadata = "";  // JSON members with a comma in front
  std::string spec;
  std::string driver = "";  // empty: an error
  std::string handle = "";
  Map attributes = {};
  std::string fs_type = "";
  bool read_only = false;
  std::vector<std::string> modes = {};
  std::string secret = "";  // namespace/name
};
class TranslateTest : public ::testing::TestWithParam<Row> {};

TEST_P(TranslateTest, SourceBecomesACsiSource) {
  const Row& row = GetParam();
  const core::PersistentVolume volume = Parse(row.metadata, row.spec);
  ASSERT_TRUE(IsMigratable(volume.spec()));
  const auto translated = ToCsi(volume);
  ASSERT_EQ(translated.ok(), !row.driver.empty());
  if (!translated.ok()) return;
  EXPECT_FALSE(IsMigratable(translated->spec()));
  const auto& csi = translated->spec().persistentvolumesource().csi();
  EXPECT_EQ(csi.driver(), row.driver);
  EXPECT_EQ(csi.volumehandle(), row.handle);
  EXPECT_EQ(csi.fstype(), row.fs_type);
  EXPECT_EQ(csi.readonly(), row.read_only);
  Map attributes;
  for (const auto& entry : csi.volumeattributes()) attributes[entry.key()] = entry.value();
  EXPECT_EQ(attributes, row.attributes);
  EXPECT_EQ(std::vector<std::string>(translated->spec().accessmodes().begin(),
                                     translated->spec().accessmodes().end()),
            row.modes);
  const auto& secret = csi.controllerpublishsecretref();
  EXPECT_EQ(csi.has_controllerpublishsecretref() ? secret.namespace_() + "/" + secret.name() : "",
            row.secret);
}

std::string Zones(const std::string& zones) {
  return R"(,"labels":{"failure-domain.beta.kubernetes.io/zone":")" + zones + "\"}";
}
std::string Gce(const std::string& modes = "") {
  return R"("gcePersistentDisk":{"pdName":"d"}, "accessModes":[)" + modes + "]";
}

std::vector<Row> GceRows() {
  const Map none = {{"partition", ""}};
  const std::string driver = "pd.csi.storage.gke.io";
  const std::string rwo = R"("ReadWriteOnce")", rox = R"("ReadOnlyMany")",
                    rwx = R"("ReadWriteMany")";
  const std::string somewhere = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d";
  return {
      {.name = "gce_without_zone",
       .spec = Gce(),
       .driver = driver,
       .handle = somewhere,
       .attributes = none},
      {.name = "gce_zone",
       .metadata = Zones("us-central1-c"),
       .spec = Gce(),
       .driver = driver,
       .handle = "projects/UNSPECIFIED/zones/us-central1-c/disks/d",
       .attributes = none},
      {.name = "gce_new_label",
       .metadata = R"(,"labels":{"topology.kubernetes.io/zone":"z"})",
       .spec = Gce(),
       .driver = driver,
       .handle = "projects/UNSPECIFIED/zones/z/disks/d",
       .attributes = none},
      {.name = "gce_old_label_first",
       .metadata = R"(,"labels":{"topology.kubernetes.io/zone":"z",)"
                   R"("failure-domain.beta.kubernetes.io/zone":"y"})",
       .spec = Gce(),
       .driver = driver,
       .handle = "projects/UNSPECIFIED/zones/y/disks/d",
       .attributes = none},
      {.name = "gce_region",
       .metadata = Zones("us-central1-c__us-central1-b"),
       .spec = Gce(),
       .driver = driver,
       .handle = "projects/UNSPECIFIED/regions/us-central1/disks/d",
       .attributes = none},
      {.name = "gce_same_zone_twice",
       .metadata = Zones("us-central1-c__us-central1-c"),
       .spec = Gce(),
       .driver = driver,
       .handle = "projects/UNSPECIFIED/zones/us-central1-c/disks/d",
       .attributes = none},
      {.name = "gce_two_regions", .metadata = Zones("us-central1-c__us-east1-b"), .spec = Gce()},
      {.name = "gce_strange_zones", .metadata = Zones("a__b"), .spec = Gce()},
      {.name = "gce_fields",
       .spec = R"("gcePersistentDisk":{"pdName":"d","fsType":"xfs","partition":2,"readOnly":true})",
       .driver = driver,
       .handle = somewhere,
       .attributes = {{"partition", "2"}},
       .fs_type = "xfs",
       .read_only = true},
      {.name = "gce_rwx_is_rwo",
       .spec = Gce(rwx),
       .driver = driver,
       .handle = somewhere,
       .attributes = none,
       .modes = {"ReadWriteOnce"}},
      {.name = "gce_rox",
       .spec = Gce(rox),
       .driver = driver,
       .handle = somewhere,
       .attributes = none,
       .modes = {"ReadOnlyMany"}},
      {.name = "gce_rwo_wins",
       .spec = Gce(rox + "," + rwo),
       .driver = driver,
       .handle = somewhere,
       .attributes = none,
       .modes = {"ReadWriteOnce"}},
      {.name = "gce_other_mode",
       .spec = Gce(R"("ReadWriteOncePod")"),
       .driver = driver,
       .handle = somewhere,
       .attributes = none,
       .modes = {"ReadWriteOnce"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Gce, TranslateTest, ::testing::ValuesIn(GceRows()),
                         [](const auto& info) { return info.param.name; });

std::vector<Row> AwsRows() {
  const std::string driver = "ebs.csi.aws.com";
  const auto id = [](const std::string& text) {
    return R"("awsElasticBlockStore":{"volumeID":")" + text + "\"}";
  };
  return {
      {.name = "aws_bare",
       .spec = id("vol-1"),
       .driver = driver,
       .handle = "vol-1",
       .attributes = {{"partition", "0"}}},
      {.name = "aws_any_other_id",
       .spec = id("x"),
       .driver = driver,
       .handle = "x",
       .attributes = {{"partition", "0"}}},
      {.name = "aws_url",
       .spec = id("aws://us-east-1a/vol-1"),
       .driver = driver,
       .handle = "vol-1",
       .attributes = {{"partition", "0"}}},
      {.name = "aws_url_without_zone",
       .spec = id("aws:///vol-1/"),
       .driver = driver,
       .handle = "vol-1",
       .attributes = {{"partition", "0"}}},
      {.name = "aws_url_of_no_volume", .spec = id("aws://us-east-1a/snap-1")},
      {.name = "aws_url_without_path", .spec = id("aws://vol-1")},
      {.name = "aws_url_too_deep", .spec = id("aws://us-east-1a/vol-1/x")},
      {.name = "aws_fields",
       .spec = R"("awsElasticBlockStore":{"volumeID":"vol-1","fsType":"xfs","partition":3,)"
               R"("readOnly":true},"accessModes":["ReadWriteMany"])",
       .driver = driver,
       .handle = "vol-1",
       .attributes = {{"partition", "3"}},
       .fs_type = "xfs",
       .read_only = true,
       .modes = {"ReadWriteMany"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Aws, TranslateTest, ::testing::ValuesIn(AwsRows()),
                         [](const auto& info) { return info.param.name; });

std::vector<Row> AzureRows() {
  const std::string disks = "disk.csi.azure.com", files = "file.csi.azure.com";
  const auto file = [](const std::string& more) {
    return R"("azureFile":{"shareName":"s",)" + more;
  };
  return {
      {.name = "azure_disk",
       .spec = R"("azureDisk":{"diskName":"n","diskURI":"/uri"})",
       .driver = disks,
       .handle = "/uri",
       .attributes = {{"kind", "Managed"}}},
      {.name = "azure_disk_fields",
       .spec =
           R"("azureDisk":{"diskName":"n","diskURI":"/uri","cachingMode":"None","fsType":"xfs",)"
           R"("readOnly":true,"kind":"managed"})",
       .driver = disks,
       .handle = "/uri",
       .attributes = {{"kind", "Managed"}, {"cachingmode", "None"}, {"fstype", "xfs"}},
       .fs_type = "xfs",
       .read_only = true},
      {.name = "azure_disk_not_managed",
       .spec = R"("azureDisk":{"diskName":"n","diskURI":"/uri","kind":"Shared"})"},
      {.name = "azure_file",
       .metadata = R"(,"annotations":{"kubernetes.io/azure-file-resource-group":"rg"})",
       .spec = file(R"("secretName":"azure-storage-account-acc-secret","secretNamespace":"ns",)"
                    R"("readOnly":true})"),
       .driver = files,
       .handle = "rg#acc#s#pv#ns",
       .attributes = {{"sharename", "s"}},
       .read_only = true},
      {.name = "azure_file_of_a_claim",
       .spec = file(R"("secretName":"any"},"claimRef":{"namespace":"claims","name":"c"})"),
       .driver = files,
       .handle = "#any#s#pv#claims",
       .attributes = {{"sharename", "s"}}},
      {.name = "azure_file_without_namespace", .spec = file(R"("secretName":"any"})")},
      {.name = "azure_file_secret_without_account",
       .spec = file(R"("secretName":"azure-storage-account--secret","secretNamespace":"ns"})"),
       .driver = files,
       .handle = "#azure-storage-account--secret#s#pv#ns",
       .attributes = {{"sharename", "s"}}},
  };
}
INSTANTIATE_TEST_SUITE_P(Azure, TranslateTest, ::testing::ValuesIn(AzureRows()),
                         [](const auto& info) { return info.param.name; });

std::vector<Row> OtherRows() {
  return {
      {.name = "cinder",
       .spec = R"("cinder":{"volumeID":"v","fsType":"xfs","readOnly":true})",
       .driver = "cinder.csi.openstack.org",
       .handle = "v",
       .fs_type = "xfs",
       .read_only = true},
      {.name = "vsphere",
       .spec = R"("vsphereVolume":{"volumePath":"[store] v.vmdk","fsType":"xfs"})",
       .driver = "csi.vsphere.vmware.com",
       .handle = "[store] v.vmdk",
       .fs_type = "xfs"},
      {.name = "vsphere_policy",
       .spec = R"("vsphereVolume":{"volumePath":"v","storagePolicyName":"gold"})",
       .driver = "csi.vsphere.vmware.com",
       .handle = "v",
       .attributes = {{"storagepolicyname", "gold"}}},
      {.name = "portworx_loses_read_only",
       .spec = R"("portworxVolume":{"volumeID":"v","fsType":"xfs","readOnly":true})",
       .driver = "pxd.portworx.com",
       .handle = "v",
       .fs_type = "xfs"},
      {.name = "portworx_secret",
       .metadata = R"(,"annotations":{"openstorage.io/auth-secret-name":"s",)"
                   R"("openstorage.io/auth-secret-namespace":"ns"})",
       .spec = R"("portworxVolume":{"volumeID":"v"})",
       .driver = "pxd.portworx.com",
       .handle = "v",
       .secret = "ns/s"},
      {.name = "portworx_half_a_secret",
       .metadata = R"(,"annotations":{"openstorage.io/auth-secret-name":"s"})",
       .spec = R"("portworxVolume":{"volumeID":"v"})",
       .driver = "pxd.portworx.com",
       .handle = "v"},
  };
}
INSTANTIATE_TEST_SUITE_P(Other, TranslateTest, ::testing::ValuesIn(OtherRows()),
                         [](const auto& info) { return info.param.name; });

TEST(MigratableTest, OtherKindsOfVolumesAreNot) {
  EXPECT_FALSE(IsMigratable(core::PersistentVolumeSpec()));
  EXPECT_FALSE(IsMigratable(Parse("", R"("nfs":{"server":"s","path":"/"})").spec()));
  EXPECT_FALSE(IsMigratable(Parse("", R"("csi":{"driver":"d","volumeHandle":"h"})").spec()));
}

TEST(MigratableTest, OnlyWhatIsReadNeedsToBeKept) {
  EXPECT_TRUE(IsReadLabel("topology.kubernetes.io/zone"));
  EXPECT_TRUE(IsReadLabel("failure-domain.beta.kubernetes.io/zone"));
  EXPECT_FALSE(IsReadLabel("topology.kubernetes.io/region"));
  EXPECT_FALSE(IsReadLabel(""));
  EXPECT_TRUE(IsReadAnnotation("kubernetes.io/azure-file-resource-group"));
  EXPECT_TRUE(IsReadAnnotation("openstorage.io/auth-secret-name"));
  EXPECT_FALSE(IsReadAnnotation("pv.kubernetes.io/migrated-to"));
}

}  // namespace
}  // namespace csinative::translation
