// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

namespace csinative::registrar {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Parsed {
  Options options;
  cli::ParseResult result;
};

Parsed Parse(std::vector<const char*> arguments) {
  Parsed parsed;
  cli::AutoMaxProcs max_procs{log::Logger(), {}};
  cli::FlagSet flags(cli::Grammar::kGo, "csi-node-driver-registrar");
  parsed.options.Register(flags, &max_procs);
  parsed.result = flags.Parse(arguments);
  return parsed;
}

TEST(RegistrarOptionsTest, DefaultsAreThoseOfUpstream) {
  const Options options = Parse({}).options;
  EXPECT_EQ(options.csi_address, "/run/csi/socket");
  EXPECT_EQ(options.kubelet_registration_path, "");
  EXPECT_EQ(options.plugin_registration_path, "/registration");
  EXPECT_EQ(options.timeout, seconds(1));
  EXPECT_EQ(options.connection_timeout, Duration::zero());
  EXPECT_EQ(options.health_port, 0);
  EXPECT_EQ(options.http_endpoint, "");
  EXPECT_EQ(options.mode, "");
  EXPECT_FALSE(options.enable_pprof);
  EXPECT_FALSE(options.version);
  EXPECT_FALSE(options.recreate_socket);
  EXPECT_EQ(options.ListenAddress(), "");
}

TEST(RegistrarOptionsTest, UsageListsEveryFlag) {
  const std::string usage = Parse({"-help"}).result.stderr_text;
  for (const char* flag : {"automaxprocs",
                           "connection-timeout",
                           "csi-address",
                           "enable-pprof",
                           "health-port",
                           "http-endpoint",
                           "kubelet-registration-path",
                           "log-flush-frequency",
                           "log-json-info-buffer-size",
                           "log-json-split-stream",
                           "log-text-info-buffer-size",
                           "log-text-split-stream",
                           "logging-format",
                           "mode",
                           "plugin-registration-path",
                           "recreate-socket",
                           "timeout",
                           "v",
                           "version",
                           "vmodule"}) {
    EXPECT_NE(usage.find("\n  --" + std::string(flag) + " "), std::string::npos) << flag << "\n"
                                                                                 << usage;
  }
}

// Flags that other sidecars have and this one does not (registrar 3.1).
TEST(RegistrarOptionsTest, FlagsOfOtherSidecarsAreUnknown) {
  for (const char* flag : {"-kubeconfig=x", "-metrics-address=:1", "-metrics-path=/m",
                           "-leader-election", "-feature-gates=a=true", "-worker-threads=1"}) {
    const cli::ParseResult result = Parse({flag}).result;
    EXPECT_EQ(result.outcome, cli::ParseResult::Outcome::kError) << flag;
    EXPECT_EQ(result.exit_code, 2) << flag;
  }
}

struct ListenRow {
  const char* name;
  std::vector<const char*> arguments;
  std::optional<std::string> address;  // nullopt: refused
};
void PrintTo(const ListenRow& row, std::ostream* out) { *out << row.name; }

class ListenAddressTest : public ::testing::TestWithParam<ListenRow> {};

TEST_P(ListenAddressTest, FollowsBothFlags) {
  const Options options = Parse(GetParam().arguments).options;
  EXPECT_EQ(options.CheckListener().ok(), GetParam().address.has_value());
  if (GetParam().address) EXPECT_EQ(options.ListenAddress(), *GetParam().address);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ListenAddressTest,
    ::testing::Values(
        ListenRow{"none", {}, ""},
        ListenRow{"endpoint", {"-http-endpoint=127.0.0.1:9809"}, "127.0.0.1:9809"},
        ListenRow{"port", {"-health-port=9809"}, ":9809"},
        ListenRow{"E14_negative_port", {"-health-port=-1"}, ""},
        ListenRow{"12_13_8_negative_port_and_endpoint",
                  {"-health-port=-1", "-http-endpoint=:9809"},
                  ":9809"},
        ListenRow{"12_13_9_both", {"-health-port=9809", "-http-endpoint=:9809"}, std::nullopt}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RegistrarOptionsTest, OnlyTheExactModeIsTheProbe) {
  EXPECT_TRUE(Parse({"-mode=kubelet-registration-probe"}).options.probe_mode());
  for (const char* mode : {"-mode=", "-mode=registration", "-mode=node-register",
                           "-mode=KUBELET-REGISTRATION-PROBE"}) {
    EXPECT_FALSE(Parse({mode}).options.probe_mode()) << mode;
  }
}

struct ValueRow {
  const char* name;
  const char* argument;
  bool accepted;
};
void PrintTo(const ValueRow& row, std::ostream* out) { *out << row.name; }

class ValueTest : public ::testing::TestWithParam<ValueRow> {};

TEST_P(ValueTest, IsAcceptedOrExitsWithTwo) {
  const cli::ParseResult result = Parse({GetParam().argument}).result;
  EXPECT_EQ(result.outcome == cli::ParseResult::Outcome::kParsed, GetParam().accepted);
  EXPECT_EQ(result.exit_code, GetParam().accepted ? 0 : 2);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ValueTest,
    ::testing::Values(ValueRow{"A3_version_yes", "-version=yes", false},
                      ValueRow{"A2_version_T", "-version=T", true},
                      ValueRow{"A7_timeout_without_unit", "-timeout=5", false},
                      ValueRow{"A7_timeout_micro", "-timeout=1\xc2\xb5s", true},
                      ValueRow{"A7_timeout_negative", "-timeout=-1s", true},
                      ValueRow{"A7_timeout_empty", "-timeout=", false},
                      ValueRow{"A8_port_binary", "-health-port=0b1", true},
                      ValueRow{"A8_port_exponent", "-health-port=1e3", false},
                      ValueRow{"A8_port_too_large", "-health-port=9999999999999999999", false},
                      ValueRow{"A12_quantity_K", "-log-text-info-buffer-size=1K", false},
                      ValueRow{"A14_vmodule_without_level", "-vmodule=a", false},
                      ValueRow{"A16_automaxprocs_error", "-automaxprocs=error", false},
                      ValueRow{"A16_automaxprocs_empty", "-automaxprocs=", true},
                      ValueRow{"klog_flag", "-logtostderr", false}),
    [](const auto& info) { return std::string(info.param.name); });

// Arguments of published manifests; each must parse and leave nothing over.
TEST(RegistrarOptionsTest, ArgumentsOfPublishedManifestsAreAccepted) {
  const std::vector<std::vector<const char*>> all = {
      {"--csi-address=/csi/csi.sock",
       "--kubelet-registration-path=/var/lib/kubelet/plugins/ebs.csi.aws.com/csi.sock",
       "--http-endpoint=0.0.0.0:9809", "--v=2"},
      {"--kubelet-registration-path=/var/lib/kubelet/plugins/csi.hetzner.cloud/socket"},
      {"--v=5", "--csi-address=/csi/csi.sock", "--mode=node-register",
       "--kubelet-registration-path=/var/lib/kubelet/csi-plugins/pxd.portworx.com/csi.sock"},
      {"--v=5", "--csi-address=/csi/csi.sock", "--logging-format=json",
       "--kubelet-registration-path=/var/lib/kubelet/csi-plugins/d/csi.sock"},
      {"--csi-address=/csi/csi.sock", "--kubelet-registration-path=/x", "--health-port=9809"},
      {"--kubelet-registration-path=/x", "--mode=kubelet-registration-probe"},
      {"--v=2", "--csi-address=unix:/csi/csi.sock", "--kubelet-registration-path=/x",
       "--plugin-registration-path=/registration", "--http-endpoint=localhost:29607"},
  };
  for (const auto& arguments : all) {
    const Parsed parsed = Parse(arguments);
    EXPECT_EQ(parsed.result.outcome, cli::ParseResult::Outcome::kParsed) << parsed.result.error;
    EXPECT_TRUE(parsed.result.positionals.empty());
    EXPECT_TRUE(parsed.options.logging.Validate().ok());
    EXPECT_TRUE(parsed.options.CheckListener().ok());
  }
}

TEST(RegistrarOptionsTest, LastOccurrenceWins) {
  EXPECT_EQ(Parse({"-timeout=3s", "-timeout=500ms"}).options.timeout, milliseconds(500));
}

}  // namespace
}  // namespace csinative::registrar
