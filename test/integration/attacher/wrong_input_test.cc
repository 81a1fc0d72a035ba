// SPDX-License-Identifier: Apache-2.0
//
// What csi-attacher says, and with which code it exits, when its surroundings are wrong (attacher
// 2, 3; common 6, 17.2).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/integration/attacher/fixture.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

using std::chrono::seconds;

struct FlagRow {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* says;  // on stderr
};

class WrongFlagTest : public AttacherFixture, public ::testing::WithParamInterface<FlagRow> {};

TEST_P(WrongFlagTest, ExitsWithTheCodeAndTheText) {
  StartAttacher(GetParam().arguments);
  EXPECT_EQ(ExitCode(), GetParam().code);
  EXPECT_TRUE(Logged(GetParam().says)) << Stderr();
  EXPECT_EQ(Stdout(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongFlagTest,
    ::testing::Values(
        FlagRow{"unknown_flag", {"-nope"}, 2, "flag provided but not defined: -nope"},
        FlagRow{"negative_workers", {"-worker-threads=-1"}, 2, "-worker-threads"},
        FlagRow{"bad_duration", {"--timeout=5"}, 2, "parse error"},
        FlagRow{"klog_flag", {"--logtostderr"}, 2, "flag provided but not defined"},
        FlagRow{"help", {"-help"}, 0, "-csi-address"},
        FlagRow{"bad_log_format",
                {"--logging-format=x"},
                1,
                R"(format: Invalid value: \"x\": Unsupported log format)"},
        FlagRow{"unknown_gate", {"--feature-gates=Nope=true"}, 1, "failed to store flag gates"},
        FlagRow{"unknown_gate_beats_version",
                {"--version", "--feature-gates=Nope=true"},
                1,
                "unrecognized feature gate: Nope"},
        FlagRow{"both_listeners",
                {"--metrics-address=:1", "--http-endpoint=:2"},
                1,
                "`--metrics-address`"},
        FlagRow{"missing_kubeconfig",
                {"--kubeconfig=/nonexistent/kubeconfig"},
                1,
                "stat /nonexistent/kubeconfig: no such file or directory"},
        FlagRow{"not_in_a_cluster",
                {},
                1,
                "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                "KUBERNETES_SERVICE_PORT must be defined"}),
    [](const auto& info) { return std::string(info.param.name); });

class WrongInputTest : public AttacherFixture {};

TEST_F(WrongInputTest, VersionIsTheOnlyThingOnStdout) {
  StartAttacher({"--version"});
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_NE(Stdout().find("csi-attacher v"), npos) << Stdout();
  EXPECT_EQ(Stderr(), "");
}

TEST_F(WrongInputTest, NoWorkersIsAnErrorOnceTheApiIsConfigured) {
  StartAttacher({"-kubeconfig=" + StartApi(), "-worker-threads=0"});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("-worker-threads must be greater than zero"));
}

TEST_F(WrongInputTest, NoBurstIsAnErrorBeforeTheDriverIsContacted) {
  StartAttacher({"-kubeconfig=" + StartApi(), "-kube-api-burst=0"});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("burst is required to be greater than 0"));
}

TEST_F(WrongInputTest, AddressThatCannotBeWatchedIsRefusedAtOnce) {
  StartAttacher({"-csi-address=localhost:1", "-kubeconfig=" + StartApi()});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("OnConnectionLoss callback only supported for unix:// addresses"));
}

TEST_F(WrongInputTest, DriverThatDoesNotKnowProbeEndsTheProcess) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--fail", "Probe=Unimplemented:no such thing"});
  StartAttacher(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("rpc error: code = Unimplemented desc = no such thing"));
}

TEST_F(WrongInputTest, DriverThatIsUnavailableEndsTheProcessAndOneThatIsNotReadyIsAskedAgain) {
  const oracle::Row row("attacher/15.11/10");
  const std::string kubeconfig = StartApi();
  StartDriver({"--fail", "Probe=Unavailable:starting"});
  StartAttacher(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("rpc error: code = Unavailable desc = starting"));

  StartDriver({"--unready-probes", "1"});
  const auto start = loop_.Now();
  StartAttacher(UsualArguments(kubeconfig));
  EXPECT_TRUE(Until([this] { return Logged("CSI driver is not ready"); }));
  EXPECT_TRUE(Until([this] { return Logged("Starting CSI attacher"); }));
  EXPECT_GE(loop_.Now() - start, std::chrono::milliseconds(900));
}

TEST_F(WrongInputTest, DriverWithoutCapabilityCallEndsTheProcess) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--fail", "GetPluginCapabilities=Unimplemented"});
  StartAttacher(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(), 1);
}

TEST_F(WrongInputTest, HangingNameEndsTheProcessAfterASecond) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--hang", "GetPluginInfo"});
  StartAttacher(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(seconds(10)), 1);
  EXPECT_TRUE(Logged("context deadline exceeded"));
}

TEST_F(WrongInputTest, LeaseTimesThatMakeNoSensePanic) {
  const std::string kubeconfig = StartApi();
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--leader-election");
  arguments.push_back("--leader-election-renew-deadline=20s");
  StartAttacher(arguments);
  EXPECT_EQ(ExitCode(), 2);
  EXPECT_TRUE(Logged("leaseDuration must be greater than renewDeadline"));
}

TEST_F(WrongInputTest, PortInUseEndsTheProcess) {
  const std::string kubeconfig = StartApi();
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--http-endpoint=127.0.0.1:" + std::to_string(api_->port()));
  StartAttacher(arguments);
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("address already in use"));
}

}  // namespace
}  // namespace csinative
