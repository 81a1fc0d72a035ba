// SPDX-License-Identifier: Apache-2.0
//
// /metrics of csi-volume-manager after a mount that failed once, through the lint.
#include <gmock/gmock.h>

#include "test/integration/volumemanager/fixture.h"
#include "test/support/metrics_lint.h"
#include "test/support/sidecar_fixture.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeMetricsTest : public VolumeManagerFixture {};

TEST_F(NodeMetricsTest, PassTheLintAfterWorkAndAFailure) {
  StartWorld({"--fail=NodeStageVolume=Internal:not now:1"});
  StartManager({"--http-endpoint=127.0.0.1:0"});
  const std::string handle = MakeVolume("pv1");
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(paths_.PublishTarget(uid, "pv1")); })) << Log();

  const std::string text = test::ScrapeMetrics(test::ListeningPorts(manager_->pid()).at(0));
  EXPECT_THAT(text, HasSubstr("# TYPE csi_operations_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr(R"(grpc_status_code="Internal",)"));
  EXPECT_THAT(text, HasSubstr(R"(method_name="/csi.v1.Node/NodePublishVolume")"));
  EXPECT_THAT(test::LintMetrics(text), IsEmpty()) << text;
}

}  // namespace
}  // namespace csinative
