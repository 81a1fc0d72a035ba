// SPDX-License-Identifier: Apache-2.0
#include "apis/resource/big_decimal.h"

#include <gtest/gtest.h>

#include <limits>

namespace csinative::apis {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

std::string Text(const BigDecimal& value) {
  return (value.sign() < 0 ? "-" : "") + value.UnscaledDigits() + "e" +
         std::to_string(value.exponent());
}

TEST(BigDecimalTest, HoldsTheExtremesOf64Bits) {
  EXPECT_EQ(Text(BigDecimal(kMax, 0)), "9223372036854775807e0");
  EXPECT_EQ(Text(BigDecimal(kMin, 0)), "-9223372036854775808e0");
  EXPECT_TRUE(BigDecimal(kMin, 0).UnscaledFitsInt64());
  EXPECT_FALSE(BigDecimal::FromDigits(false, "9223372036854775808", 0).UnscaledFitsInt64());
  EXPECT_EQ(BigDecimal::FromDigits(false, "9223372036854775808", 0).UnscaledLow64(), kMin);
}

TEST(BigDecimalTest, ZeroHasNoSign) {
  BigDecimal zero = BigDecimal::FromDigits(true, "000", 3);
  EXPECT_EQ(zero.sign(), 0);
  zero.Negate();
  EXPECT_EQ(Text(zero), "0e3");
  BigDecimal difference(5, 0);
  difference.Add(BigDecimal(-5, 0));
  EXPECT_EQ(Text(difference), "0e0");
}

TEST(BigDecimalTest, AddAlignsExponents) {
  BigDecimal value(1, 20);
  value.Add(BigDecimal(-1, -2));
  EXPECT_EQ(Text(value), "9999999999999999999999e-2");
  BigDecimal small(-1, -2);
  small.Add(BigDecimal(1, 20));
  EXPECT_EQ(Text(small), "9999999999999999999999e-2");
}

TEST(BigDecimalTest, MultiplyKeepsAllDigits) {
  BigDecimal value(kMax, 0);
  value.MultiplyInt64(kMin);
  EXPECT_EQ(Text(value), "-85070591730234615856620279821087277056e0");
  value.MultiplyInt64(-1);
  EXPECT_EQ(value.sign(), 1);
  value.MultiplyInt64(0);
  EXPECT_EQ(value.sign(), 0);
}

TEST(BigDecimalTest, ShiftLeftMultipliesByPowersOfTwo) {
  BigDecimal value(-3, 0);
  value.ShiftLeft(70);
  EXPECT_EQ(Text(value), "-3541774862152233910272e0");
}

TEST(BigDecimalTest, RescaleRoundsAwayFromZero) {
  BigDecimal value(-1001, -3);
  EXPECT_FALSE(value.Rescale(-2));
  EXPECT_EQ(Text(value), "-101e-2");
  EXPECT_TRUE(value.Rescale(-12));
  EXPECT_EQ(Text(value), "-1010000000000e-12");
  BigDecimal tiny(-1, -30);
  EXPECT_FALSE(tiny.Rescale(0));
  EXPECT_EQ(Text(tiny), "-1e0");
}

TEST(BigDecimalTest, CompareWorksAcrossHugeExponents) {
  EXPECT_EQ(BigDecimal(1, 1'000'000'000).Compare(BigDecimal(kMax, 0)), 1);
  EXPECT_EQ(BigDecimal(-1, 1'000'000'000).Compare(BigDecimal(1, -1'000'000'000)), -1);
  EXPECT_EQ(BigDecimal(1000, -3).Compare(BigDecimal(1, 0)), 0);
  EXPECT_EQ(BigDecimal(12, 0).Compare(BigDecimal(121, -1)), -1);
  EXPECT_EQ(BigDecimal(-12, 0).Compare(BigDecimal(-121, -1)), 1);
  EXPECT_EQ(BigDecimal().Compare(BigDecimal(0, 77)), 0);
}

TEST(BigDecimalTest, DivideBy1024OnlyWhenExact) {
  BigDecimal value(3 * 1024 * 1024, 0);
  EXPECT_TRUE(value.DivideBy1024IfExact());
  EXPECT_TRUE(value.DivideBy1024IfExact());
  EXPECT_FALSE(value.DivideBy1024IfExact());
  EXPECT_EQ(Text(value), "3e0");
  BigDecimal half(512, 0);
  EXPECT_FALSE(half.DivideBy1024IfExact());
  EXPECT_EQ(Text(half), "512e0");
}

}  // namespace
}  // namespace csinative::apis
