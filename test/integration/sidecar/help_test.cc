// SPDX-License-Identifier: Apache-2.0
//
// The help of each program lists the flags of its original: no more, no fewer, with their types and
// defaults (common 2.6, 3).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/go_duration.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "test/integration/sidecar/fixture.h"

namespace csinative {
namespace {

// A flag as the help shows it.
struct Shown {
  std::string type;
  std::string default_text;
  bool operator==(const Shown&) const = default;
};
void PrintTo(const Shown& shown, std::ostream* out) {
  *out << "type \"" << shown.type << "\", default \"" << shown.default_text << "\"";
}
using Flags = std::map<std::string, Shown>;

// Programs of the table that there are no tests of, and why.
const std::map<std::string, std::string>& LeftOut() {
  static const std::map<std::string, std::string> left_out = {
      {"csi-resizer", "not built yet"},
      {"csi-snapshotter", "not built yet"},
      {"snapshot-controller", "not built yet"},
  };
  return left_out;
}

// What the help prints for a type and a default of the table.
Shown Expected(const std::string& type, const std::string& value) {
  if (type == "bool") return {"", value};
  if (type == "bool-optional") return {"", value == "off" ? "false" : value};
  if (type == "string") return {"string", GoQuote(value)};
  if (type == "duration") return {"duration", FormatGoDuration(*ParseGoDuration(value))};
  if (type == "float32" || type == "float64") return {"float", value};
  if (type == "int" || type == "uint") return {type, value};
  return {"value", value};  // grammars of their own
}

std::map<std::string, Flags> Table() {
  std::map<std::string, Flags> table;
  std::ifstream in(TEST_DATA "/flags.tsv");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    const auto fields = Split(line, '\t');
    table[std::string(fields[0])][std::string(fields[1])] =
        Expected(std::string(fields[2]), std::string(fields[3]));
  }
  return table;
}

Flags Parse(const std::string& help) {
  static const std::regex kFlag(R"(^  (?:-\w, )?--(\S+?)(?: (\w+))?(?: \(default (.*)\))?$)");
  Flags flags;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kFlag)) flags[match[1]] = {match[2], match[3]};
  }
  return flags;
}

class HelpTest : public SidecarsFixture {};

TEST_F(HelpTest, ListsTheFlagsWithTheirTypesAndDefaults) {
  const auto table = Table();
  for (const auto& [name, path] : Binaries()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(table.contains(name));
    Program& program = Start(name, {"--help"});
    EXPECT_EQ(ExitCode(program), 0);
    EXPECT_EQ(program.Stdout(), "");
    const std::string help = program.Stderr();
    EXPECT_TRUE(help.starts_with(StrCat("Usage of ", path, ":\n")));
    EXPECT_EQ(Parse(help), table.at(name));
    const bool has_gates = table.at(name).contains("feature-gates");
    EXPECT_EQ(help.find("AllAlpha=true|false (ALPHA - default=false)") != npos, has_gates);
    // The only shorthand there is.
    EXPECT_EQ(help.find("  -v, --v ") != npos, name == "csi-provisioner");
  }
}

// Types that the help does not tell apart.
TEST_F(HelpTest, ExtremesAreThoseOfTheTypes) {
  struct Entry {
    const char* program;
    const char* fits;
    const char* too_large;
  };
  const Entry entries[] = {
      {"csi-provisioner", "--kube-api-capacity-qps=3e38", "--kube-api-capacity-qps=1e39"},
      {"csi-provisioner", "--kube-api-qps=1e300", "--kube-api-qps=1e309"},
      {"csi-attacher", "--kube-api-qps=1e300", "--kube-api-qps=1e309"},
      {"csi-attacher", "--v=2147483647", "--v=2147483648"},
      {"csi-node-driver-registrar", "--health-port=9223372036854775807",
       "--health-port=9223372036854775808"},
      {"csi-attacher", "--worker-threads=18446744073709551615",
       "--worker-threads=18446744073709551616"},
  };
  for (const Entry& entry : entries) {
    EXPECT_EQ(ExitCode(Start(entry.program, {entry.fits, "--help"})), 0) << entry.fits;
    EXPECT_EQ(ExitCode(Start(entry.program, {entry.too_large, "--help"})), 2) << entry.too_large;
  }
}

TEST_F(HelpTest, ProgramsOfTheTableAreTestedOrLeftOutByName) {
  for (const auto& [program, flags] : Table()) {
    EXPECT_EQ(Binaries().count(program) + LeftOut().count(program), 1u) << program;
  }
}

}  // namespace
}  // namespace csinative
