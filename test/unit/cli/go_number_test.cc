// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/go_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace csinative::cli {
namespace {

constexpr NumberError kNone = NumberError::kNone;
constexpr NumberError kSyntax = NumberError::kSyntax;
constexpr NumberError kRange = NumberError::kRange;

template <typename T>
struct Row {
  std::string text;
  T value{};
  NumberError error = kNone;
};

TEST(GoNumberTest, IntegersFollowGoLiterals) {
  const std::vector<Row<int64_t>> rows = {
      {"0", 0},
      {"-0", 0},
      {"+7", 7},
      {"010", 8},
      {"0o17", 15},
      {"0x1F", 31},
      {"-0X1f", -31},
      {"0b101", 5},
      {"1_000", 1000},
      {"0x_1", 1},
      {"0_7", 7},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775808", INT64_MAX, kRange},
      {"-9223372036854775809", INT64_MIN, kRange},
      {"99999999999999999999", INT64_MAX, kRange},
      {"", 0, kSyntax},
      {"-", 0, kSyntax},
      {"+-5", 0, kSyntax},
      {"08", 0, kSyntax},
      {"0x", 0, kSyntax},
      {"1__0", 0, kSyntax},
      {"_1", 0, kSyntax},
      {"1_", 0, kSyntax},
      {"1.0", 0, kSyntax},
      {" 1", 0, kSyntax},
      {"1e3", 0, kSyntax},
  };
  for (const auto& row : rows) {
    const auto number = ParseGoInt(row.text);
    EXPECT_EQ(number.error, row.error) << row.text;
    EXPECT_EQ(number.value, row.value) << row.text;
  }
}

TEST(GoNumberTest, UnsignedTakesNoSign) {
  EXPECT_EQ(ParseGoUint("18446744073709551615").value, UINT64_MAX);
  EXPECT_EQ(ParseGoUint("18446744073709551616").error, kRange);
  EXPECT_EQ(ParseGoUint("+1").error, kSyntax);
  EXPECT_EQ(ParseGoUint("-1").error, kSyntax);
  // The range error comes before a character that is never reached.
  EXPECT_EQ(ParseGoUint("99999999999999999999x").error, kRange);
}

TEST(GoNumberTest, FloatsFollowGoLiterals) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<Row<double>> rows = {
      {"5", 5},
      {"-.5", -0.5},
      {"5.", 5},
      {"1e3", 1000},
      {"1E-2", 0.01},
      {"0x1p-2", 0.25},
      {"0x.8p1", 1},
      {"1_0.2_5e1_0", 10.25e10},
      {"0x_1p2", 4},
      {"inf", kInf},
      {"-Infinity", -kInf},
      {"+INF", kInf},
      {"1e-400", 0},
      {"1e400", kInf, kRange},
      {"-1e400", -kInf, kRange},
      {"", 0, kSyntax},
      {".", 0, kSyntax},
      {"0x1", 0, kSyntax},
      {"1e", 0, kSyntax},
      {"1e+", 0, kSyntax},
      {"_1", 0, kSyntax},
      {"1x", 0, kSyntax},
      {"infin", 0, kSyntax},
      {"+nan", 0, kSyntax},
      {"1 ", 0, kSyntax},
  };
  for (const auto& row : rows) {
    const auto number = ParseGoDouble(row.text);
    EXPECT_EQ(number.error, row.error) << row.text;
    EXPECT_EQ(number.value, row.value) << row.text;
  }
  EXPECT_TRUE(std::isnan(ParseGoDouble("NaN").value));
  EXPECT_EQ(ParseGoFloat("3.5e38").error, kRange);
  EXPECT_EQ(ParseGoFloat("0.1").value, 0.1f);
}

TEST(GoNumberTest, BooleansAreTwelveWords) {
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_EQ(ParseGoBool(text), true) << text;
  }
  for (const char* text : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(ParseGoBool(text), false) << text;
  }
  for (const char* text : {"", "tRUE", "yes", "on", " true", "2"}) {
    EXPECT_EQ(ParseGoBool(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace csinative::cli
