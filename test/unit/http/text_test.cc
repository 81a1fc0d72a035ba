// SPDX-License-Identifier: Apache-2.0
//
// Headers, URLs, gzip and the small texts of HTTP/1.1.
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "lib/http/gzip.h"
#include "lib/http/http1.h"
#include "lib/http/message.h"
#include "lib/http/url.h"

namespace csinative::http {
namespace {

TEST(HeadersTest, NamesCompareWithoutCaseAndKeepTheirOrder) {
  Headers headers;
  headers.Add("Warning", "1");
  headers.Add("warning", "2");
  headers.Add("Other", "3");
  EXPECT_EQ(headers.Get("WARNING"), "1");
  headers.Set("wArNiNg", "4");
  ASSERT_EQ(headers.fields().size(), 2u);
  EXPECT_EQ(headers.fields()[1].second, "4");
  headers.Remove("warning");
  EXPECT_EQ(headers.Get("Warning"), std::nullopt);
}

struct OriginCase {
  std::string url;
  bool tls;
  std::string host;
  int port;
  std::string host_header;
};
class OriginTest : public ::testing::TestWithParam<OriginCase> {};

TEST_P(OriginTest, IsParsed) {
  Result<Origin> origin = ParseOrigin(GetParam().url);
  ASSERT_TRUE(origin.ok()) << origin.status().ToString();
  EXPECT_EQ(origin->tls, GetParam().tls);
  EXPECT_EQ(origin->host, GetParam().host);
  EXPECT_EQ(origin->port, GetParam().port);
  EXPECT_EQ(origin->host_header(), GetParam().host_header);
}

INSTANTIATE_TEST_SUITE_P(
    All, OriginTest,
    ::testing::Values(OriginCase{"https://10.0.0.1", true, "10.0.0.1", 443, "10.0.0.1"},
                      OriginCase{"HTTP://Host.example:80/", false, "Host.example", 80,
                                 "Host.example"},
                      OriginCase{"https://[fd00::1]:6443", true, "fd00::1", 6443, "[fd00::1]:6443"},
                      OriginCase{"https://[::1]", true, "::1", 443, "[::1]"},
                      OriginCase{"http://u:p@h:1", false, "h", 1, "h:1"}));

TEST(GzipTest, RoundTripInAnyPieces) {
  std::string plain;
  for (int i = 0; i < 10000; ++i) plain += StrCat(i, " ");
  const std::string packed = Gzip(plain);
  EXPECT_LT(packed.size(), plain.size());
  for (size_t step : {size_t{1}, size_t{7}, packed.size()}) {
    GzipDecoder decoder;
    std::string out;
    for (size_t at = 0; at < packed.size(); at += step) {
      Result<std::string> piece = decoder.Push(packed.substr(at, step), 1 << 20);
      ASSERT_TRUE(piece.ok());
      out += *piece;
    }
    EXPECT_TRUE(decoder.complete());
    EXPECT_TRUE(out == plain);
  }
}

TEST(GzipTest, SeveralMembersAreOneText) {
  EXPECT_EQ(Gunzip(Gzip("one ") + Gzip("two"), 100).value_or(""), "one two");
}

TEST(GzipTest, EmptyTextRoundTrips) { EXPECT_EQ(Gunzip(Gzip(""), 0).value_or("failed"), ""); }

TEST(GzipTest, BadInputIsDataLoss) {
  std::string packed = Gzip("some text that is long enough");
  EXPECT_EQ(Gunzip("plain text", 100).status().code(), Code::kDataLoss);
  EXPECT_EQ(Gunzip(packed.substr(0, packed.size() - 1), 100).status().code(), Code::kDataLoss);
  packed[packed.size() - 5] ^= 1;  // the checksum
  EXPECT_EQ(Gunzip(packed, 100).status().code(), Code::kDataLoss);
}

TEST(GzipTest, LimitHolds) {
  EXPECT_TRUE(Gunzip(Gzip(std::string(1000, 'x')), 1000).ok());
  EXPECT_EQ(Gunzip(Gzip(std::string(1001, 'x')), 1000).status().code(), Code::kResourceExhausted);
}

TEST(Http1Test, DateIsImfFixdate) {
  EXPECT_EQ(HttpDate(WallTime(std::chrono::seconds(784111777))), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Http1Test, ReasonPhrasesOfTheApi) {
  EXPECT_EQ(ReasonPhrase(200), "OK");
  EXPECT_EQ(ReasonPhrase(404), "Not Found");
  EXPECT_EQ(ReasonPhrase(410), "Gone");
  EXPECT_EQ(ReasonPhrase(422), "Unprocessable Entity");
  EXPECT_EQ(ReasonPhrase(429), "Too Many Requests");
  EXPECT_EQ(ReasonPhrase(598), "");
}

}  // namespace
}  // namespace csinative::http
