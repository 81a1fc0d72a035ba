// SPDX-License-Identifier: Apache-2.0
#include "lib/base/go_quote.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/utf8.h"

namespace csinative {
namespace {

TEST(GoQuoteTest, EscapesWhatGoEscapes) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", R"("")"},
      {"plain <&> text", R"("plain <&> text")"},
      {"a\"b\\c'", R"("a\"b\\c'")"},
      {"\a\b\f\n\r\t\v", R"("\a\b\f\n\r\t\v")"},
      {std::string("\0\x1f\x7f", 3), R"("\x00\x1f\x7f")"},
      {"\u2318 \u00e9", "\"\u2318 \u00e9\""},
      {"\u00a0\u00ad\u2028\ufeff", R"("\u00a0\u00ad\u2028\ufeff")"},
      {"\U0010ffff", R"("\U0010ffff")"},
      {"\xff\xc3", R"("\xff\xc3")"},
      {"\ufffd", "\"\ufffd\""},
      // A surrogate and an overlong form are invalid bytes.
      {"\xed\xa0\x80", R"("\xed\xa0\x80")"},
      {"\xc0\x80", R"("\xc0\x80")"},
  };
  for (const auto& [text, quoted] : rows) EXPECT_EQ(GoQuote(text), quoted);
}

TEST(GoQuoteTest, AsciiFormEscapesEverythingElse) {
  std::string out;
  AppendGoQuotedAscii(out, "\ufffd=\u2318 \U0001f600 a");
  EXPECT_EQ(out, R"("\ufffd=\u2318 \U0001f600 a")");
}

TEST(GoQuoteTest, RunesUseSingleQuotes) {
  EXPECT_EQ(GoQuoteRune('c'), "'c'");
  EXPECT_EQ(GoQuoteRune('\''), R"('\'')");
  EXPECT_EQ(GoQuoteRune('"'), R"('"')");
  EXPECT_EQ(GoQuoteRune(0xc3), "'\u00c3'");
}

// The number of printable code points of Unicode 15.0, counted with Go 1.26's tables, and samples
// at the edges of the two tables.
TEST(Utf8Test, PrintableCodePointsAreThoseOfUnicode15) {
  int count = 0;
  for (char32_t rune = 0; rune <= 0x10ffff; ++rune) count += IsPrintRune(rune) ? 1 : 0;
  EXPECT_EQ(count, 148998);
  EXPECT_TRUE(IsPrintRune(' '));
  EXPECT_FALSE(IsPrintRune(0x1f));
  EXPECT_FALSE(IsPrintRune(0x7f));
  EXPECT_FALSE(IsPrintRune(0xa0));
  EXPECT_TRUE(IsPrintRune(0xa1));
  EXPECT_TRUE(IsPrintRune(0xfffd));
  EXPECT_FALSE(IsPrintRune(0xffff));
  EXPECT_TRUE(IsPrintRune(0x10000));
  EXPECT_TRUE(IsPrintRune(0xe01ef));
  EXPECT_FALSE(IsPrintRune(0xe01f0));
}

TEST(Utf8Test, EveryCodePointSurvivesARoundTrip) {
  for (char32_t rune = 0; rune <= 0x10ffff; ++rune) {
    if (rune >= 0xd800 && rune <= 0xdfff) continue;
    std::string text;
    AppendRune(text, rune);
    const Rune decoded = DecodeRune(text);
    ASSERT_TRUE(decoded.valid) << static_cast<uint32_t>(rune);
    ASSERT_EQ(static_cast<uint32_t>(decoded.value), static_cast<uint32_t>(rune));
    ASSERT_EQ(decoded.width, text.size());
  }
}

TEST(Utf8Test, TruncatedAndSurrogateSequencesAreInvalid) {
  EXPECT_TRUE(IsValidUtf8("a\u2318"));
  EXPECT_FALSE(IsValidUtf8("\xe2\x8c"));
  EXPECT_FALSE(IsValidUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsValidUtf8("\xf4\x90\x80\x80"));
  std::string surrogate;
  AppendRune(surrogate, 0xd800);
  EXPECT_EQ(surrogate, "\ufffd");
}

}  // namespace
}  // namespace csinative
