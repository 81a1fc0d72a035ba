// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/endpoints.h"

#include <gtest/gtest.h>

#include "lib/http/gzip.h"
#include "test/unit/serve/recorder.h"

namespace csinative::serve {
namespace {

constexpr char kExposition[] =
    "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"1\"} 1\n"
    "# HELP b B.\n# TYPE b gauge\nb 2\n";

class MetricsHandlerTest : public ::testing::Test {
 protected:
  http::Response Ask(http::Headers headers = {}, std::string target = "/metrics",
                     std::string method = "GET") {
    MetricsOptions options = options_;
    options.gather = [this] { return gathered_; };
    return Call(
        MetricsHandler(std::move(options)),
        {.method = std::move(method), .target = std::move(target), .headers = std::move(headers)});
  }
  static http::Headers Header(std::string name, std::string value) {
    http::Headers headers;
    headers.Add(std::move(name), std::move(value));
    return headers;
  }

  GatheredMetrics gathered_{.text = kExposition};
  MetricsOptions options_;
};

TEST_F(MetricsHandlerTest, ServesTheExpositionToAnyMethod) {
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "DELETE"}) {
    const http::Response response = Ask({}, "/metrics", method);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, kExposition);
    EXPECT_EQ(response.headers.Get("Content-Type"),
              "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    EXPECT_EQ(response.headers.Get("Process-Start-Time-Unix"), std::nullopt);
  }
}

TEST_F(MetricsHandlerTest, RepeatsAKnownEscaping) {
  EXPECT_EQ(Ask(Header("Accept",
                       "application/openmetrics-text;version=1.0.0;q=0.6,"
                       "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.2"))
                .headers.Get("Content-Type"),
            "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8");
  EXPECT_EQ(Ask(Header("Accept", "text/plain;escaping=other")).headers.Get("Content-Type"),
            "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
}

struct EncodingCase {
  std::string accept;
  bool gzip;
};
class MetricsEncodingTest : public MetricsHandlerTest,
                            public ::testing::WithParamInterface<EncodingCase> {};

TEST_P(MetricsEncodingTest, IsNegotiated) {
  const http::Response response = Ask(Header("Accept-Encoding", GetParam().accept));
  if (GetParam().gzip) {
    EXPECT_EQ(response.headers.Get("Content-Encoding"), "gzip");
    EXPECT_EQ(http::Gunzip(response.body, 1 << 20).value_or("broken"), kExposition);
  } else {
    EXPECT_EQ(response.headers.Get("Content-Encoding"), std::nullopt);
    EXPECT_EQ(response.body, kExposition);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MetricsEncodingTest,
                         ::testing::Values(EncodingCase{"gzip", true}, EncodingCase{"*", false},
                                           EncodingCase{"identity, gzip", false},
                                           EncodingCase{"gzip;q=0.9, identity;q=0.5", true},
                                           EncodingCase{"gzip;q=0.5, identity;q=0.9", false},
                                           EncodingCase{"zstd", false},
                                           EncodingCase{"gzip;q=0", false}));

TEST_F(MetricsHandlerTest, FiltersByName) {
  EXPECT_EQ(Ask({}, "/metrics?name[]=b&x=y").body, "# HELP b B.\n# TYPE b gauge\nb 2\n");
  EXPECT_EQ(Ask({}, "/metrics?name%5B%5D=b&name%5B%5D=a_total").body, kExposition);
  EXPECT_EQ(Ask({}, "/metrics?name[]=none").body, "");
}

TEST_F(MetricsHandlerTest, StartTimeIsAHeader) {
  options_.process_start_time_unix = 1717171717;
  EXPECT_EQ(Ask().headers.Get("Process-Start-Time-Unix"), "1717171717");
}

TEST_F(MetricsHandlerTest, ErrorsAreShownOnlyIfNothingElseIs) {
  gathered_.error = InternalError("collected twice");
  EXPECT_EQ(Ask().body, kExposition);
  gathered_.text = "";
  EXPECT_EQ(Ask().status, 500);
}

TEST_F(MetricsHandlerTest, StrictPolicyFailsOnAnyError) {
  options_.on_error = MetricsOptions::OnError::kFail;
  gathered_.error = InternalError("collected twice");
  const http::Response response = Ask();
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "An error has occurred while serving metrics:\n\ncollected twice\n");
}

TEST(HealthHandlerTest, LeaderElectionAnswersAreUpstreams) {
  Mux mux;
  Status health;
  ASSERT_TRUE(HandleLeaderElectionHealth(mux, [&] { return health; }).ok());
  http::Response response =
      Call(mux.AsHandler(), {.method = "POST", .target = "/healthz/leader-election"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok");
  health = InternalError("failed election to renew leadership on lease ");
  response = Call(mux.AsHandler(), {.target = "/healthz/leader-election"});
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response.headers.Get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.body,
            "internal server error: failed election to renew leadership on lease \n");
}

}  // namespace
}  // namespace csinative::serve
