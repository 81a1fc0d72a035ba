// SPDX-License-Identifier: Apache-2.0
//
// What csi-provisioner says, and with which code it exits, when its surroundings are wrong
// (provisioner 2, 3; common 6, 17.2).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/integration/provisioner/fixture.h"

namespace csinative {
namespace {

using std::chrono::seconds;

class WrongInputTest : public ProvisionerFixture {
 protected:
  std::string Stdout() const { return Read(dir_.path() + "/provisioner.out"); }
  std::string Stderr() const { return Read(log_path()); }
};

struct FlagRow {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* says;  // on stderr
};

class WrongFlagTest : public WrongInputTest, public ::testing::WithParamInterface<FlagRow> {};

TEST_P(WrongFlagTest, ExitsWithTheCodeAndTheText) {
  StartProvisioner(GetParam().arguments);
  EXPECT_EQ(ExitCode(), GetParam().code);
  EXPECT_NE(Stderr().find(GetParam().says), npos) << Stderr();
  EXPECT_EQ(Stdout(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongFlagTest,
    ::testing::Values(
        FlagRow{"unknown_flag", {"--nope"}, 2, "unknown flag: --nope"},
        FlagRow{"unknown_flag_shows_usage", {"--nope"}, 2, "--csi-address"},
        FlagRow{"single_dash",
                {"-csi-address=/x"},
                2,
                "unknown shorthand flag: 'c' in -csi-address=/x"},
        FlagRow{"bad_duration",
                {"--timeout=5"},
                2,
                R"(invalid argument "5" for "--timeout" flag: time: missing unit in duration "5")"},
        FlagRow{"klog_flag", {"--logtostderr"}, 2, "unknown flag: --logtostderr"},
        FlagRow{"help", {"--help"}, 0, "Usage of "},
        FlagRow{"bad_log_format",
                {"--logging-format=x"},
                1,
                R"(format: Invalid value: \"x\": Unsupported log format)"},
        FlagRow{
            "unknown_gate", {"--feature-gates=Nope=true"}, 255, "unrecognized feature gate: Nope"},
        FlagRow{"both_listeners",
                {"--metrics-address=:1", "--http-endpoint=:2"},
                1,
                "`--metrics-address`"},
        FlagRow{"node_deployment_without_node", {"--node-deployment"}, 255, "NODE_NAME"},
        FlagRow{"missing_kubeconfig",
                {"--kubeconfig=/nonexistent/kubeconfig"},
                255,
                "stat /nonexistent/kubeconfig: no such file or directory"},
        FlagRow{"not_in_a_cluster",
                {},
                255,
                "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                "KUBERNETES_SERVICE_PORT must be defined"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(WrongInputTest, VersionIsTheOnlyThingOnStdout) {
  StartProvisioner({"--version"});
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_NE(Stdout().find("csi-provisioner v"), npos);
  EXPECT_EQ(Stderr(), "");
}

TEST_F(WrongInputTest, MalformedKubeconfigNamesTheFile) {
  StartProvisioner({"--kubeconfig=" + WriteFile("bad", "{")});
  EXPECT_EQ(ExitCode(), 255);
  EXPECT_NE(Stderr().find("error loading config file \"" + dir_.path() + "/bad\": yaml: "), npos);
}

TEST_F(WrongInputTest, EmptyKubeconfigIsNoConfiguration) {
  StartProvisioner({"--kubeconfig=" + WriteFile("empty", "")});
  EXPECT_EQ(ExitCode(), 255);
  EXPECT_NE(Stderr().find("invalid configuration: no configuration has been provided"), npos);
}

TEST_F(WrongInputTest, AddressThatCannotBeWatchedIsRefusedAtOnce) {
  const std::string kubeconfig = StartApi();
  StartProvisioner({"--csi-address=localhost:1", "--kubeconfig=" + kubeconfig});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_NE(Stderr().find("OnConnectionLoss callback only supported for unix:// addresses"), npos);
}

TEST_F(WrongInputTest, MissingDriverSocketEndsAfterThirtySeconds) {
  const std::string kubeconfig = StartApi();
  StartProvisioner(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(seconds(45)), 1);
  EXPECT_NE(Stderr().find("no such file or directory"), npos);
  EXPECT_NE(Stderr().find("Still connecting"), npos);
  EXPECT_NE(Stderr().find("] context deadline exceeded\n"), npos);
}

TEST_F(WrongInputTest, DriverThatDoesNotKnowProbeEndsTheProcess) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--fail", "Probe=Unimplemented:no such thing"});
  StartProvisioner(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_NE(Stderr().find("CSI driver probe failed: rpc error: code = Unimplemented desc = no such "
                          "thing"),
            npos);
}

TEST_F(WrongInputTest, DriverWithoutCapabilityCallIsFatal) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--fail", "GetPluginCapabilities=Unimplemented"});
  StartProvisioner(UsualArguments(kubeconfig));
  EXPECT_EQ(ExitCode(), 255);
}

TEST_F(WrongInputTest, HangingProbeIsTriedAgainUntilTheDriverAnswers) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--hang", "Probe:2"});
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--timeout=300ms");
  StartProvisioner(arguments);
  EXPECT_TRUE(Until([this] { return Logged("CSI driver probe timed out"); }));
  EXPECT_TRUE(Until([this] { return Logged("Started provisioner controller"); }));
  EXPECT_FALSE(provisioner_->Poll().has_value());
}

TEST_F(WrongInputTest, UnreachableApiServerIsWaitedFor) {
  const std::string kubeconfig =
      WriteFile("kubeconfig",
                "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: "
                "\"http://127.0.0.1:1\"}\ncontexts:\n- name: c\n  context: {cluster: c}\n"
                "current-context: c\n");
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--leader-election");
  StartProvisioner(arguments);
  EXPECT_TRUE(Until([this] { return Logged("Error retrieving lease lock"); }));
  EXPECT_TRUE(Logged("connection refused"));
  EXPECT_FALSE(provisioner_->Poll().has_value());
}

TEST_F(WrongInputTest, WrongAuthorityIsRefusedAndTriedAgain) {
  StartApi();
  auto other = std::make_unique<apiserver::EmbeddedApiServer>(loop_, *random_);
  ASSERT_TRUE(other->Start().ok());
  // The other server's authority for this server's address.
  std::string text = other->Kubeconfig();
  const size_t at = text.find(other->url());
  ASSERT_NE(at, npos);
  text.replace(at, other->url().size(), api_->url());
  StartDriver();
  auto arguments = UsualArguments(WriteFile("kubeconfig", text));
  arguments.push_back("--leader-election");
  StartProvisioner(arguments);
  EXPECT_TRUE(Until([this] { return Logged("certificate signed by unknown authority"); }));
  EXPECT_FALSE(provisioner_->Poll().has_value());
  EXPECT_TRUE(api_->api().log().empty());
  async::RunTask(loop_, other->Close());
}

TEST_F(WrongInputTest, ExpiredTokenIsReportedAndTriedAgain) {
  StartApi();
  const std::string kubeconfig = WriteFile("expired", api_->Kubeconfig("no-longer-valid"));
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--leader-election");
  StartProvisioner(arguments);
  EXPECT_TRUE(Until([this] { return Logged("Unauthorized"); }));
  EXPECT_FALSE(provisioner_->Poll().has_value());
}

TEST_F(WrongInputTest, LeaseTimesThatMakeNoSensePanic) {
  const std::string kubeconfig = StartApi();
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--leader-election");
  arguments.push_back("--leader-election-renew-deadline=20s");
  StartProvisioner(arguments);
  EXPECT_EQ(ExitCode(), 2);
  EXPECT_NE(Stderr().find("leaseDuration must be greater than renewDeadline"), npos);
}

TEST_F(WrongInputTest, PortInUseIsFatal) {
  const std::string kubeconfig = StartApi();
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.push_back("--http-endpoint=127.0.0.1:" + std::to_string(api_->port()));
  StartProvisioner(arguments);
  EXPECT_EQ(ExitCode(), 255);
  EXPECT_NE(Stderr().find("address already in use"), npos);
}

TEST_F(WrongInputTest, LostDriverEndsTheProcessAtTheNextCall) {
  const std::string kubeconfig = StartApi();
  StartDriver();
  StartProvisioner(UsualArguments(kubeconfig));
  ASSERT_TRUE(Until([this] { return Logged("Started provisioner controller"); }));
  driver_.reset();
  ASSERT_FALSE(Until([this] { return provisioner_->Poll().has_value(); }, seconds(1)));
  ASSERT_TRUE(api_->api()
                  .CreateObject(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",
                       "metadata":{"name":"sc"},"provisioner":"sample.csi-native.io"})")
                  .ok());
  ASSERT_TRUE(api_->api()
                  .CreateObject(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",
                       "metadata":{"name":"c","namespace":"default","annotations":{
                       "volume.kubernetes.io/storage-provisioner":"sample.csi-native.io"}},
                       "spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],
                       "resources":{"requests":{"storage":"1Gi"}}}})")
                  .ok());
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_NE(Stderr().find("Lost connection to CSI driver, exiting"), npos);
}

}  // namespace
}  // namespace csinative
