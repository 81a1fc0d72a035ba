// SPDX-License-Identifier: Apache-2.0
//
// Rows of common 20.1 that end with parsing. What follows (exit codes of --version, gates and
// cross-flag checks) is in the tests of those parts and of the executables.
#include "lib/cli/flag_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/strings.h"
#include "test/support/oracle_rows.h"
#include "test/unit/cli/cli_fixture.h"

namespace csinative::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;
using Outcome = ParseResult::Outcome;

constexpr Grammar kG = Grammar::kGo;
constexpr Grammar kP = Grammar::kPflag;

// Rows hold literals only: tables of owning types take clang minutes under a sanitizer.
struct ErrorRow {
  const char* name;
  Grammar grammar;
  const char* arguments;  // separated by |
  const char* error;
  const char* rows = "";  // of the oracle
};

std::vector<std::string> Arguments(const char* text) {
  std::vector<std::string> arguments;
  if (text == nullptr) return arguments;
  for (const std::string_view argument : Split(text, '|')) arguments.emplace_back(argument);
  return arguments;
}

void PrintTo(const ErrorRow& row, std::ostream* out) { *out << row.name; }

class FlagErrorTest : public ::testing::TestWithParam<ErrorRow> {};

TEST_P(FlagErrorTest, ExitsWithTwoAndTheText) {
  const oracle::Rows rows(GetParam().rows);
  TestProgram program(GetParam().grammar);
  const ParseResult result = program.Parse(Arguments(GetParam().arguments));
  EXPECT_EQ(result.outcome, Outcome::kError);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, GetParam().error);
  if (GetParam().grammar == kG) {
    EXPECT_THAT(result.stderr_text, StartsWith(result.error + "\nUsage of /csi-test:\n"));
  } else {
    EXPECT_THAT(result.stderr_text, StartsWith("Usage of /csi-test:\n"));
    EXPECT_THAT(result.stderr_text, EndsWith("\n" + result.error + "\n"));
  }
}

constexpr ErrorRow kErrorRows[] = {

    {"C2", kG, "-undefined", "flag provided but not defined: -undefined", "common/20.1/2"},
    {"C2_two_dashes_and_value", kG, "--undefined=x", "flag provided but not defined: -undefined",
     "common/20.1/2"},
    {"C2p", kP, "--undefined=x", "unknown flag: --undefined"},
    {"C6", kP, "-csi-address=/x", "unknown shorthand flag: 'c' in -csi-address=/x",
     "common/20.1/6"},
    {"C6_timeout", kP, "-timeout=10s", "unknown shorthand flag: 't' in -timeout=10s"},
    {"C7_go", kG, "-v5", "flag provided but not defined: -v5", "common/20.1/7"},
    {"C9", kG, "--v=-1",
     R"(invalid value "-1" for flag -v: strconv.ParseUint: parsing "-1": invalid syntax)",
     "common/20.1/9"},
    {"C9_pflag", kP, "--v=-1",
     R"(invalid argument "-1" for "-v, --v" flag: strconv.ParseUint: parsing "-1": invalid syntax)"},
    {"C9_version_as_cluster", kP, "-version",
     R"(invalid argument "ersion" for "-v, --v" flag: strconv.ParseUint: parsing "ersion": invalid syntax)"},
    {"C9_too_large", kG, "--v=2147483648",
     R"(invalid value "2147483648" for flag -v: strconv.ParseUint: parsing "2147483648": value out of range)"},
    {"C9_bare_v", kP, "-v", "flag needs an argument: 'v' in -v"},
    {"C9_bare_v_go", kG, "-v", "flag needs an argument: -v"},
    {"C9_empty_shorthand_value", kP, "-v=",
     R"(invalid argument "=" for "-v, --v" flag: strconv.ParseUint: parsing "=": invalid syntax)"},
    {"C11", kG, "--timeout=5", R"(invalid value "5" for flag -timeout: parse error)",
     "common/20.1/11"},
    {"C12", kP, "--timeout=5",
     R"(invalid argument "5" for "--timeout" flag: time: missing unit in duration "5")",
     "common/20.1/12"},
    {"C12_unknown_unit", kP, "--timeout=1d",
     R"(invalid argument "1d" for "--timeout" flag: time: unknown unit "d" in duration "1d")"},
    {"C12_invalid", kP, "--timeout|q",
     R"(invalid argument "q" for "--timeout" flag: time: invalid duration "q")"},
    {"C13", kP, "--leader-election-lease-duration=5",
     R"(invalid argument "5" for "--leader-election-lease-duration" flag: parse error)",
     "common/20.1/13"},
    {"C16_three_dashes", kG, "---x", "bad flag syntax: ---x", "common/20.1/16"},
    {"C16_equals", kG, "-=x", "bad flag syntax: -=x", "common/20.1/16"},
    {"C16_two_dashes_equals", kG, "--=x", "bad flag syntax: --=x", "common/20.1/16"},
    {"C16p_three_dashes", kP, "---x", "bad flag syntax: ---x", "common/20.1/17"},
    {"C16p_two_dashes_equals", kP, "--=x", "bad flag syntax: --=x", "common/20.1/17"},
    {"C16p_equals", kP, "-=x", "unknown shorthand flag: '=' in -=x", "common/20.1/17"},
    {"C16p_h", kP, "--h", "unknown flag: --h", "common/20.1/17"},
    {"C17", kG, "--leader-election=",
     R"(invalid boolean value "" for -leader-election: parse error)", "common/20.1/18"},
    {"C17_imported", kP, "--leader-election=",
     R"(invalid argument "" for "--leader-election" flag: parse error)", "common/20.1/18"},
    {"C17_native", kP, "--strict-topology=q",
     R"(invalid argument "q" for "--strict-topology" flag: strconv.ParseBool: parsing "q": invalid syntax)"},
    {"C18_logtostderr", kG, "--logtostderr", "flag provided but not defined: -logtostderr",
     "common/20.1/19"},
    {"C18_stderrthreshold", kG, "--stderrthreshold=INFO",
     "flag provided but not defined: -stderrthreshold", "common/20.1/19"},
    {"C18_log_dir", kP, "--log_dir=/x", "unknown flag: --log_dir", "common/20.1/19"},
    {"C18_log_dir_go", kG, "--log_dir=/x", "flag provided but not defined: -log_dir",
     "common/20.1/19"},
    {"C18_skip_headers_go", kG, "--skip_headers", "flag provided but not defined: -skip_headers",
     "common/20.1/19"},
    {"C18_logtostderr_pflag", kP, "--logtostderr", "unknown flag: --logtostderr", "common/20.1/19"},
    {"C18_stderrthreshold_pflag", kP, "--stderrthreshold=INFO", "unknown flag: --stderrthreshold",
     "common/20.1/19"},
    {"C18_skip_headers", kP, "--skip_headers", "unknown flag: --skip_headers", "common/20.1/19"},
    {"C24b", kG, "--log-text-info-buffer-size=1K",
     R"(invalid value "1K" for flag -log-text-info-buffer-size: unable to parse quantity's suffix)",
     "common/20.1/26"},
    {"C24b_pflag", kP, "--log-text-info-buffer-size=1K",
     R"(invalid argument "1K" for "--log-text-info-buffer-size" flag: unable to parse quantity's suffix)",
     "common/20.1/26"},
    {"C24b_empty", kG, "--log-json-info-buffer-size=",
     R"(invalid value "" for flag -log-json-info-buffer-size: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$')"},
    {"C24b_spaces", kP, "--log-json-info-buffer-size=1 k",
     R"(invalid argument "1 k" for "--log-json-info-buffer-size" flag: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$')"},
    {"C25", kG, "--leader-election-labels=a",
     R"(invalid value "a" for flag -leader-election-labels: malformed item in list of labels: a)",
     "common/20.1/27"},
    {"C25_two_colons", kG, "--leader-election-labels=x:y,a:b:c",
     R"(invalid value "x:y,a:b:c" for flag -leader-election-labels: malformed item in list of labels: a:b:c)",
     "common/20.1/27"},
    {"C25_two_colons_alone", kG, "--leader-election-labels=a:b:c",
     R"(invalid value "a:b:c" for flag -leader-election-labels: malformed item in list of labels: a:b:c)",
     "common/20.1/27"},
    {"C25_empty_go", kG, "--leader-election-labels=",
     R"(invalid value "" for flag -leader-election-labels: malformed item in list of labels: )",
     "common/20.1/27"},
    {"C25_empty", kP, "--leader-election-labels=",
     R"(invalid argument "" for "--leader-election-labels" flag: malformed item in list of labels: )",
     "common/20.1/27"},
    {"missing_value_go", kG, "--timeout", "flag needs an argument: -timeout"},
    {"missing_value_pflag", kP, "--timeout", "flag needs an argument: --timeout"},
    {"bad_uint_go", kG, "--worker-threads=-1",
     R"(invalid value "-1" for flag -worker-threads: parse error)"},
    {"uint_out_of_range_go", kG, "--worker-threads=18446744073709551616",
     R"(invalid value "18446744073709551616" for flag -worker-threads: value out of range)"},
    {"bad_uint_pflag", kP, "--worker-threads=x",
     R"(invalid argument "x" for "--worker-threads" flag: strconv.ParseUint: parsing "x": invalid syntax)"},
    {"bad_int_pflag", kP, "--capacity-ownerref-level=9223372036854775808",
     R"(invalid argument "9223372036854775808" for "--capacity-ownerref-level" flag: strconv.ParseInt: parsing "9223372036854775808": value out of range)"},
    {"bad_int_imported", kP, "--kube-api-burst=x",
     R"(invalid argument "x" for "--kube-api-burst" flag: parse error)"},
    {"bad_float_pflag", kP, "--kube-api-capacity-qps=1e39",
     R"(invalid argument "1e39" for "--kube-api-capacity-qps" flag: strconv.ParseFloat: parsing "1e39": value out of range)"},
    {"bad_float_go", kG, "--kube-api-qps=x",
     R"(invalid value "x" for flag -kube-api-qps: parse error)"},
    {"bad_float_imported", kP, "--kube-api-qps=1e400",
     R"(invalid argument "1e400" for "--kube-api-qps" flag: value out of range)"},
    {"X2_automaxprocs_go", kG, "--automaxprocs=error",
     R"(invalid boolean value "error" for -automaxprocs: strconv.ParseBool: parsing "error": invalid syntax)",
     "common/20.10/13"},
    {"X2_automaxprocs_pflag", kP, "--automaxprocs=error",
     R"(invalid argument "error" for "--automaxprocs" flag: strconv.ParseBool: parsing "error": invalid syntax)",
     "common/20.10/13"},
    {"gates_go", kG, "--feature-gates=one",
     R"(invalid value "one" for flag -feature-gates: malformed pair, expect string=bool)"},
    {"gates_pflag", kP, "--feature-gates|one=foo",
     R"(invalid argument "one=foo" for "--feature-gates" flag: invalid value of one: foo, err: strconv.ParseBool: parsing "foo": invalid syntax)"},
    {"vmodule", kG, "--vmodule=a",
     R"(invalid value "a" for flag -vmodule: "a" does not have the pattern=N format)"},
    {"help_behind_an_error_is_not_seen", kG, "--x|--help", "flag provided but not defined: -x"},
    {"names_are_case_sensitive", kG, "--Timeout=1s", "flag provided but not defined: -Timeout"},
    {"underscore_is_not_a_dash", kP, "--csi_address=/x", "unknown flag: --csi_address"},
    {"shorthand_beyond_ascii", kP, "-\u00e9", "unknown shorthand flag: '\u00c3' in -\u00e9"},
};

INSTANTIATE_TEST_SUITE_P(Common20_1, FlagErrorTest, ::testing::ValuesIn(kErrorRows),
                         [](const auto& info) { return std::string(info.param.name); });

struct HelpRow {
  Grammar grammar;
  std::vector<std::string> arguments;
};

// 2.6
TEST(FlagSetTest, HelpGoesToStderrAndSucceeds) {
  const oracle::Row oracle_row("common/20.1/1");
  const std::vector<HelpRow> rows = {
      {kG, {"-h"}},
      {kG, {"-help"}},
      {kG, {"--h"}},
      {kG, {"--help"}},
      {kG, {"--help=x"}},
      {kP, {"-h"}},
      {kP, {"--help"}},
      {kP, {"--help=x"}},
      {kP, {"-help"}},
      {kG, {"--timeout=1s", "-h", "--undefined"}},
      {kP, {"pos", "-h", "--undefined"}},
  };
  for (const HelpRow& row : rows) {
    TestProgram program(row.grammar);
    const ParseResult result = program.Parse(row.arguments);
    EXPECT_EQ(result.outcome, Outcome::kHelp) << row.arguments[0];
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.stderr_text, StartsWith("Usage of /csi-test:\n"));
    EXPECT_EQ(result.error, "");
  }
}

TEST(FlagSetTest, UsageListsFlagsSortedWithDefaultsAndGates) {
  TestProgram program(kP);
  const std::string usage = program.flags.Usage();
  EXPECT_THAT(usage, HasSubstr("  --csi-address string (default \"/run/csi/socket\")\n"));
  EXPECT_THAT(usage, HasSubstr("  -v, --v value (default 0)\n"));
  EXPECT_THAT(usage, HasSubstr("  --timeout duration (default 15s)\n"));
  EXPECT_THAT(usage, HasSubstr("      AllAlpha=true|false (ALPHA - default=false)\n"));
  EXPECT_LT(usage.find("--automaxprocs"), usage.find("--csi-address"));
  EXPECT_LT(usage.find("--v value"), usage.find("--vmodule"));
  EXPECT_THAT(TestProgram(kG).flags.Usage(), HasSubstr("  --v value (default 0)\n"));
}

struct AcceptRow {
  const char* name;
  const char* rows = "";  // of the oracle
  Grammar grammar = kG;
  const char* arguments = nullptr;
  const char* address = "/run/csi/socket";
  int verbosity = 0;
  int64_t burst = 10;
  bool election = false;
  const char* positionals = nullptr;
  void (*check)(const TestProgram&) = nullptr;
};

void PrintTo(const AcceptRow& row, std::ostream* out) { *out << row.name; }

class FlagAcceptTest : public ::testing::TestWithParam<AcceptRow> {};

TEST_P(FlagAcceptTest, Parses) {
  const AcceptRow& row = GetParam();
  const oracle::Rows rows(row.rows);
  TestProgram program(row.grammar);
  const ParseResult result = program.Parse(Arguments(row.arguments));
  ASSERT_EQ(result.outcome, Outcome::kParsed) << result.error;
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stderr_text, "");
  EXPECT_EQ(result.positionals, Arguments(row.positionals));
  EXPECT_EQ(program.common.csi_address, row.address);
  EXPECT_EQ(program.logging.verbosity, row.verbosity);
  EXPECT_EQ(program.common.kube_api_burst, row.burst);
  EXPECT_EQ(program.common.leader_election, row.election);
  if (row.check != nullptr) row.check(program);
}

constexpr AcceptRow kAcceptRows[] = {
    {.name = "C3_one_dash",
     .rows = "common/20.1/3",
     .arguments = "-csi-address=/x",
     .address = "/x"},
    {.name = "C3_two_dashes",
     .rows = "common/20.1/3",
     .arguments = "--csi-address=/x",
     .address = "/x"},
    {.name = "C3_next_argument",
     .rows = "common/20.1/3",
     .arguments = "-csi-address|/x",
     .address = "/x"},
    {.name = "C4",
     .rows = "common/20.1/4",
     .arguments = "--leader-election|false|--csi-address=/x",
     .election = true,
     .positionals = "false|--csi-address=/x"},
    {.name = "C5",
     .rows = "common/20.1/5",
     .grammar = kP,
     .arguments = "--leader-election|false|--csi-address=/x",
     .address = "/x",
     .election = true,
     .positionals = "false"},
    {.name = "C7_pflag",
     .rows = "common/20.1/7",
     .grammar = kP,
     .arguments = "-v5",
     .verbosity = 5},
    {.name = "C8_equals", .rows = "common/20.1/8", .arguments = "-v=5", .verbosity = 5},
    {.name = "C8_space", .rows = "common/20.1/8", .arguments = "-v|5", .verbosity = 5},
    {.name = "C8_two_dashes", .rows = "common/20.1/8", .arguments = "--v=5", .verbosity = 5},
    {.name = "C8_two_dashes_space", .arguments = "--v|5", .verbosity = 5},
    {.name = "C8_pflag_equals",
     .rows = "common/20.1/8",
     .grammar = kP,
     .arguments = "-v=5",
     .verbosity = 5},
    {.name = "C8_pflag_space",
     .rows = "common/20.1/8",
     .grammar = kP,
     .arguments = "-v|5",
     .verbosity = 5},
    {.name = "C8_pflag_two_dashes",
     .rows = "common/20.1/8",
     .grammar = kP,
     .arguments = "--v=5",
     .verbosity = 5},
    {.name = "C10",
     .rows = "common/20.1/10",
     .arguments = "--metrics-address|--leader-election",
     .check =
         [](const TestProgram& p) { EXPECT_EQ(p.common.metrics_address, "--leader-election"); }},
    {.name = "C10_pflag",
     .rows = "common/20.1/10",
     .grammar = kP,
     .arguments = "--metrics-address|--leader-election",
     .check =
         [](const TestProgram& p) { EXPECT_EQ(p.common.metrics_address, "--leader-election"); }},
    {.name = "C14", .rows = "common/20.1/14", .arguments = "--kube-api-burst=010", .burst = 8},
    {.name = "C14_pflag",
     .rows = "common/20.1/14",
     .grammar = kP,
     .arguments = "--kube-api-burst=010",
     .burst = 8},
    {.name = "C15", .rows = "common/20.1/15", .arguments = "--kube-api-burst=0x10", .burst = 16},
    {.name = "C15_underscores", .arguments = "--kube-api-burst=-1_000", .burst = -1000},
    {.name = "C24",
     .rows = "common/20.1/25",
     .arguments = "--leader-election-labels=a:b,c:d|--leader-election-labels=a:x",
     .check =
         [](const TestProgram& p) {
           EXPECT_THAT(p.common.leader_election_labels,
                       ElementsAre(Pair("a", "x"), Pair("c", "d")));
         }},
    {.name = "C24_empty_parts",
     .arguments = "--leader-election-labels=:",
     .check =
         [](const TestProgram& p) {
           EXPECT_THAT(p.common.leader_election_labels, ElementsAre(Pair("", "")));
         }},
    {.name = "C24b_kilo",
     .rows = "common/20.1/26",
     .arguments = "--log-text-info-buffer-size=1k",
     .check = [](const TestProgram& p) { EXPECT_FALSE(p.logging.Validate().ok()); }},
    {.name = "C27",
     .rows = "common/20.1/29",
     .arguments = "foo|--csi-address=/x",
     .positionals = "foo|--csi-address=/x"},
    {.name = "C27_pflag",
     .grammar = kP,
     .arguments = "foo|--csi-address=/x",
     .address = "/x",
     .positionals = "foo"},
    {.name = "C28",
     .rows = "common/20.1/30",
     .arguments = "--|--csi-address=/x",
     .positionals = "--csi-address=/x"},
    {.name = "C28_pflag",
     .rows = "common/20.1/30",
     .grammar = kP,
     .arguments = "--|--csi-address=/x",
     .positionals = "--csi-address=/x"},
    {.name = "empty_argument_stops",
     .arguments = "|--csi-address=/x",
     .positionals = "|--csi-address=/x"},
    {.name = "dash_stops", .arguments = "-|--csi-address=/x", .positionals = "-|--csi-address=/x"},
    {.name = "dash_is_positional",
     .grammar = kP,
     .arguments = "-||--csi-address=/x",
     .address = "/x",
     .positionals = "-|"},
    {.name = "value_with_equals", .arguments = "--csi-address=a=b=c", .address = "a=b=c"},
    {.name = "empty_value", .grammar = kP, .arguments = "--csi-address=", .address = ""},
    {.name = "value_looks_like_flag",
     .grammar = kP,
     .arguments = "--csi-address|--v=5",
     .address = "--v=5"},
    {.name = "last_one_wins", .arguments = "--csi-address=a|--csi-address=b", .address = "b"},
    {.name = "bool_false", .arguments = "--leader-election|--leader-election=F"},
    {.name = "no_arguments"},
    {.name = "X1_true", .rows = "common/20.10/12", .arguments = "--automaxprocs=true"},
    {.name = "X1_false",
     .rows = "common/20.10/12",
     .grammar = kP,
     .arguments = "--automaxprocs=false"},
    {.name = "X1_empty", .rows = "common/20.10/12", .arguments = "--automaxprocs="},
    {.name = "X1_bare",
     .rows = "common/20.10/12",
     .grammar = kP,
     .arguments = "--automaxprocs|--csi-address=/x",
     .address = "/x"},
    {.name = "gates_merge",
     .arguments = "--feature-gates=a=true,b=true|--feature-gates=a=false",
     .check = [](const TestProgram& p) { EXPECT_EQ(FormatGates(p.gate_map), "a=false,b=true"); }},
    {.name = "vmodule_appends",
     .arguments = "--vmodule=a=1|--vmodule=b=2",
     .check =
         [](const TestProgram& p) { EXPECT_EQ(log::FormatVmodule(p.logging.vmodule), "a=1,b=2"); }},
    {.name = "floats",
     .arguments = "--kube-api-qps=1e2|--kube-api-capacity-qps=.5",
     .check =
         [](const TestProgram& p) {
           EXPECT_EQ(p.common.kube_api_qps, 100);
           EXPECT_EQ(p.capacity_qps, 0.5f);
         }},
    {.name = "vendor_mix",
     .arguments = "-v=2|-csi-address=/csi/"
                  "csi.sock|-timeout=1200s|-leader-election|--leader-election-namespace=kube-"
                  "system|-worker-threads=1000|-kube-api-qps=200|-kube-api-burst=400",
     .address = "/csi/csi.sock",
     .verbosity = 2,
     .burst = 400,
     .election = true,
     .check =
         [](const TestProgram& p) {
           EXPECT_EQ(p.timeout, std::chrono::seconds(1200));
           EXPECT_EQ(p.worker_threads, 1000u);
           EXPECT_EQ(p.common.leader_election_namespace, "kube-system");
           EXPECT_EQ(p.common.kube_api_qps, 200);
         }},
};

INSTANTIATE_TEST_SUITE_P(Common20_1, FlagAcceptTest, ::testing::ValuesIn(kAcceptRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FlagSetTest, ChangedTellsWhatOccurred) {
  TestProgram program(kG);
  ASSERT_EQ(program.Parse({"--timeout=15s"}).outcome, Outcome::kParsed);
  EXPECT_TRUE(program.flags.Changed("timeout"));
  EXPECT_FALSE(program.flags.Changed("csi-address"));
  EXPECT_FALSE(program.flags.Changed("undefined"));
}

// common/20.1/20: a program without the flag refuses it.
TEST(FlagSetTest, VersionIsUnknownWhereItIsNotRegistered) {
  LoggingFlags logging;
  FlagSet flags(kG, "/livenessprobe");
  logging.Register(flags, nullptr);
  const char* const arguments[] = {"--version"};
  const ParseResult result = flags.Parse(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "flag provided but not defined: -version");
}

}  // namespace
}  // namespace csinative::cli
