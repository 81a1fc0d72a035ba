// SPDX-License-Identifier: Apache-2.0
#include "lib/base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace csinative {
namespace {

using ::testing::ElementsAre;

TEST(StringsTest, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
}

TEST(StringsTest, JoinPutsTheSeparatorBetween) {
  EXPECT_EQ(Join(std::vector<std::string>{}, ","), "");
  EXPECT_EQ(Join(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
}

TEST(StringsTest, TrimSpaceLeavesTheMiddle) {
  EXPECT_EQ(TrimSpace(" \t\n a b \r\v\f"), "a b");
  EXPECT_EQ(TrimSpace("  "), "");
}

TEST(StringsTest, CaseIsIgnoredInAsciiOnly) {
  EXPECT_TRUE(EqualsIgnoreCase("InFinity", "infinity"));
  EXPECT_FALSE(EqualsIgnoreCase("inf", "infinity"));
  EXPECT_EQ(ToLower("ABC-\u00c9z"), "abc-\u00c9z");
}

TEST(StringsTest, ReplaceAllDoesNotReplaceInsideReplacements) {
  EXPECT_EQ(ReplaceAll("aaa", "a", "aa"), "aaaaaa");
  EXPECT_EQ(ReplaceAll("abc", "", "x"), "abc");
  EXPECT_EQ(ReplaceAll("a_b_", "_", ""), "ab");
}

TEST(StringsTest, HexHasTwoDigitsAByte) { EXPECT_EQ(HexEncode(std::string("\0\xff", 2)), "00ff"); }

TEST(StringsTest, StrCatTakesTextCharactersAndIntegers) {
  EXPECT_EQ(StrCat(), "");
  EXPECT_EQ(StrCat("a", std::string("b"), std::string_view("c"), 'd', -5, size_t{7}), "abcd-57");
  EXPECT_EQ(StrCat(INT64_MIN, " ", UINT64_MAX), "-9223372036854775808 18446744073709551615");
}

}  // namespace
}  // namespace csinative
