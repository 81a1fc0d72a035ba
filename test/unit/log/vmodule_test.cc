// SPDX-License-Identifier: Apache-2.0
#include "lib/log/vmodule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace csinative::log {
namespace {

TEST(VmoduleTest, ParsesAListAndSkipsEmptyElements) {
  const auto rules = ParseVmodule(",a=1,,b*=2147483647,");
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(FormatVmodule(*rules), "a=1,b*=2147483647");
  EXPECT_TRUE(ParseVmodule("").ok());
}

TEST(VmoduleTest, RefusesWithUpstreamsReasons) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a", R"("a" does not have the pattern=N format)"},
      {"a=", R"("a=" does not have the pattern=N format)"},
      {"=1", R"("=1" does not have the pattern=N format)"},
      {"a=1=2", R"("a=1=2" does not have the pattern=N format)"},
      {"b=1,a=x", R"(parsing verbosity in "a=x": strconv.ParseUint: parsing "x": invalid syntax)"},
      {"a=-1", R"(parsing verbosity in "a=-1": strconv.ParseUint: parsing "-1": invalid syntax)"},
      {"a=2147483648",
       R"(parsing verbosity in "a=2147483648": strconv.ParseUint: parsing "2147483648": )"
       "value out of range"},
  };
  for (const auto& [text, error] : rows) {
    const auto rules = ParseVmodule(text);
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_EQ(rules.status().message(), error);
  }
}

TEST(VmoduleTest, FirstMatchDecidesAndLevelZeroIsIgnored) {
  const std::vector<VmoduleRule> rules = {{"csi_*", 0}, {"csi_handler", 4}, {"csi_*", 6}};
  EXPECT_EQ(VmoduleLevel(rules, "csi_handler"), 4);
  EXPECT_EQ(VmoduleLevel(rules, "csi_other"), 6);
  EXPECT_EQ(VmoduleLevel(rules, "main"), -1);
}

TEST(VmoduleTest, ModuleIsTheBaseNameWithoutExtension) {
  EXPECT_EQ(ModuleName("lib/csi/connection.cc"), "connection");
  EXPECT_EQ(ModuleName("connection.cpp"), "connection");
  EXPECT_EQ(ModuleName("/a/b/logger.h"), "logger");
  EXPECT_EQ(ModuleName("csi-provisioner"), "csi-provisioner");
  EXPECT_EQ(BaseName("lib/csi/connection.cc"), "connection.cc");
}

// Checked against Go's filepath.Match.
TEST(VmoduleTest, GlobsMatchAsInGo) {
  struct Row {
    std::string pattern;
    std::string name;
    bool matches;
  };
  const std::vector<Row> rows = {
      {"abc", "abc", true},
      {"*", "abc", true},
      {"*c", "abc", true},
      {"a*", "a", true},
      {"a*", "ab/c", false},
      {"a*/b", "abc/b", true},
      {"a*b*c*d", "axbxcxd", true},
      {"ab[c]", "abc", true},
      {"ab[b-d]", "abc", true},
      {"ab[e-g]", "abc", false},
      {"ab[^c]", "abc", false},
      {"ab[^e-g]", "abc", true},
      {"a\\*b", "a*b", true},
      {"a\\*b", "ab", false},
      {"a?b", "a\u263ab", true},
      {"a[^a]b", "a\u263ab", true},
      {"a???b", "a\u263ab", false},
      {"[a-\u03b6]*", "\u03b1", true},
      {"*x", "xxx", true},
      {"a?b", "a/b", false},
      {"[\\]a]", "]", true},
      {"", "", true},
      {"", "a", false},
      // Malformed patterns never match.
      {"[]a]", "]", false},
      {"[-]", "-", false},
      {"[x-]", "x", false},
      {"[", "a", false},
      {"[^", "a", false},
      {"[^bc", "a", false},
      {"a[", "a", false},
      {"\\", "\\", false},
      {"[a-b-c]", "a", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(MatchGlob(row.pattern, row.name), row.matches) << row.pattern << " " << row.name;
  }
}

TEST(VmoduleTest, LevelIsDecimalWithoutSign) {
  EXPECT_EQ(ParseLevel("010").value(), 10);
  for (const char* text : {"", "-1", "+1", "0x1", "1 ", "1_0", "99999999999999999999"}) {
    EXPECT_FALSE(ParseLevel(text).ok()) << text;
  }
}

}  // namespace
}  // namespace csinative::log
