// SPDX-License-Identifier: Apache-2.0
#include "lib/base/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace csinative {
namespace {

// The vectors of RFC 4648 section 10.
TEST(Base64Test, KnownVectorsEncodeAndDecode) {
  const std::pair<std::string, std::string> rows[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [plain, encoded] : rows) {
    EXPECT_EQ(Base64Encode(plain), encoded);
    const auto decoded = Base64Decode(encoded);
    ASSERT_TRUE(decoded.ok()) << encoded;
    EXPECT_EQ(*decoded, plain);
  }
}

TEST(Base64Test, AllBytesSurviveInBothAlphabets) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (size_t size = 253; size <= 256; ++size) {
    const std::string part = bytes.substr(0, size);
    EXPECT_EQ(Base64Decode(Base64Encode(part)).value(), part);
    EXPECT_EQ(Base64UrlDecode(Base64UrlEncode(part)).value(), part);
  }
  EXPECT_EQ(Base64UrlEncode("\xfb\xff"), "-_8");
  EXPECT_EQ(Base64Encode("\xfb\xff"), "+/8=");
}

TEST(Base64Test, LineBreaksAreSkipped) {
  EXPECT_EQ(Base64Decode("Zm9v\r\nYmFy\n").value(), "foobar");
}

TEST(Base64Test, MalformedTextIsRefused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "Zm8==", "=", "Zm9v=", "Zg==Zg==", "Zm 9v", "Zm9-", "Zg=a"}) {
    const auto decoded = Base64Decode(text);
    EXPECT_FALSE(decoded.ok()) << text;
  }
  EXPECT_FALSE(Base64UrlDecode("Zg==").ok());
  EXPECT_FALSE(Base64UrlDecode("Zm9+").ok());
}

}  // namespace
}  // namespace csinative
