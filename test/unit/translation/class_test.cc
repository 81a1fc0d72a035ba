// SPDX-License-Identifier: Apache-2.0
//
// Classes of in-tree plugins in the words of their drivers (provisioner 16).
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "apis/json/from_json.h"
#include "lib/translation/translate.h"

namespace csinative::translation {
namespace {

storage::StorageClass Parse(const std::string& members) {
  storage::StorageClass klass;
  const Status parsed = apis::FromJsonString("{" + members + "}", &klass);
  EXPECT_TRUE(parsed.ok()) << members << ": " << parsed.message();
  return klass;
}

std::string Topology(const std::string& key, const std::string& values) {
  return R"("allowedTopologies":[{"matchLabelExpressions":[{"key":")" + key + R"(","values":[)" +
         values + "]}]}]";
}

struct Row {
  std::string name;
  std::string plugin;
  std::string klass;     // members of the class, as JSON
  std::string expected;  // the same of the translated class; empty: an error
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class ClassToCsiTest : public ::testing::TestWithParam<Row> {};

TEST_P(ClassToCsiTest, ParametersAndTopologyAreTranslated) {
  const Row& row = GetParam();
  const std::string common = R"("mountOptions":["ro"],"reclaimPolicy":"Retain")";
  const auto translated =
      ClassToCsi("kubernetes.io/" + row.plugin, Parse(row.klass + "," + common));
  ASSERT_EQ(translated.ok(), !row.expected.empty()) << translated.status().message();
  if (!translated.ok()) return;
  EXPECT_EQ(translated->DebugString(), Parse(row.expected + "," + common).DebugString());
}

const std::string kEbsKey = "topology.ebs.csi.aws.com/zone";
const std::string kGceKey = "topology.gke.io/zone";
const std::string kGa = "topology.kubernetes.io/zone";
const std::string kBeta = "failure-domain.beta.kubernetes.io/zone";

INSTANTIATE_TEST_SUITE_P(
    Rows, ClassToCsiTest,
    ::testing::Values(
        Row{"ebs: file system, rate, others", "aws-ebs",
            R"("parameters":{"fsType":"xfs","iopsPerGB":"10","type":"io1"})",
            R"("parameters":{"allowautoiopspergbincrease":"true",
               "csi.storage.k8s.io/fstype":"xfs","iopsPerGB":"10","type":"io1"})"},
        Row{"ebs: zone", "aws-ebs", R"("parameters":{"Zone":"us-east-1a","type":"gp2"})",
            R"("parameters":{"type":"gp2"},)" + Topology(kEbsKey, R"("us-east-1a")")},
        Row{"ebs: zones", "aws-ebs", R"("parameters":{"zones":"a,b"})",
            Topology(kEbsKey, R"("a","b")")},
        Row{"ebs: zones twice", "aws-ebs",
            R"("parameters":{"zones":"a"},)" + Topology(kGa, R"("b")"), ""},
        Row{"ebs: current key", "aws-ebs", Topology(kGa, R"("a")"), Topology(kEbsKey, R"("a")")},
        Row{"ebs: beta key", "aws-ebs", Topology(kBeta, R"("a")"), Topology(kEbsKey, R"("a")")},
        Row{"ebs: other key", "aws-ebs", Topology("rack", R"("a")"), Topology("rack", R"("a")")},
        Row{"gce: all", "gce-pd", R"("parameters":{"fstype":"ext4","zone":"z","type":"pd-ssd"})",
            R"("parameters":{"csi.storage.k8s.io/fstype":"ext4","type":"pd-ssd"},)" +
                Topology(kGceKey, R"("z")")},
        Row{"gce: allowed topology", "gce-pd", Topology(kBeta, R"("a","b")"),
            Topology(kGceKey, R"("a","b")")},
        Row{"cinder: availability and zone stay", "cinder",
            R"("parameters":{"availability":"nova","zone":"z","fstype":"xfs"},)" +
                Topology(kGa, R"("a")"),
            R"("parameters":{"availability":"nova","csi.storage.k8s.io/fstype":"xfs","zone":"z"},)" +
                Topology("topology.cinder.csi.openstack.org/zone", R"("a")")},
        Row{"azure disk: file system stays, zones become topology", "azure-disk",
            R"("parameters":{"fsType":"xfs","zones":"eastus-1,eastus-2","kind":"managed"})",
            R"("parameters":{"fsType":"xfs","kind":"managed"},)" +
                Topology("topology.disk.csi.azure.com/zone", R"("eastus-1","eastus-2")")},
        Row{"azure disk: fault domains are no zone", "azure-disk",
            Topology(kGa, R"("0","eastus-1")"),
            Topology("topology.disk.csi.azure.com/zone", R"("","eastus-1")")},
        Row{"azure file: unchanged", "azure-file", R"("parameters":{"fsType":"x","zone":"z"})",
            R"("parameters":{"fsType":"x","zone":"z"})"},
        Row{"vsphere: known parameters by other names", "vsphere-volume",
            R"("parameters":{"fstype":"xfs","StoragePolicyName":"p","datastore":"d",
               "diskFormat":"thin","hostFailuresToTolerate":"1","forceProvisioning":"f",
               "cacheReservation":"c","diskStripes":"s","objectSpaceReservation":"o",
               "iopsLimit":"i","unknown":"u"},)" +
                Topology(kGa, R"("a")"),
            R"("parameters":{"cachereservation-migrationparam":"c",
               "csi.storage.k8s.io/fstype":"xfs","csimigration":"true",
               "datastore-migrationparam":"d","diskformat-migrationparam":"thin",
               "diskstripes-migrationparam":"s","forceprovisioning-migrationparam":"f",
               "hostfailurestotolerate-migrationparam":"1","iopslimit-migrationparam":"i",
               "objectspacereservation-migrationparam":"o","storagepolicyname":"p"},)" +
                Topology("topology.csi.vmware.com/zone", R"("a")")},
        Row{"portworx: one secret for all purposes", "portworx-volume",
            R"("provisioner":"kubernetes.io/portworx-volume","parameters":{"repl":"2",
               "openstorage.io/auth-secret-name":"n","openstorage.io/auth-secret-namespace":"ns"})",
            R"("provisioner":"pxd.portworx.com","parameters":{
               "csi.storage.k8s.io/controller-expand-secret-name":"n",
               "csi.storage.k8s.io/controller-expand-secret-namespace":"ns",
               "csi.storage.k8s.io/controller-publish-secret-name":"n",
               "csi.storage.k8s.io/controller-publish-secret-namespace":"ns",
               "csi.storage.k8s.io/node-expand-secret-name":"n",
               "csi.storage.k8s.io/node-expand-secret-namespace":"ns",
               "csi.storage.k8s.io/node-publish-secret-name":"n",
               "csi.storage.k8s.io/node-publish-secret-namespace":"ns",
               "csi.storage.k8s.io/node-stage-secret-name":"n",
               "csi.storage.k8s.io/node-stage-secret-namespace":"ns",
               "csi.storage.k8s.io/provisioner-secret-name":"n",
               "csi.storage.k8s.io/provisioner-secret-namespace":"ns","repl":"2"})"},
        Row{"no such plugin", "nfs", R"("parameters":{"a":"b"})", ""}));

}  // namespace
}  // namespace csinative::translation
