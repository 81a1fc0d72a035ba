// SPDX-License-Identifier: Apache-2.0
//
// The controllers as leaders with short times. Not built yet and so not here: csi-resizer,
// csi-snapshotter and snapshot-controller.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/sidecar/fixture.h"

namespace csinative {

inline constexpr char kGate[] = "--feature-gates=ReleaseLeaderElectionOnExit=true";

struct Controller {
  const char* program;
  const char* lease;
};
inline constexpr Controller kAttacher{"csi-attacher",
                                      "external-attacher-leader-sample-csi-native-io"};
inline constexpr Controller kProvisioner{"csi-provisioner", "sample-csi-native-io"};

inline std::string HostName() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

class LeaderFixture : public SidecarsFixture {
 protected:
  void StartWorld() {
    StartApi();
    StartDriver();
  }
  // Starts it with short times and waits until it leads and has renewed.
  Program& StartLeader(const Controller& controller, std::vector<std::string> more = {},
                       StartOptions options = {}) {
    std::vector<std::string> arguments = {
        "--leader-election", "--leader-election-namespace=default",
        "--leader-election-lease-duration=3s", "--leader-election-renew-deadline=2s",
        "--leader-election-retry-period=1s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Program& program =
        Start(controller.program, ControllerArguments(std::move(arguments)), std::move(options));
    EXPECT_TRUE(Until([&] { return program.Logged("\"Successfully renewed lease\""); }));
    return program;
  }
  std::string Lease(const Controller& controller) {
    return Find("coordination.k8s.io", "leases", "default", controller.lease);
  }
  void TakeOver(const Controller& controller) {
    EXPECT_EQ(
        Patch(StrCat("/apis/coordination.k8s.io/v1/namespaces/default/leases/", controller.lease),
              R"({"spec":{"holderIdentity":"other","leaseDurationSeconds":3600,)"
              R"("leaseTransitions":7}})"),
        200);
  }
  int LeaseWrites() const {
    int count = 0;
    for (const auto& request : api_->api().log()) {
      if (request.method != "GET" && request.target.find("/leases") != npos) ++count;
    }
    return count;
  }
};

}  // namespace csinative
