// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.4: what requests look like, and what answers mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/async/scope.h"
#include "lib/base/strings.h"
#include "lib/kube/codec.h"
#include "lib/kube/config.h"
#include "lib/kube/errors.h"
#include "lib/kube/log_body.h"
#include "lib/kube/request.h"
#include "lib/kube/warning_header.h"
#include "test/support/oracle.h"
#include "test/unit/kube/client_fixture.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const ResourceInfo& Claims() { return ResourceOf<core::PersistentVolumeClaim>(); }

TEST(RequestOracle, PathsAndQueries) {
  for (const char* bad : {".", "..", "test/segment", "test%2bsegment"}) {
    const oracle::Row row("kube-client/24.4/3");
    ResourceInfo resource = Claims();
    EXPECT_FALSE(BuildPath("GET", resource, {bad, "n"}, "").ok()) << bad;
    EXPECT_FALSE(BuildPath("GET", resource, {"ns", bad}, "").ok()) << bad;
    EXPECT_FALSE(BuildPath("GET", resource, {"ns", "n"}, bad).ok()) << bad;
    resource.plural = bad;
    EXPECT_FALSE(BuildPath("GET", resource, {"ns", "n"}, "").ok()) << bad;
  }
  {
    const oracle::Row row("kube-client/24.4/4");
    QueryParameters query = {{"foo", "a"}, {"bar", "1"}, {"bar", "2"}};
    SortQuery(query);
    EXPECT_EQ(EncodeQuery(query), "bar=1&bar=2&foo=a");
  }
  {
    const oracle::Row row("kube-client/24.4/5");
    QueryParameters query = ListQuery({.resource_version = "2"});
    query.emplace_back("timeoutSeconds", "10");
    EXPECT_EQ(EncodeQuery(query), "resourceVersion=2&timeoutSeconds=10");
  }
  struct Base {
    const char* server;
    const char* path;
    const char* whole;
  };
  const Base kBases[] = {{"https://h/p1", "", "https://h/p1"},
                         {"https://h/p1", "/", "https://h/p1/"},
                         {"https://h/p1", "/api", "https://h/p1/api"},
                         {"https://h/p1", "/api/", "https://h/p1/api/"},
                         {"https://h/p1/api/p2", "", "https://h/p1/api/p2"},
                         {"https://h/p1/api/p2", "/api", "https://h/p1/api/p2/api"},
                         {"https://h/p1/api/p2/", "/apis", "https://h/p1/api/p2/apis"}};
  for (const Base& entry : kBases) {
    const oracle::Row row("kube-client/24.4/7");
    const Result<ServerUrl> url = ParseServer(entry.server, TlsSettings::kAbsent);
    EXPECT_EQ(StrCat(url->origin, url->path, EscapePath(entry.path)), entry.whole);
  }
  struct Preflight {
    const char* method;
    ObjectName name;
    bool namespaced;
    bool ok;
  };
  const Preflight kPreflights[] = {{"GET", {"", "n"}, false, true},
                                   {"GET", {"", ""}, true, true},
                                   {"GET", {"", "n"}, true, false},
                                   {"POST", {"", ""}, true, false},
                                   {"GET", {"ns", "n"}, true, true}};
  for (const Preflight& entry : kPreflights) {
    const oracle::Row row("kube-client/24.4/8");
    ResourceInfo resource = Claims();
    resource.namespaced = entry.namespaced;
    EXPECT_EQ(BuildPath(entry.method, resource, entry.name, "").ok(), entry.ok) << entry.method;
  }
  {
    const oracle::Row row("kube-client/24.4/9");
    QueryParameters query;
    AddTimeout(query, 1);
    EXPECT_THAT(EncodeQuery(query), HasSubstr("timeout=1s"));
  }
}

class AnswerOracle : public ClientFixture {};

TEST_F(AnswerOracle, Bodies) {
  const oracle::Row row("kube-client/24.4/10");
  // A file name and a reader do not exist here: bodies are bytes or objects.
  Use({.qps = -1, .protobuf = false});
  transport_->AnswerAlways([](const ApiRequest&) { return testing::JsonAnswer("{}"); });
  ASSERT_TRUE(Run(client_->Patch<core::Node>({"", "n"}, PatchType::kJson, "[bytes]")).ok());
  ASSERT_TRUE(Run(client_->Create(NodeNamed())).ok());
  ASSERT_TRUE(Get().ok());
  const std::vector<ApiRequest>& sent = transport_->requests();
  EXPECT_EQ(sent[0].body, "[bytes]");
  EXPECT_EQ(sent[1].body, testing::JsonOf(NodeNamed()) + "\n");
  EXPECT_EQ(sent[1].content_type, "application/json");
  EXPECT_EQ(sent[2].body, "");
  EXPECT_EQ(sent[2].content_type, "");
}

struct AnswerEntry {
  const char* row;
  ApiResponse answer;
  int code;  // of the error; 0: no error
  std::string method = "GET";
};

TEST_F(AnswerOracle, Codes) {
  const std::string kText = "text/plain";
  const AnswerEntry kEntries[] = {
      // Whether an object was created is not told.
      {"kube-client/24.4/11", {.code = 200, .content_type = kText}, 0},
      {"kube-client/24.4/11", {.code = 201, .content_type = kText}, 0},
      {"kube-client/24.4/12", {.code = 199}, 199},
      {"kube-client/24.4/12", {.code = 500}, 500},
      {"kube-client/24.4/12", {.code = 422}, 422},
      {"kube-client/24.4/12", {.code = 409}, 409},
      {"kube-client/24.4/12", {.code = 404}, 404},
      {"kube-client/24.4/12", {.code = 401}, 401},
      {"kube-client/24.4/12", {.code = 403}, 403},
      {"kube-client/24.4/22", {.code = 204}, 0, "DELETE"},
  };
  for (const AnswerEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    const Status status =
        CheckAnswer(entry.answer, Encoding::kJson, {entry.method, &Claims(), "bar"});
    ASSERT_EQ(status.ok(), entry.code == 0) << status.message();
    if (!status.ok()) EXPECT_EQ(status.api_error()->http_code, entry.code);
  }
}

Status Check(ApiResponse answer, std::string_view method = "GET") {
  return CheckAnswer(answer, Encoding::kJson, {method, &Claims(), "bar"});
}

TEST_F(AnswerOracle, ErrorsMadeHere) {
  {
    const oracle::Row row("kube-client/24.4/13");
    const Status garbage =
        Check({.code = 401, .content_type = "application/json", .body = "aaaaa"});
    EXPECT_TRUE(IsUnauthorized(garbage));
    EXPECT_NE(garbage.message(), "aaaaa");
    const Status text = Check({.code = 401, .content_type = "text/any", .body = "aaaaa"});
    EXPECT_TRUE(IsUnauthorized(text));
    EXPECT_THAT(text.message(), HasSubstr("server has asked for the client to provide"));
  }
  {
    const oracle::Row row("kube-client/24.4/14");
    const Status status = Check({.code = 500, .content_type = "application/,others"});
    EXPECT_EQ(status.message(), "Internal error occurred: mime: expected token after slash");
    EXPECT_EQ(status.api_error()->http_code, 500);
  }
  {
    const oracle::Row row("kube-client/24.4/15");
    EXPECT_TRUE(
        IsNotFound(Check({.code = 404, .content_type = "application/unrecognized", .body = "x"})));
  }
  struct Entry {
    const char* method;
    int code;
    bool (*is)(const Status&);
  };
  const Entry kGeneric[] = {
      {"POST", 409, IsAlreadyExists},
      {"PUT", 409, IsConflict},
      {"GET", 404, IsNotFound},
      {"GET", 400, [](const Status& s) { return s.api_error()->reason == "BadRequest"; }}};
  for (const Entry& entry : kGeneric) {
    const oracle::Row row("kube-client/24.4/16");
    const Status status = Check({.code = entry.code}, entry.method);
    EXPECT_TRUE(entry.is(status)) << status.message();
    EXPECT_TRUE(IsUnexpectedServerError(status));
    EXPECT_THAT(status.message(), HasSubstr("persistentvolumeclaims bar"));
  }
  for (const char* version : {R"("apiVersion":"v1",)", ""}) {
    const oracle::Row row("kube-client/24.4/17");
    const Status status = Check(testing::JsonAnswer(
        StrCat(R"({"kind":"Status",)", version, R"("status":"Failure","code":404})"), 400));
    EXPECT_EQ(status.api_error()->http_code, 404);
    EXPECT_FALSE(IsUnexpectedServerError(status));
  }
  for (const char* body : {R"({"kind":"Status","apiVersion":"v1","status":"Success","code":200})",
                           "{}", R"({"status":"Failure","code":404})"}) {
    const oracle::Row row("kube-client/24.4/18");
    const Status status = Check(testing::JsonAnswer(body, 400));
    EXPECT_EQ(status.api_error()->reason, "BadRequest") << body;
    EXPECT_TRUE(IsUnexpectedServerError(status)) << body;
  }
}

TEST_F(AnswerOracle, ErrorsOfTheServer) {
  {
    const oracle::Row row("kube-client/24.4/19");
    transport_->Answer({.code = 200, .content_type = "application/json"});
    EXPECT_THAT(Get().message(), HasSubstr("0-length"));
  }
  {
    const oracle::Row row("kube-client/24.4/20");
    const Status status = Check(testing::JsonAnswer(
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","reason":"NotFound",)"
        R"("code":404,"details":{"name":"n","kind":"k","retryAfterSeconds":3,"causes":[{"reason":)"
        R"("r","message":"c","field":"f"}]}})",
        404));
    const ApiError& error = *status.api_error();
    EXPECT_EQ(status.message(), "m");
    EXPECT_EQ(error.reason, "NotFound");
    EXPECT_EQ(error.http_code, 404);
    EXPECT_EQ(error.name, "n");
    EXPECT_EQ(error.kind, "k");
    EXPECT_EQ(error.retry_after_seconds, 3);
    ASSERT_THAT(error.causes, SizeIs(1));
    EXPECT_EQ(error.causes[0].reason + error.causes[0].message + error.causes[0].field, "rcf");
  }
  {
    const oracle::Row row("kube-client/24.4/21");
    const ApiResponse answer{
        .code = 404, .content_type = "application/octet-stream", .body = "raw"};
    const Status status = Check(answer);
    EXPECT_EQ(answer.body, "raw");
    EXPECT_TRUE(IsNotFound(status));
    ASSERT_THAT(status.api_error()->causes, SizeIs(1));
    EXPECT_EQ(status.api_error()->causes[0].message, "unknown");
  }
}

TEST(WarningOracle, Headers) {
  {
    const oracle::Row row("kube-client/24.4/23");
    std::vector<std::string> lines;
    for (const char* value :
         {"299 agent \"warning 1\"", "299 agent \"warning 2\"", "300 agent \"warning 3\""}) {
      for (const std::string& text : ParseWarnings(value)) lines.push_back(text);
    }
    EXPECT_THAT(lines, ElementsAre("warning 1", "warning 2"));
  }
  struct Entry {
    const char* value;
    std::vector<std::string> texts;
  };
  const Entry kEntries[] = {
      {R"(299 - "text")", {"text"}},
      {R"(299 - "a \"quoted\" \\ text")", {R"(a "quoted" \ text)"}},
      {R"(299 - "one", 299 - "two")", {"one", "two"}},
      {R"(299 -)", {}},
      {R"(299)", {}},
      {R"(29 - "text")", {}},
      {R"(2999 - "text")", {}},
      {R"(099 - "text")", {}},
      {R"(abc - "text")", {}},
      {R"(299  "text")", {}},
      {"299 \xff \"text\"", {}},
      {R"(299 - text)", {}},
      {R"(299 - "")", {}},
      {R"(299 - "text" "Tue, 15 Nov 1994 08:12:31 GMT")", {"text"}},
      {R"(299 - "text" "Tue, 15 Nov)", {}},
      {R"(299 - "text" "Tue, 15 Nov 1994 08:12:31 GMT" other)", {}},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.4/24");
    EXPECT_EQ(ParseWarnings(entry.value), entry.texts) << entry.value;
  }
}

TEST(LogBodyOracle, Limits) {
  struct Entry {
    size_t size;
    int verbosity;
    size_t kept;
    const char* suffix;
  };
  const Entry kEntries[] = {{28, 0, 0, " [truncated 28 chars]"},
                            {31, 8, 31, ""},
                            {31, 10, 31, ""},
                            {2000, 8, 1024, " [truncated 976 chars]"},
                            {20000, 9, 10240, " [truncated 9760 chars]"},
                            {20000, 10, 20000, ""},
                            {20000, 11, 20000, ""}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.4/25");
    EXPECT_EQ(BodyForLog(std::string(entry.size, 'a'), entry.verbosity),
              std::string(entry.kept, 'a') + entry.suffix);
  }
}

async::Task<void> GetForEver(Client* client) {
  for (;;) {
    const Result<core::Node> got = co_await client->Get<core::Node>({"", "n"});
    if (!got.ok()) co_return;
  }
}

TEST_F(AnswerOracle, LongWaitsInTheLog) {
  const oracle::Row row("kube-client/24.4/26");
  Use({.qps = 10, .burst = 1});
  transport_->AnswerAlways([](const ApiRequest&) { return testing::ProtobufAnswer(NodeNamed()); });
  // Twenty callers share ten tokens a second: each waits two seconds, ten waits end in a second.
  async::Scope scope(loop_);
  for (int i = 0; i < 20; ++i) scope.Spawn(GetForEver(client_.get()));
  scheduler_.Advance(std::chrono::seconds(10));
  const size_t before = output_->Records().size();
  scheduler_.Advance(std::chrono::seconds(1000));
  EXPECT_THAT(output_->Records(), SizeIs(before + 100));
  scope.Cancel();
  scheduler_.Settle();
}

}  // namespace
}  // namespace csinative::kube
