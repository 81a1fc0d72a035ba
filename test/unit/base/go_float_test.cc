// SPDX-License-Identifier: Apache-2.0
#include "lib/base/go_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace csinative {
namespace {

std::string G(double value) {
  std::string out;
  AppendGoFloatG(out, value);
  return out;
}

std::string F(double value) {
  std::string out;
  AppendGoFloatF(out, value);
  return out;
}

std::string Json(double value) {
  std::string out;
  AppendGoFloatJson(out, value);
  return out;
}

// The table of common 9.8.
TEST(GoFloatTest, GeneralFormSwitchesAtSixDigits) {
  const std::vector<std::pair<double, std::string>> rows = {
      {0, "0"},
      {1, "1"},
      {-1, "-1"},
      {100000, "100000"},
      {999999, "999999"},
      {1000000, "1e+06"},
      {1234567, "1.234567e+06"},
      {1717171717.12, "1.71717171712e+09"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1e-08, "1e-08"},
      {9.999999999999999e-06, "9.999999999999999e-06"},
      {18446744073709551615.0, "1.8446744073709552e+19"},
      {1e100, "1e+100"},
      {5e-324, "5e-324"},
      {0.1 + 0.2, "0.30000000000000004"},
      {-0.0, "-0"},
      {INFINITY, "+Inf"},
      {-INFINITY, "-Inf"},
      {NAN, "NaN"},
  };
  for (const auto& [value, text] : rows) EXPECT_EQ(G(value), text);
}

TEST(GoFloatTest, PlainFormNeverHasAnExponent) {
  EXPECT_EQ(F(1717171717171.1238), "1717171717171.1238");
  EXPECT_EQ(F(0.000123), "0.000123");
  EXPECT_EQ(F(1e21), "1000000000000000000000");
  EXPECT_EQ(F(1e-7), "0.0000001");
  EXPECT_EQ(F(0), "0");
  EXPECT_EQ(F(-12.5), "-12.5");
}

TEST(GoFloatTest, JsonFormSwitchesAtTheLimitsOfEncodingJson) {
  EXPECT_EQ(Json(1e20), "100000000000000000000");
  EXPECT_EQ(Json(1e21), "1e+21");
  EXPECT_EQ(Json(0.000001), "0.000001");
  EXPECT_EQ(Json(0.0000001), "1e-7");
  EXPECT_EQ(Json(1.5), "1.5");
  EXPECT_EQ(Json(0), "0");
}

}  // namespace
}  // namespace csinative
