// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json_string.h"

#include <gtest/gtest.h>

#include <string>

namespace csinative {
namespace {

TEST(JsonStringTest, EachWriterHasItsOwnEscapes) {
  struct Row {
    std::string text;
    std::string html;
    std::string plain;
    std::string zap;
  };
  const Row rows[] = {
      {"", R"("")", R"("")", R"("")"},
      {"a\"\\\n\r\t", R"("a\"\\\n\r\t")", R"("a\"\\\n\r\t")", R"("a\"\\\n\r\t")"},
      {"<&>", R"("\u003c\u0026\u003e")", R"("<&>")", R"("<&>")"},
      {"\b\f", R"("\b\f")", R"("\b\f")", R"("\u0008\u000c")"},
      {"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"", "\"\\u0001\\u001f\x7f\"",
       "\"\\u0001\\u001f\x7f\""},
      {"\u2028\u2029", R"("\u2028\u2029")", R"("\u2028\u2029")", "\"\u2028\u2029\""},
      {"\u2318\xff!", "\"\u2318\\ufffd!\"", "\"\u2318\\ufffd!\"", "\"\u2318\\ufffd!\""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(JsonString(row.text, JsonEscaping::kHtml), row.html);
    EXPECT_EQ(JsonString(row.text, JsonEscaping::kPlain), row.plain);
    EXPECT_EQ(JsonString(row.text, JsonEscaping::kZap), row.zap);
  }
}

}  // namespace
}  // namespace csinative
