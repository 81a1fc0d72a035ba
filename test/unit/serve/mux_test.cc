// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/mux.h"

#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/unit/serve/recorder.h"

namespace csinative::serve {
namespace {

http::Handler Says(std::string text) {
  return [text = std::move(text)](http::ServerRequest, http::ResponseWriter* writer) {
    const auto send = [](std::string body, http::ResponseWriter* w) -> async::Task<void> {
      (void)co_await w->Send({.status = 200, .body = std::move(body)});
    };
    return send(text, writer);
  };
}

class MuxTest : public ::testing::Test {
 protected:
  // "status body" of a request.
  std::string Ask(const std::string& target, const std::string& method = "GET",
                  const std::string& host = "x:80") {
    http::Request request{.method = method, .target = target};
    request.headers.Add("Host", host);
    last_ = Call(mux_.AsHandler(), std::move(request));
    return StrCat(last_.status, " ", last_.body);
  }
  void Handle(const std::string& pattern) {
    const Status status = mux_.Handle(pattern, Says(pattern));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  Mux mux_;
  http::Response last_;
};

TEST_F(MuxTest, ExactPathMatchesOnlyItself) {
  Handle("/metrics");
  EXPECT_EQ(Ask("/metrics"), "200 /metrics");
  EXPECT_EQ(Ask("/metrics?a=b"), "200 /metrics");
  EXPECT_EQ(Ask("/metrics", "POST"), "200 /metrics");
  EXPECT_EQ(Ask("/metrics/x"), "404 404 page not found\n");
  EXPECT_EQ(Ask("/metrics/"), "404 404 page not found\n");
  EXPECT_EQ(Ask("/"), "404 404 page not found\n");
  EXPECT_EQ(last_.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(last_.headers.Get("X-Content-Type-Options"), "nosniff");
}

TEST_F(MuxTest, TrailingSlashMatchesTheSubtree) {
  Handle("/foo/");
  EXPECT_EQ(Ask("/foo/"), "200 /foo/");
  EXPECT_EQ(Ask("/foo/x/y"), "200 /foo/");
  EXPECT_EQ(Ask("/fo"), "404 404 page not found\n");
  EXPECT_EQ(Ask("/foo?a=b&c"), "307 <a href=\"/foo/?a=b&amp;c\">Temporary Redirect</a>.\n\n");
  EXPECT_EQ(last_.headers.Get("Location"), "/foo/?a=b&c");
}

TEST_F(MuxTest, MoreParticularPatternWins) {
  Handle("/debug/pprof/");
  Handle("/debug/pprof/cmdline");
  Handle("/debug/{x}/cmdline");
  Handle("/{rest...}");
  EXPECT_EQ(Ask("/debug/pprof/cmdline"), "200 /debug/pprof/cmdline");
  EXPECT_EQ(Ask("/debug/pprof/heap"), "200 /debug/pprof/");
  EXPECT_EQ(Ask("/debug/y/cmdline"), "200 /debug/{x}/cmdline");
  EXPECT_EQ(Ask("/anything/else"), "200 /{rest...}");
}

TEST_F(MuxTest, EndWildcardMatchesOnlyTheSlash) {
  Handle("/a/{$}");
  EXPECT_EQ(Ask("/a/"), "200 /a/{$}");
  EXPECT_EQ(Ask("/a/b"), "404 404 page not found\n");
}

TEST_F(MuxTest, MethodOfThePatternIsChecked) {
  Handle("GET /m");
  EXPECT_EQ(Ask("/m"), "200 GET /m");
  EXPECT_EQ(Ask("/m", "HEAD"), "200 GET /m");
  EXPECT_EQ(Ask("/m", "POST"), "405 Method Not Allowed\n");
  EXPECT_EQ(last_.headers.Get("Allow"), "GET, HEAD");
}

TEST_F(MuxTest, HostOfThePatternIsChecked) {
  Handle("example.com/m");
  EXPECT_EQ(Ask("/m", "GET", "example.com:8080"), "200 example.com/m");
  EXPECT_EQ(Ask("/m", "GET", "other"), "404 404 page not found\n");
}

TEST_F(MuxTest, UncleanPathIsRedirected) {
  Handle("/a/b");
  EXPECT_EQ(Ask("//a/./x/../b"), "307 <a href=\"/a/b\">Temporary Redirect</a>.\n\n");
}

TEST_F(MuxTest, AbsoluteTargetIsAnsweredForItsHostAndPath) {
  Handle("/a");
  Handle("h/b");
  Handle("/{$}");
  EXPECT_EQ(Ask("http://h/a?x=1"), "200 /a");
  EXPECT_EQ(Ask("http://h:80/b"), "200 h/b");
  EXPECT_EQ(Ask("/b"), "404 404 page not found\n");
  EXPECT_EQ(Ask("http://h"), "200 /{$}");
  EXPECT_EQ(Ask("http://h?a=/b"), "200 /{$}");
}

TEST_F(MuxTest, OptionsOfTheServerAreEmpty) {
  Handle("/");
  EXPECT_EQ(Ask("*", "OPTIONS"), "200 ");
}

TEST_F(MuxTest, EscapedPathMatchesLiterally) {
  Handle("/c%2Fd");
  EXPECT_EQ(Ask("/a"), "404 404 page not found\n");
  EXPECT_EQ(Ask("/c%2fd"), "200 /c%2Fd");
}

struct BadPattern {
  std::string pattern;
  std::string message;
};
class MuxRefusesTest : public ::testing::TestWithParam<BadPattern> {};

TEST_P(MuxRefusesTest, WithGosText) {
  Mux mux;
  const Status status = mux.Handle(GetParam().pattern, Says(""));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, MuxRefusesTest,
    ::testing::Values(
        BadPattern{"", "http: invalid pattern"},
        BadPattern{"metrics", "parsing \"metrics\": at offset 0: host/path missing /"},
        BadPattern{"GET metrics", "parsing \"GET metrics\": at offset 4: host/path missing /"},
        BadPattern{"/a{b",
                   "parsing \"/a{b\": at offset 1: bad wildcard segment (must start with '{')"},
        BadPattern{"/{b", "parsing \"/{b\": at offset 1: bad wildcard segment (must end with '}')"},
        BadPattern{"/{}", "parsing \"/{}\": at offset 1: empty wildcard"},
        BadPattern{"/{$}/x", "parsing \"/{$}/x\": at offset 1: {$} not at end"},
        BadPattern{"/{a...}/x", "parsing \"/{a...}/x\": at offset 1: {...} wildcard not at end"},
        BadPattern{"/{a}/{a}", "parsing \"/{a}/{a}\": at offset 5: duplicate wildcard name \"a\""},
        BadPattern{"a{b}/",
                   "parsing \"a{b}/\": at offset 1: host contains '{' (missing initial '/'?)"},
        BadPattern{"G@T /", "parsing \"G@T /\": at offset 0: invalid method \"G@T\""}));

TEST_F(MuxTest, SamePatternTwiceIsRefused) {
  Handle("/healthz/leader-election");
  EXPECT_EQ(mux_.Handle("/healthz/leader-election", Says("")).code(), Code::kAlreadyExists);
  Handle("/{a}");
  EXPECT_EQ(mux_.Handle("/{b}", Says("")).code(), Code::kAlreadyExists);
}

}  // namespace
}  // namespace csinative::serve
