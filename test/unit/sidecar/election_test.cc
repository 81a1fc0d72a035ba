// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/election.h"

#include <gtest/gtest.h>

#include <string>

#include "test/support/oracle.h"
#include "test/unit/kube/fake_lease_client.h"

namespace csinative::sidecar {
namespace {

// The answer of /healthz/leader-election until the election begins.
TEST(ElectionTest, BeforeTheElectionAllIsWell) {
  const oracle::Row row("common/20.9/18");
  std::string program = "/csi-test";
  char* arguments[] = {program.data(), nullptr};
  RealProcess process(1, arguments);
  kube::FakeLeaseServer server;
  kube::FakeLeaseClient client(&server);
  const Election election(process, client, {.lock_name = "driver", .lock_namespace = "default"});
  EXPECT_TRUE(election.Health().ok());
  EXPECT_TRUE(election.CheckMayAct().ok());
}

}  // namespace
}  // namespace csinative::sidecar
