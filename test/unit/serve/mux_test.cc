// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/mux.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/http/gzip.h"

namespace csinative::serve {
namespace {

class CapturingWriter final : public http::ResponseWriter {
 public:
  async::Task<Status> Send(http::Response response) override {
    sent = std::move(response);
    co_return Status();
  }
  async::Task<Status> StartStream(int, http::Headers) override {
    co_return UnimplementedError("capture");
  }
  async::Task<Status> Write(std::string) override { co_return UnimplementedError("capture"); }
  void Abort() override {}
  std::optional<http::Response> sent;
};

class MuxTest : public ::testing::Test {
 protected:
  void Add(const std::string& pattern) {
    auto answer = [](std::string text) -> async::Task<http::Response> {
      http::Response response;
      response.status = 200;
      response.body = std::move(text);
      co_return response;
    };
    ASSERT_TRUE(
        mux_.Handle(pattern, [answer, pattern](http::ServerRequest) { return answer(pattern); })
            .ok());
  }
  http::Response Ask(const std::string& target, const std::string& method = "GET") {
    http::ServerRequest request;
    request.method = method;
    request.target = target;
    CapturingWriter writer;
    async::RunTask(scheduler_, loop_, mux_.AsHandler()(request, &writer));
    return writer.sent.value_or(http::Response());
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  Mux mux_;
};

TEST_F(MuxTest, ExactPathMatchesOnlyItself) {
  Add("/metrics");
  EXPECT_EQ(Ask("/metrics?x=1").body, "/metrics");
  EXPECT_EQ(Ask("/metrics/x").status, 404);
  EXPECT_EQ(Ask("/").body, "404 page not found\n");
}

TEST_F(MuxTest, SubtreePatternServesWhatIsBelowAndTheLongestWins) {
  Add("/debug/pprof/");
  Add("/debug/pprof/cmdline");
  EXPECT_EQ(Ask("/debug/pprof/heap").body, "/debug/pprof/");
  EXPECT_EQ(Ask("/debug/pprof/cmdline").body, "/debug/pprof/cmdline");
}

TEST_F(MuxTest, MethodRestrictsAPattern) {
  Add("GET /x");
  EXPECT_EQ(Ask("/x").status, 200);
  EXPECT_EQ(Ask("/x", "POST").status, 405);
  http::Response head = Ask("/x", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
}

TEST_F(MuxTest, UnusablePatternsAreRefused) {
  Add("/healthz/leader-election");
  auto none = [](http::ServerRequest) -> async::Task<http::Response> {
    co_return http::Response();
  };
  EXPECT_EQ(mux_.Handle("", none).message(), "http: invalid pattern");
  EXPECT_NE(mux_.Handle("metrics", none).message().find("host/path missing /"), std::string::npos);
  EXPECT_FALSE(mux_.Handle("/x{", none).ok());
  EXPECT_EQ(mux_.Handle("/healthz/leader-election", none).code(), Code::kAlreadyExists);
}

TEST(MetricsResponseTest, NegotiatesEscapingAndCompression) {
  struct Row {
    const char* accept;
    const char* encoding;
    const char* content_type;
    bool gzip;
  };
  const std::string base = "text/plain; version=0.0.4; charset=utf-8; escaping=";
  for (const Row& row : std::vector<Row>{
           {"", "", "underscores", false},
           {"text/plain;version=0.0.4;escaping=allow-utf-8", "gzip", "allow-utf-8", true},
           {"*/*", "gzip, identity", "underscores", false},
           {"*/*", "gzip;q=0.5, identity;q=0.2", "underscores", true},
           {"*/*", "*", "underscores", false},
           {"*/*", "gzip;q=0", "underscores", false}}) {
    http::ServerRequest request;
    if (*row.accept != '\0') request.headers.Set("Accept", row.accept);
    if (*row.encoding != '\0') request.headers.Set("Accept-Encoding", row.encoding);
    http::Response response = MetricsResponse(request, "a 1\n");
    EXPECT_EQ(*response.headers.Get("Content-Type"), base + row.content_type);
    if (row.gzip) {
      EXPECT_EQ(*http::Gunzip(response.body, 100), "a 1\n") << row.encoding;
    } else {
      EXPECT_EQ(response.body, "a 1\n") << row.encoding;
    }
  }
}

TEST(HealthResponseTest, OkWithoutLineFeedAndFailureWithGosFraming) {
  EXPECT_EQ(HealthResponse(Status()).body, "ok");
  http::Response bad = HealthResponse(UnavailableError("failed election on lease "));
  EXPECT_EQ(bad.status, 500);
  EXPECT_EQ(bad.body, "internal server error: failed election on lease \n");
  EXPECT_EQ(*bad.headers.Get("X-Content-Type-Options"), "nosniff");
}

TEST(QueryValuesTest, DecodesRepeatedKeys) {
  EXPECT_EQ(QueryValues("/m?name[]=a&x=1&name%5B%5D=b%20c", "name[]"),
            (std::vector<std::string>{"a", "b c"}));
}

}  // namespace
}  // namespace csinative::serve
