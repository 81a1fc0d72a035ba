// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.5: which requests are repeated, when, and what is left of the failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/async/scope.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "lib/kube/host_backoff.h"
#include "lib/kube/retry.h"
#include "test/support/oracle.h"
#include "test/unit/kube/client_fixture.h"

namespace csinative::kube {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// The oracle's retries: two, so that three attempts mean that all were used.
constexpr int kRetries = 2;

Status NetworkTimeout() {
  return Status(Code::kUnavailable, "i/o timeout", TransportError{TransportError::Kind::kTimeout});
}

class RetryOracle : public ClientFixture {
 protected:
  RetryOracle() { Restart(); }
  void Restart(int max_retries = kRetries) {
    ClientFixture::Restart({.qps = -1, .max_retries = max_retries});
  }
  ApiResponse Done() { return testing::ProtobufAnswer(NodeNamed()); }
  ApiResponse Throttled(int code, const std::string& retry_after) {
    return {.code = code, .retry_after = retry_after};
  }
};

struct OutcomeEntry {
  const char* row;
  Result<ApiResponse> outcome;
  std::vector<std::string> verbs;
  bool verb_repeats;   // what the originals call Do
  bool watch_repeats;  // a stream of raw bytes does not exist here
};

TEST_F(RetryOracle, OutcomesThatAreRepeated) {
  const std::vector<std::string> kAll = {"GET", "POST", "PUT", "DELETE", "PATCH"};
  const auto broken = [](const char* text) -> Result<ApiResponse> {
    return testing::BrokenConnection(text);
  };
  const OutcomeEntry kEntries[] = {
      {"kube-client/24.5/1", Throttled(429, "0"), kAll, true, true},
      {"kube-client/24.5/1", Throttled(503, "0"), kAll, true, true},
      {"kube-client/24.5/2", Throttled(500, ""), {"GET"}, false, false},
      {"kube-client/24.5/2", Throttled(429, ""), {"GET"}, false, false},
      {"kube-client/24.5/2", Done(), {"GET"}, false, false},
      {"kube-client/24.5/2", Throttled(301, "0"), {"GET"}, false, false},
      {"kube-client/24.5/3", broken("connect: connection reset by peer"), {"GET"}, true, true},
      {"kube-client/24.5/3", broken("EOF"), {"GET"}, true, true},
      {"kube-client/24.5/3", broken("unexpected EOF"), {"GET"}, true, true},
      {"kube-client/24.5/3", broken("broken connection"), {"GET"}, true, true},
      {"kube-client/24.5/3", broken("use of closed network connection"), {"GET"}, true, true},
      {"kube-client/24.5/4", testing::RefusedConnection(), {"GET", "POST"}, false, false},
      {"kube-client/24.5/5", broken("EOF"), {"POST"}, false, true},
      {"kube-client/24.5/6", NetworkTimeout(), {"GET"}, false, true},
  };
  for (const OutcomeEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    for (const std::string& verb : entry.verbs) {
      Restart();
      transport_->AnswerAlways([&](const ApiRequest&) { return entry.outcome; });
      EXPECT_EQ(Call(verb).ok(), entry.outcome.ok() && entry.outcome->code == 200);
      EXPECT_EQ(attempts(), entry.verb_repeats ? 3u : 1u) << verb;
    }
    Restart();
    transport_->AnswerAlways([&](const ApiRequest&) { return entry.outcome; });
    (void)Watch();
    EXPECT_EQ(attempts(), entry.watch_repeats ? 3u : 1u) << "watch";
  }
}

TEST_F(RetryOracle, PausesAndLimits) {
  {
    const oracle::Row row("kube-client/24.5/7");
    Restart(10);
    for (int code : {429, 500, 501, 504}) transport_->Answer(Throttled(code, "0"));
    transport_->Answer(Done());
    core::Node large = NodeNamed(std::string(4000, 'a'));
    EXPECT_TRUE(Run(client_->Create(large)).ok());
    ASSERT_EQ(attempts(), 5u);
    for (const ApiRequest& request : transport_->requests()) {
      EXPECT_EQ(request.body, transport_->requests()[0].body);
      EXPECT_GT(request.body.size(), 4000u);
    }
  }
  {
    const oracle::Row row("kube-client/24.5/8");
    Restart(10);
    for (int i = 0; i < 4; ++i) transport_->Answer(Throttled(429, "1"));
    transport_->Answer(Done());
    const MonotonicTime start = loop_.Now();
    EXPECT_TRUE(Get().ok());
    EXPECT_EQ(transport_->times()[0], start);
    EXPECT_THAT(Pauses(), ElementsAre(1, 1, 1, 1));
  }
  {
    const oracle::Row row("kube-client/24.5/9");
    Restart();
    transport_->Fail(testing::BrokenConnection());
    transport_->Fail(testing::BrokenConnection());
    transport_->Answer(Done());
    EXPECT_TRUE(Get().ok());
    EXPECT_THAT(Pauses(), ElementsAre(1, 1));
  }
  for (const auto& [retries, ok] : {std::pair(0, false), std::pair(1, true), std::pair(5, true)}) {
    const oracle::Row row("kube-client/24.5/10");
    Restart(retries);
    transport_->Answer(Throttled(429, "0"));
    transport_->Answer(Done());
    EXPECT_EQ(Get().ok(), ok) << retries;
  }
  struct Order {
    const char* retry_after;
    HostBackoffOptions backoff;
    int pause;  // in seconds, before the limiter is asked
  };
  const Order kOrders[] = {{"5", {seconds(1), seconds(1)}, 5}, {"2", {seconds(4), seconds(4)}, 4}};
  for (const Order& entry : kOrders) {
    const oracle::Row row("kube-client/24.5/12");
    // The limiter has a token every eight seconds, and says how long it was waited for.
    ClientFixture::Restart();
    transport_->Answer(Throttled(500, entry.retry_after));
    transport_->Answer(Done());
    Use({.qps = 0.125F, .burst = 1, .host_backoff = entry.backoff}, 3);
    output_->Clear();
    EXPECT_TRUE(Get().ok());
    // No wait and no pause before the first attempt, then the longer pause, then the limiter.
    ASSERT_THAT(Pauses(), SizeIs(1));
    EXPECT_EQ(Pauses()[0], 8);
    EXPECT_THAT(output_->Last(), HasSubstr("Waited before sending request"));
    EXPECT_THAT(output_->Last(), HasSubstr(StrCat("delay=\"", 8 - entry.pause, "s\"")));
    // A watch does without the limiter the first time.
    transport_->AnswerStream();
    const MonotonicTime start = loop_.Now();
    EXPECT_TRUE(Watch().ok());
    EXPECT_EQ(loop_.Now(), start);
  }
}

TEST_F(RetryOracle, Watches) {
  struct Entry {
    Result<ApiResponse> outcome;
    bool (*expected)(const Status&);
  };
  const Entry kEntries[] = {
      {UnavailableError("not repeated"), [](const Status& s) { return !s.ok(); }},
      {testing::ProtobufFailure(403, "Forbidden", "secrets is forbidden"),
       [](const Status& s) { return s.message() == "secrets is forbidden"; }},
      {ApiResponse{.code = 403}, IsForbidden},
      {ApiResponse{.code = 401}, IsUnauthorized},
      {testing::ProtobufFailure(401, "Unauthorized", "Unauthorized"), IsUnauthorized}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.5/13");
    Restart();
    transport_->AnswerAlways([&](const ApiRequest&) { return entry.outcome; });
    const Status status = Watch().status();
    EXPECT_TRUE(entry.expected(status)) << status.ToString();
    EXPECT_EQ(attempts(), 1u);
  }
  {
    // An error of the request itself: nothing is sent.
    const oracle::Row row("kube-client/24.5/13");
    Restart();
    EXPECT_FALSE(
        Run(client_->OpenStream(&ResourceOf<core::Pod>(), "..", {{"watch", "true"}})).ok());
    EXPECT_EQ(attempts(), 0u);
  }
  for (const int retries : {0, 2}) {
    for (const char* text : {"EOF", "broken connection", "connection reset by peer"}) {
      const oracle::Row row("kube-client/24.5/14");
      Restart(retries);
      transport_->AnswerAlways([&](const ApiRequest&) -> Result<ApiResponse> {
        return testing::BrokenConnection(text);
      });
      Result<std::unique_ptr<ApiStream>> stream = Watch();
      ASSERT_TRUE(stream.ok()) << stream.status().ToString();
      EXPECT_EQ(*Run((*stream)->Read()), "");
      EXPECT_EQ(attempts(), static_cast<size_t>(retries + 1));
    }
  }
  {
    const oracle::Row row("kube-client/24.5/15");
    Restart();
    transport_->AnswerAlways([&](const ApiRequest&) { return Throttled(500, "0"); });
    EXPECT_TRUE(IsInternalError(Watch().status()));
    EXPECT_EQ(attempts(), 3u);
  }
}

TEST_F(RetryOracle, TextsOfFailures) {
  {
    const oracle::Row row("kube-client/24.5/17");
    Restart(10);
    transport_->Fail(testing::BrokenConnection("EOF"));
    transport_->Answer(Throttled(429, "0"));
    transport_->Answer(Throttled(429, "0"));
    const auto cancelled =
        Run(async::WithTimeout(seconds(5), client_->Get<core::Node>({"", "n"})));  // nobody answers
    EXPECT_TRUE(IsDeadlineExceeded(cancelled.status()));
    EXPECT_THAT(cancelled.status().message(), HasSubstr("- error from a previous attempt: EOF"));
  }
  struct Entry {
    std::vector<std::string> failures;  // "429": that answer
    std::string mentioned;              // empty: nothing
  };
  const Entry kEntries[] = {{{"unexpected EOF", "EOF"}, "EOF"}, {{"429", "429"}, ""}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.5/17");
    Restart(10);
    for (const std::string& failure : entry.failures) {
      if (failure == "429") {
        transport_->Answer(Throttled(429, "0"));
      } else {
        transport_->Fail(testing::BrokenConnection(failure));
      }
    }
    const Status status =
        Run(async::WithTimeout(seconds(5), client_->Get<core::Node>({"", "n"}))).status();
    if (entry.mentioned.empty()) {
      EXPECT_THAT(status.message(), Not(HasSubstr("previous attempt")));
    } else {
      EXPECT_TRUE(
          status.message().ends_with(StrCat("- error from a previous attempt: ", entry.mentioned)))
          << status.message();
    }
  }
  {
    const oracle::Row row("kube-client/24.5/17");
    Restart();
    transport_->AnswerAlways(
        [](const ApiRequest&) -> Result<ApiResponse> { return testing::BrokenConnection("EOF"); });
    EXPECT_THAT(Get().message(), Not(HasSubstr("previous attempt")));
  }
  struct Reason {
    RetryAdvice advice;
    int retries;
    const char* text;
  };
  const Reason kReasons[] = {
      {*AdviseAfterAnswer({.code = 429, .retry_after = "2", .flow_schema_uid = "fs-1"}), 1,
       "retries: 1, retry-after: 2s - retry-reason: due to server-side throttling, FlowSchema "
       "UID: \"fs-1\""},
      {*AdviseAfterAnswer({.code = 503, .retry_after = "3"}), 1,
       "retries: 1, retry-after: 3s - retry-reason: 503"},
      {*AdviseAfterFailure(ExchangeKind::kUnary, "GET", testing::BrokenConnection("fake error")), 1,
       "retries: 1, retry-after: 1s - retry-reason: due to retryable error, error: fake error"}};
  for (const Reason& entry : kReasons) {
    const oracle::Row row("kube-client/24.5/20");
    EXPECT_EQ(DescribeRetry(entry.retries, entry.advice), entry.text);
  }
}

async::Task<void> GetOnce(Client* client) { (void)co_await client->Get<core::Node>({"", "n"}); }

TEST_F(RetryOracle, Bookkeeping) {
  {
    // A stream is let go of exactly when its attempt is over.
    const oracle::Row row("kube-client/24.5/18");
    Restart();
    std::vector<testing::FakeStream> streams;
    for (const int code : {500, 429}) {
      streams.push_back(transport_->AnswerStream(Throttled(code, "0")));
    }
    streams.push_back(transport_->AnswerStream());
    Result<std::unique_ptr<ApiStream>> last = Watch();
    ASSERT_TRUE(last.ok());
    EXPECT_TRUE(streams[0].closed());
    EXPECT_TRUE(streams[1].closed());
    EXPECT_FALSE(streams[2].closed());
    last->reset();
    EXPECT_TRUE(streams[2].closed());
  }
  {
    const oracle::Row row("kube-client/24.5/19");
    Restart(9);
    transport_->AnswerAlways([&](const ApiRequest&) { return Throttled(429, "1"); });
    async::Scope scope(loop_);
    for (int i = 0; i < 20; ++i) scope.Spawn(GetOnce(client_.get()));
    scheduler_.Advance(std::chrono::minutes(1));
    EXPECT_TRUE(scope.empty());
    EXPECT_EQ(attempts(), 200u);
  }
}

TEST_F(RetryOracle, HostBackoff) {
  {
    const oracle::Row row("kube-client/24.5/21");
    HostBackoff backoff(loop_, {seconds(1), seconds(200)});
    std::vector<int64_t> delays;
    for (int request = 1; request <= 10; ++request) {
      delays.push_back(std::chrono::duration_cast<seconds>(backoff.Delay("h")).count());
      backoff.Update("h", request == 5 || request == 9 ? 200 : 504);
    }
    EXPECT_THAT(delays, ElementsAre(0, 1, 2, 4, 8, 0, 1, 2, 4, 0));
  }
  {
    const oracle::Row row("kube-client/24.5/22");
    HostBackoff backoff(loop_, {seconds(1), seconds(60)});
    std::vector<int64_t> delays;
    for (const int code : {429, 500, 501, 502, 300, 500, 501, 502}) {
      delays.push_back(std::chrono::duration_cast<seconds>(backoff.Delay("1.2.3.4:100")).count());
      backoff.Update("1.2.3.4:100", code);
    }
    EXPECT_THAT(delays, ElementsAre(0, 1, 2, 4, 8, 0, 1, 2));
    EXPECT_GT(backoff.Delay("1.2.3.4:100"), Duration::zero());
    EXPECT_EQ(backoff.Delay("1.2.3.4:200"), Duration::zero());
  }
  struct Entry {
    std::optional<std::string> base;
    std::optional<std::string> duration;
    Duration after_two;
  };
  const Entry kEntries[] = {
      {"1", "2", seconds(2)}, {"1", "0", {}}, {std::nullopt, std::nullopt, {}}, {"x", "2", {}}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.5/23");
    const auto options = HostBackoffFromEnvironment([&](const std::string& name) {
      return name.ends_with("BASE") ? entry.base : entry.duration;
    });
    Duration delay = Duration::zero();
    if (options) {
      HostBackoff backoff(loop_, *options);
      backoff.Update("h", 500);
      backoff.Update("h", 500);
      delay = backoff.Delay("h");
    }
    EXPECT_EQ(delay, entry.after_two);
  }
}

}  // namespace
}  // namespace csinative::kube
