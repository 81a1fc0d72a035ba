// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/cli/auto_max_procs.h"

namespace csinative::volumemanager {
namespace {

using ::testing::HasSubstr;

class OptionsTest : public ::testing::Test {
 protected:
  cli::ParseResult Parse(std::vector<const char*> arguments) {
    cli::FlagSet flags(cli::Grammar::kPflag, "csi-volume-manager");
    options_.Register(flags, gates_, &max_procs_);
    return flags.Parse(arguments);
  }
  Options options_;
  cli::FeatureGates gates_ = Gates();
  cli::AutoMaxProcs max_procs_{log::Logger()};
};

TEST_F(OptionsTest, DefaultsAreKubelets) {
  ASSERT_EQ(Parse({}).outcome, cli::ParseResult::Outcome::kParsed);
  ASSERT_TRUE(options_.Validate().ok());
  const Config config = options_.ToConfig("node");
  EXPECT_EQ(config.node, "node");
  EXPECT_EQ(config.root, "/var/lib/kubelet");
  EXPECT_EQ(config.sync_period, std::chrono::minutes(1));
  EXPECT_EQ(config.status_period, std::chrono::seconds(10));
  EXPECT_EQ(config.settle, std::chrono::seconds(10));
  EXPECT_EQ(config.force_delay, std::chrono::seconds(30));
  EXPECT_EQ(config.pod_directories, PodDirectoryPolicy::kManage);
  EXPECT_EQ(options_.kube_api_qps, 50);
  EXPECT_EQ(options_.kube_api_burst, 100);
}

struct BadRow {
  const char* argument;
  const char* text;
};
class BadValue : public OptionsTest, public ::testing::WithParamInterface<BadRow> {};

TEST_P(BadValue, IsRefusedByName) {
  ASSERT_EQ(Parse({GetParam().argument}).outcome, cli::ParseResult::Outcome::kParsed);
  EXPECT_THAT(options_.Validate().message(), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    OptionsTest, BadValue,
    ::testing::Values(
        BadRow{"--root-dir=relative", "--root-dir must be a clean absolute path: \"relative\""},
        BadRow{"--root-dir=/a/../b", "--root-dir"}, BadRow{"--root-dir=/", "--root-dir"},
        BadRow{"--root-dir=", "--root-dir"},
        BadRow{"--enable-controller-attach-detach=false", "--enable-controller-attach-detach"},
        BadRow{"--sync-frequency=0s", "--sync-frequency must be greater than zero"},
        BadRow{"--node-status-update-frequency=-1s", "--node-status-update-frequency"},
        BadRow{"--kube-api-qps=-1", "--kube-api-qps must not be negative"},
        BadRow{"--event-burst=-1", "--event-burst"},
        BadRow{"--max-concurrent-operations=-1", "--max-concurrent-operations"},
        BadRow{"--terminating-settle-period=-1s", "--terminating-settle-period"},
        BadRow{"--force-deleted-pod-unmount-delay=-1s", "--force-deleted-pod-unmount-delay"}));

TEST_F(OptionsTest, UnknownFlagEndsWithCodeTwo) {
  const cli::ParseResult parsed = Parse({"--no-such-flag"});
  EXPECT_EQ(parsed.outcome, cli::ParseResult::Outcome::kError);
  EXPECT_EQ(parsed.exit_code, 2);
}

TEST_F(OptionsTest, LockedGateTakesOnlyItsDefault) {
  EXPECT_TRUE(gates_.Apply({{"SELinuxChangePolicy", false}}, log::Logger()));
  EXPECT_FALSE(gates_.Apply({{"SELinuxChangePolicy", true}}, log::Logger()));
  EXPECT_TRUE(gates_.Apply({{"NoSuchGate", true}}, log::Logger()));
}

}  // namespace
}  // namespace csinative::volumemanager
