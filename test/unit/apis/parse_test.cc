// SPDX-License-Identifier: Apache-2.0
#include "apis/json/parse.h"

#include <gtest/gtest.h>

#include <string>

namespace csinative::apis {
namespace {

TEST(ParseJsonTest, TakesOneValue) {
  rapidjson::Document document;
  ASSERT_TRUE(ParseJson(" {\"a\":[1,2.5,\"x\\u00e9\",null,true]} \n", &document).ok());
  EXPECT_EQ(JsonText(document), "{\"a\":[1,2.5,\"x\xC3\xA9\",null,true]}");
}

TEST(ParseJsonTest, RejectsGarbage) {
  for (std::string_view text :
       {"", " ", "{", "}", "{\"a\"}", "{\"a\":}", "[1,]", "{} {}", "nul", "\"", "\"\\x\"", "01",
        "1e", "NaN", "{\"a\":1,}", "\xff", "[\"\x01\"]", "'a'"}) {
    rapidjson::Document document;
    document.SetInt(7);
    EXPECT_FALSE(ParseJson(text, &document).ok()) << text;
    EXPECT_TRUE(document.IsNull()) << text;
  }
  rapidjson::Document document;
  EXPECT_FALSE(ParseJson(std::string_view(), &document).ok());
  EXPECT_FALSE(ParseJson(std::string_view("1\0", 2), &document).ok());
}

TEST(ParseJsonTest, RefusesDeepNesting) {
  rapidjson::Document document;
  std::string fits = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(ParseJson(fits, &document).ok());
  EXPECT_FALSE(ParseJson("[" + fits + "]", &document).ok());
  EXPECT_FALSE(ParseJson(std::string(5'000'000, '['), &document).ok());
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(ParseJson(objects, &document).ok());
}

TEST(ParseJsonTest, BracketsInsideStringsDoNotNest) {
  rapidjson::Document document;
  EXPECT_TRUE(ParseJson("[\"" + std::string(1000, '[') + "\\\"[\"]", &document).ok());
}

TEST(CleanUtf8Test, ReplacesBadBytesOneByOne) {
  EXPECT_EQ(CleanUtf8("a\xC3\xA9\xF0\x9F\x98\x80"), "a\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(CleanUtf8("a\xff\xfe"
                      "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(CleanUtf8("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(CleanUtf8(""), "");
}

}  // namespace
}  // namespace csinative::apis
