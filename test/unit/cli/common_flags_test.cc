// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/common_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/log/output.h"
#include "test/unit/cli/cli_fixture.h"

namespace csinative::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

struct ValidationRow {
  std::string name;
  std::vector<std::string> arguments;
  std::string error = {};
};

// common 5.1 and the end of 20.4
TEST(LoggingFlagsTest, ValidationHasUpstreamsTexts) {
  const std::vector<ValidationRow> rows = {
      {"text with vmodule", {"--v=10", "--vmodule=gopher*=100"}},
      {"json", {"--logging-format=json"}},
      {"zero buffers", {"--log-text-info-buffer-size=0", "--log-json-info-buffer-size=0Ki"}},
      {"no split", {"--log-text-split-stream=false"}},
      {"format",
       {"--logging-format=no-such-format"},
       R"(format: Invalid value: "no-such-format": Unsupported log format)"},
      {"flush zero",
       {"--log-flush-frequency=0"},
       R"(flushFrequency: Invalid value: "0s": Must be greater than zero)"},
      {"flush negative",
       {"--log-flush-frequency=-1s"},
       R"(flushFrequency: Invalid value: "-1s": Must be greater than zero)"},
      {"json with vmodule",
       {"--logging-format=json", "--vmodule=a=1"},
       "vmodule: Forbidden: Only supported for text log format"},
      {"unknown format with vmodule",
       {"--logging-format=x", "--vmodule=a=1"},
       R"([format: Invalid value: "x": Unsupported log format, )"
       "vmodule: Forbidden: Only supported for text log format]"},
      {"empty format with vmodule",
       {"--logging-format=", "--vmodule=a=1"},
       R"(format: Invalid value: "": Unsupported log format)"},
      {"text split",
       {"--log-text-split-stream"},
       "options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled"},
      {"text buffer",
       {"--log-text-info-buffer-size=1k"},
       "options.text.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled"},
      {"negative buffer",
       {"--log-json-info-buffer-size=-1"},
       "options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled"},
      {"three problems, in registrar row A13's order",
       {"--logging-format=xml", "--log-text-split-stream", "--log-flush-frequency=0s"},
       R"([flushFrequency: Invalid value: "0s": Must be greater than zero, )"
       R"(format: Invalid value: "xml": Unsupported log format, )"
       "options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled]"},
      {"two problems",
       {"--log-json-split-stream", "--log-json-info-buffer-size=1"},
       "[options.json.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled, "
       "options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled]"},
  };
  for (const ValidationRow& row : rows) {
    TestProgram program(Grammar::kGo);
    ASSERT_EQ(program.Parse(row.arguments).exit_code, 0) << row.name;
    EXPECT_EQ(program.logging.Validate().message(), row.error) << row.name;
  }
}

TEST(LoggingFlagsTest, InvalidConfigurationIsReportedAsText) {
  const auto output = std::make_shared<log::CollectingOutput>();
  const log::Logger log = log::NewLogger(output);
  TestProgram program(Grammar::kGo);
  ASSERT_EQ(program.Parse({"--logging-format=json", "--vmodule=a=1"}).exit_code, 0);
  EXPECT_FALSE(program.logging.ValidateAndApply(log).ok());
  EXPECT_THAT(output->Records(),
              ElementsAre(EndsWith("] \"LoggingConfiguration is invalid\" err=\"vmodule: "
                                   "Forbidden: Only supported for text log format\"")));
  EXPECT_EQ(output->Last()[0], 'E');
}

TEST(LoggingFlagsTest, ValidConfigurationReachesTheBackend) {
  const auto output = std::make_shared<log::CollectingOutput>();
  const log::Logger log = log::NewLogger(output);
  TestProgram program(Grammar::kPflag);
  ASSERT_EQ(program.Parse({"-v3", "--vmodule=common_flags_test=7"}).exit_code, 0);
  ASSERT_TRUE(program.logging.ValidateAndApply(log).ok());
  EXPECT_THAT(output->Records(), IsEmpty());
  EXPECT_EQ(log.backend()->verbosity(), 3);
  EXPECT_TRUE(log.Enabled(7));
  EXPECT_FALSE(log.Enabled(8));

  TestProgram json(Grammar::kGo);
  ASSERT_EQ(json.Parse({"--logging-format=json"}).exit_code, 0);
  ASSERT_TRUE(json.logging.ValidateAndApply(log).ok());
  EXPECT_FALSE(log.Enabled(1));
  log.Info("x");
  EXPECT_EQ(output->Last()[0], '{');
}

TEST(QuantityFlagTest, TellsZeroFromTheRest) {
  struct Row {
    std::string text;
    bool not_zero;
  };
  const std::vector<Row> rows = {
      {"0", false},    {"0Ki", false}, {"-0", false}, {"0.000", false}, {".", false},
      {"512", true},   {"1k", true},   {"2Ki", true}, {"3M", true},     {"1e3", true},
      {"1.5Ki", true}, {"-1", true},   {"+.5", true}, {"1E", true},     {"1E-3", true},
      {"1n", true},    {"0e5", false},
  };
  for (const Row& row : rows) {
    const auto parsed = ParseNonZeroQuantity(row.text);
    ASSERT_TRUE(parsed.ok()) << row.text;
    EXPECT_EQ(*parsed, row.not_zero) << row.text;
  }
  for (const char* text : {"1K", "1mi", "1ki", "1e", "1KiB", "1Kii", "1M5", "1i"}) {
    const auto parsed = ParseNonZeroQuantity(text);
    ASSERT_FALSE(parsed.ok()) << text;
  }
  EXPECT_EQ(ParseNonZeroQuantity("1K").status().message(), "unable to parse quantity's suffix");
  for (const char* text : {"", " ", "1 ", " 1", "1,5", "0x10", "1..2", "--1"}) {
    const auto parsed = ParseNonZeroQuantity(text);
    ASSERT_FALSE(parsed.ok()) << text;
  }
}

TEST(CommonFlagsTest, DefaultsAreTheSidecars) {
  const CommonFlags flags;
  EXPECT_EQ(flags.csi_address, "/run/csi/socket");
  EXPECT_EQ(flags.leader_election_lease_duration, std::chrono::seconds(15));
  EXPECT_EQ(flags.leader_election_renew_deadline, std::chrono::seconds(10));
  EXPECT_EQ(flags.leader_election_retry_period, std::chrono::seconds(5));
  EXPECT_EQ(flags.kube_api_qps, 5);
  EXPECT_EQ(flags.kube_api_burst, 10);
  EXPECT_EQ(flags.metrics_path, "/metrics");
  EXPECT_FALSE(flags.leader_election);
  EXPECT_EQ(flags.listen_address(), "");
}

TEST(CommonFlagsTest, EitherListenerFlagIsUsedAndBothAreRefused) {
  CommonFlags flags;
  flags.metrics_address = ":1";
  EXPECT_TRUE(flags.CheckListener().ok());
  EXPECT_EQ(flags.listen_address(), ":1");
  flags.http_endpoint = ":2";
  EXPECT_FALSE(flags.CheckListener().ok());
  flags.metrics_address = "";
  EXPECT_TRUE(flags.CheckListener().ok());
  EXPECT_EQ(flags.listen_address(), ":2");
}

// snapshotter 5.1: the snapshot-controller lacks three of the common flags.
TEST(CommonFlagsTest, ChoiceLeavesFlagsOut) {
  for (const char* flag :
       {"--csi-address=x", "--leader-election-labels=a:b", "--metrics-address=x"}) {
    CommonFlags common;
    FlagSet flags(Grammar::kGo, "/snapshot-controller");
    common.Register(
        flags, {.csi_address = false, .leader_election_labels = false, .metrics_address = false});
    const char* const arguments[] = {flag};
    EXPECT_EQ(flags.Parse(arguments).exit_code, 2) << flag;
  }
}

}  // namespace
}  // namespace csinative::cli
