// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/debug_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>

#include "lib/async/run.h"
#include "test/unit/serve/recorder.h"

namespace csinative::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

DebugSnapshot Example() {
  DebugSnapshot snapshot;
  snapshot.program = "csi-provisioner";
  snapshot.version = "v6.3.0";
  snapshot.uptime = minutes(75);
  snapshot.facts = {{"driver", "a.example"}, {"leader", "yes, as pod-1"}};
  snapshot.queues = {{"claims", 1, 2, 3}};
  snapshot.work = {{.queue = "claims",
                    .object = "ns/data",
                    .key = "uid-1",
                    .state = "delayed",
                    .age = {},
                    .failures = 4,
                    .last_error = "rpc error: <b>\"no\" & 'space'\n\xff</b>",
                    .last_error_age = seconds(90),
                    .next_try_in = seconds(61)},
                   {.queue = "claims", .object = "ns/new", .state = "in work", .age = seconds(5)}};
  snapshot.work_left_off = 7;
  snapshot.watches = {{"persistentvolumeclaims", "watching", 50000, 41'000'000, milliseconds(300)},
                      {"nodes", "listing", 0, 0, {}}};
  snapshot.calls = {{"/csi.v1.Controller/CreateVolume", "pvc-1", seconds(5), seconds(10)}};
  return snapshot;
}

TEST(DebugPage, HtmlShowsEverythingAndRunsNothing) {
  const std::string html = DebugHtml(Example());
  for (const char* shown :
       {"csi-provisioner", "v6.3.0", "1h15m", "a.example", "yes, as pod-1", "ns/data", "delayed",
        "1m30s", "1m1s", "and 7 more", "persistentvolumeclaims", "50000", "41 MB", "300ms",
        "listing", "/csi.v1.Controller/CreateVolume", "pvc-1"}) {
    EXPECT_THAT(html, HasSubstr(shown));
  }
  EXPECT_THAT(html,
              HasSubstr("rpc error: &lt;b&gt;&quot;no&quot; &amp; &#39;space&#39; \xef\xbf\xbd"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("http:")));
}

TEST(DebugPage, AnEmptyProgramSaysSo) {
  const std::string html = DebugHtml({.program = "p"});
  EXPECT_THAT(html, HasSubstr("Nothing to do."));
  EXPECT_THAT(html, HasSubstr("None in flight."));
}

TEST(DebugPage, JsonHasTheSameFacts) {
  rapidjson::Document json;
  ASSERT_FALSE(json.Parse(DebugJson(Example()).c_str()).HasParseError());
  EXPECT_STREQ(json["program"].GetString(), "csi-provisioner");
  EXPECT_EQ(json["uptimeSeconds"].GetDouble(), 4500);
  EXPECT_STREQ(json["facts"]["driver"].GetString(), "a.example");
  const auto& stuck = json["work"][0];
  EXPECT_STREQ(stuck["object"].GetString(), "ns/data");
  EXPECT_STREQ(stuck["key"].GetString(), "uid-1");
  EXPECT_STREQ(stuck["state"].GetString(), "delayed");
  EXPECT_EQ(stuck["failures"].GetInt(), 4);
  EXPECT_STREQ(stuck["lastError"].GetString(), "rpc error: <b>\"no\" & 'space'\n\xef\xbf\xbd</b>");
  EXPECT_EQ(stuck["nextTryInSeconds"].GetDouble(), 61);
  EXPECT_FALSE(stuck.HasMember("seconds"));
  EXPECT_EQ(json["workLeftOff"].GetInt(), 7);
  EXPECT_EQ(json["queues"][0]["delayed"].GetInt(), 3);
  EXPECT_EQ(json["watches"][0]["objects"].GetInt(), 50000);
  EXPECT_FALSE(json["watches"][1].HasMember("lastHeardSecondsAgo"));
  EXPECT_EQ(json["calls"][0]["deadlineInSeconds"].GetDouble(), 10);
}

class DebugHandler : public ::testing::Test {
 protected:
  http::Response Get(std::string target, std::string accept = "") {
    EXPECT_TRUE(added_.ok());
    http::Request request;
    request.target = std::move(target);
    if (!accept.empty()) request.headers.Add("Accept", std::move(accept));
    return Call(mux_.AsHandler(), std::move(request));
  }

  Mux mux_;
  int taken_ = 0;
  Status added_ = HandleDebug(mux_, [this] {
    ++taken_;
    return Example();
  });
};

TEST_F(DebugHandler, BrowsersGetHtmlAndProgramsJson) {
  const struct {
    const char* target;
    const char* accept;
    const char* type;
  } cases[] = {
      {"/debug", "", "text/html; charset=utf-8"},
      {"/debug", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
       "text/html; charset=utf-8"},
      {"/debug", "application/json", "application/json"},
      {"/debug", "text/html, application/json", "text/html; charset=utf-8"},
      {"/debug?format=json", "text/html", "application/json"},
      {"/debug?x&format=html", "application/json", "text/html; charset=utf-8"},
  };
  for (const auto& c : cases) {
    const http::Response response = Get(c.target, c.accept);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.Get("Content-Type"), c.type) << c.target << " " << c.accept;
    EXPECT_EQ(response.headers.Get("Cache-Control"), "no-store");
  }
  EXPECT_EQ(taken_, 6);
}

TEST_F(DebugHandler, PathsBelowBelongToOthers) { EXPECT_EQ(Get("/debug/pprof/").status, 404); }

TEST_F(DebugHandler, AMetricsPathOfThatNameWins) {
  EXPECT_EQ(HandleDebug(mux_, Example).code(), Code::kAlreadyExists);
}

}  // namespace
}  // namespace csinative::serve
