// SPDX-License-Identifier: Apache-2.0
#include "cmd/livenessprobe/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace csinative::livenessprobe {
namespace {

using std::chrono::seconds;

struct Parsed {
  Options options;
  cli::ParseResult result;
};

Parsed Parse(std::vector<const char*> arguments) {
  Parsed parsed;
  cli::AutoMaxProcs max_procs{log::Logger(), {}};
  cli::FlagSet flags(cli::Grammar::kGo, "livenessprobe");
  parsed.options.Register(flags, &max_procs);
  parsed.result = flags.Parse(arguments);
  return parsed;
}

TEST(LivenessprobeOptionsTest, DefaultsAreThoseOfUpstream) {
  const Options options = Parse({}).options;
  EXPECT_EQ(options.csi_address, "/run/csi/socket");
  EXPECT_EQ(options.probe_timeout, seconds(3));
  EXPECT_EQ(options.health_port, "9808");
  EXPECT_EQ(options.http_endpoint, "");
  EXPECT_EQ(options.metrics_address, "");
  EXPECT_EQ(options.metrics_path, "/metrics");
  EXPECT_FALSE(options.once);
  EXPECT_EQ(options.HealthAddress(), "0.0.0.0:9808");
  EXPECT_FALSE(options.metrics_beside_health());
}

TEST(LivenessprobeOptionsTest, UsageListsEveryFlag) {
  const std::string usage = Parse({"-help"}).result.stderr_text;
  for (const char* flag :
       {"automaxprocs", "csi-address", "health-port", "http-endpoint", "log-flush-frequency",
        "log-json-info-buffer-size", "log-json-split-stream", "log-text-info-buffer-size",
        "log-text-split-stream", "logging-format", "metrics-address", "metrics-path", "once",
        "probe-timeout", "v", "vmodule"}) {
    EXPECT_NE(usage.find("\n  --" + std::string(flag) + " "), std::string::npos) << flag << "\n"
                                                                                 << usage;
  }
}

struct UnknownRow {
  const char* name;
  const char* argument;
};
void PrintTo(const UnknownRow& row, std::ostream* out) { *out << row.name; }

class UnknownFlagTest : public ::testing::TestWithParam<UnknownRow> {};

// G1, 12.13 row 23.
TEST_P(UnknownFlagTest, IsRefusedWithTwo) {
  const cli::ParseResult result = Parse({GetParam().argument}).result;
  EXPECT_EQ(result.outcome, cli::ParseResult::Outcome::kError);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.error.find("flag provided but not defined: "), std::string::npos)
      << result.error;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UnknownFlagTest,
    ::testing::Values(UnknownRow{"12_13_23_version", "--version"},
                      UnknownRow{"G1_enable_pprof", "--enable-pprof"},
                      UnknownRow{"G1_mode", "--mode=x"}, UnknownRow{"G1_timeout", "--timeout=1s"},
                      UnknownRow{"G1_connection_timeout", "--connection-timeout=1s"},
                      UnknownRow{"klog_flag", "--logtostderr"}),
    [](const auto& info) { return std::string(info.param.name); });

struct ListenRow {
  const char* name;
  std::vector<const char*> arguments;
  const char* error = "";  // empty: accepted, and
  const char* health = "";
  bool metrics_beside_health = false;
};
void PrintTo(const ListenRow& row, std::ostream* out) { *out << row.name; }

class ListenerTest : public ::testing::TestWithParam<ListenRow> {};

TEST_P(ListenerTest, FollowsTheFlags) {
  const ListenRow& row = GetParam();
  const Options options = Parse(row.arguments).options;
  const Status status = options.CheckListeners();
  EXPECT_EQ(status.message(), row.error);
  if (!status.ok()) return;
  EXPECT_EQ(options.HealthAddress(), row.health);
  EXPECT_EQ(options.metrics_beside_health(), row.metrics_beside_health);
}

constexpr char kBothPorts[] = "Only one of `--health-port` and `--http-endpoint` can be set";
constexpr char kBothMetrics[] = "Only one of `--metrics-address` and `--http-endpoint` can be set";

INSTANTIATE_TEST_SUITE_P(
    Rows, ListenerTest,
    ::testing::Values(
        ListenRow{.name = "12_13_27_none", .arguments = {}, .health = "0.0.0.0:9808"},
        ListenRow{.name = "12_13_24_port_and_endpoint",
                  .arguments = {"--health-port=9899", "--http-endpoint=:1"},
                  .error = kBothPorts},
        ListenRow{.name = "12_13_25_default_port_and_endpoint",
                  .arguments = {"--health-port=9808", "--http-endpoint=:1"},
                  .health = ":1",
                  .metrics_beside_health = true},
        ListenRow{.name = "12_13_26_metrics_and_endpoint",
                  .arguments = {"--metrics-address=:8080", "--http-endpoint=:1"},
                  .error = kBothMetrics},
        ListenRow{.name = "G2_all_three",
                  .arguments = {"--metrics-address=:2", "--http-endpoint=:1", "--health-port=3"},
                  .error = kBothPorts},
        ListenRow{.name = "G11_port_and_metrics",
                  .arguments = {"--health-port=9898", "--metrics-address=127.0.0.1:9899"},
                  .health = "0.0.0.0:9898"},
        ListenRow{.name = "12_13_30_endpoint",
                  .arguments = {"--http-endpoint=:9808"},
                  .health = ":9808",
                  .metrics_beside_health = true},
        ListenRow{.name = "G10_service_name",
                  .arguments = {"--health-port=http-alt"},
                  .health = "0.0.0.0:http-alt"},
        ListenRow{.name = "G10_empty", .arguments = {"--health-port="}, .health = "0.0.0.0:"}),
    [](const auto& info) { return std::string(info.param.name); });

// Arguments of published manifests; each must parse and leave nothing over.
TEST(LivenessprobeOptionsTest, ArgumentsOfPublishedManifestsAreAccepted) {
  const std::vector<std::vector<const char*>> all = {
      {},
      {"--csi-address=/csi/csi.sock", "--probe-timeout=60s"},
      {"--csi-address=unix:/csi/csi.sock"},
      {"--csi-address=/csi/csi.sock", "--probe-timeout=3s", "--http-endpoint=localhost:29602",
       "--v=2"},
      {"--csi-address=unix://C:\\csi\\csi.sock", "--probe-timeout=30s", "--health-port=29603",
       "--v=2"},
      {"--csi-address=/csi/csi.sock", "--health-port=9898"},
      {"--csi-address=/csi/csi.sock", "--probe-timeout=3s", "--http-endpoint=0.0.0.0:9808", "-v=2"},
      {"-v=5", "--csi-address=unix:///csi/csi.sock"},
      {"--csi-address=/csi/csi.sock", "--health-port=10301", "--v=2", "--probe-timeout=3s"},
      {"--csi-address=/run/topolvm/csi-topolvm.sock", "--http-endpoint=:9808"},
      {"--health-port=9808", "--csi-address=/csi/csi.sock", "--v=5", "--probe-timeout=20s"},
  };
  for (const auto& arguments : all) {
    const Parsed parsed = Parse(arguments);
    EXPECT_EQ(parsed.result.outcome, cli::ParseResult::Outcome::kParsed) << parsed.result.error;
    EXPECT_TRUE(parsed.result.positionals.empty());
    EXPECT_TRUE(parsed.options.logging.Validate().ok());
    EXPECT_TRUE(parsed.options.CheckListeners().ok());
  }
}

}  // namespace
}  // namespace csinative::livenessprobe
