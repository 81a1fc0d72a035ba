// SPDX-License-Identifier: Apache-2.0
//
// /metrics of each program after some work, some of it failed, through the lint. That the families
// are upstream's is what scripts/conformance compares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/sidecar/fixture.h"
#include "test/support/metrics_lint.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SidecarMetricsTest : public SidecarsFixture {
 protected:
  // The text of a good answer has what is expected, and nothing is wrong with it.
  void ExpectGood(Program& program, const std::vector<std::string>& expected) {
    const std::string text = test::ScrapeMetrics(program.Port());
    for (const std::string& part : expected) EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(test::LintMetrics(text), IsEmpty()) << text;
  }
};

TEST_F(SidecarMetricsTest, OfControllersPassTheLintAfterWorkAndFailures) {
  StartApi();
  StartDriver({"--fail", "CreateVolume=Internal:not now:1", "--fail",
               "ControllerPublishVolume=Internal:not now:1"});
  Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"sc"},
        "provisioner":"sample.csi-native.io"})");
  Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},"spec":{
        "drivers":[{"name":"sample.csi-native.io","nodeID":"node-1","topologyKeys":[]}]}})");
  const std::vector<std::string> more = {"--leader-election", "--http-endpoint=127.0.0.1:0",
                                         "--retry-interval-start=100ms"};
  Program& provisioner = Start("csi-provisioner", ControllerArguments(more));
  Program& attacher = Start("csi-attacher", ControllerArguments(more));
  Add(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":
        "default","annotations":{"volume.kubernetes.io/storage-provisioner":
        "sample.csi-native.io"}},"spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],
        "resources":{"requests":{"storage":"1Mi"}}}})");
  ASSERT_TRUE(Until([&] { return !api_->api().ListObjects("", "persistentvolumes").empty(); }));
  const std::string volume =
      "pvc-" + std::string(api_->api().ListObjects("", "persistentvolumeclaims")[0]->uid);
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":
        "va"},"spec":{"attacher":"sample.csi-native.io","nodeName":"node","source":{
        "persistentVolumeName":")",
             volume, R"("}}})"));
  ASSERT_TRUE(Until([&] {
    return Find("storage.k8s.io", "volumeattachments", "", "va").find(R"("attached":true)") != npos;
  }));

  ExpectGood(provisioner, {"# TYPE csi_sidecar_operations_seconds histogram\n",
                           R"(grpc_status_code="Internal",)", "\nleader_election_master_status{",
                           "\nworkqueue_adds_total{",
                           "\ncontroller_persistentvolumeclaim_provision_failed_total{",
                           "\nprocess_resident_memory_bytes "});
  ExpectGood(attacher, {"# TYPE csi_sidecar_operations_seconds histogram\n",
                        R"(grpc_status_code="Internal",)", "\nleader_election_master_status{",
                        "\nworkqueue_adds_total{", "\nprocess_resident_memory_bytes "});
}

TEST_F(SidecarMetricsTest, OfTheProbePassTheLintAfterAFailedCheck) {
  StartDriver({"--fail", "Probe=FailedPrecondition:not now:1"});
  Program& probe =
      Start("livenessprobe", {"--csi-address=" + driver_socket(), "--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([&] { return probe.Port() != 0; })) << probe.Stderr();
  EXPECT_THAT(Get("/healthz", probe.Port()), HasSubstr("FailedPrecondition"));
  EXPECT_THAT(Get("/healthz", probe.Port()), HasSubstr("ok"));
  ExpectGood(probe, {R"(grpc_status_code="FailedPrecondition",)", R"(grpc_status_code="OK",)",
                     "\nprocess_start_time_seconds "});
}

}  // namespace
}  // namespace csinative
