// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/k8s.h"
#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/async/timeout.h"
#include "lib/kube/errors.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() { Use({.qps = -1}); }

  void Use(ClientOptions options, int verbosity = 0) {
    const log::Logger log = log::NewLogger(output_);
    log.backend()->SetVerbosity(verbosity);
    Result<std::unique_ptr<Client>> client =
        Client::Create(loop_, *random_, transport_, log, std::move(options));
    ASSERT_TRUE(client.ok());
    client_ = *std::move(client);
  }

  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }
  Result<core::PersistentVolume> GetVolume() {
    return Run(client_->Get<core::PersistentVolume>({"", "pv-1"}));
  }
  Result<std::unique_ptr<ApiStream>> Watch() {
    return Run(client_->OpenStream(&ResourceOf<core::Node>(), "", {{"watch", "true"}}));
  }
  std::vector<int64_t> SecondsBetweenRequests() const {
    std::vector<int64_t> out;
    for (size_t i = 1; i < transport_.times().size(); ++i) {
      out.push_back(
          std::chrono::duration_cast<seconds>(transport_.times()[i] - transport_.times()[i - 1])
              .count());
    }
    return out;
  }
  static core::PersistentVolume Volume() {
    core::PersistentVolume volume;
    volume.mutable_metadata()->set_name("pv-1");
    return volume;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  testing::FakeApiTransport transport_{loop_};
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, WriteThatIsNotAllowedIsNotSent) {
  bool allowed = false;
  const MonotonicTime end = loop_.Now() + std::chrono::seconds(5);
  Use({.qps = -1, .before_write = [&allowed, end]() -> Result<MonotonicTime> {
         if (!allowed) return UnavailableError("not leading");
         return end;
       }});
  EXPECT_THAT(Run(client_->Create(Volume())).status().message(), HasSubstr("not leading"));
  EXPECT_THAT(transport_.requests(), SizeIs(0));
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  EXPECT_TRUE(GetVolume().ok());
  allowed = true;
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  EXPECT_TRUE(Run(client_->Create(Volume())).ok());
  ASSERT_THAT(transport_.requests(), SizeIs(2));
  EXPECT_EQ(transport_.requests()[0].send_before, MonotonicTime::max()) << "reads are free";
  EXPECT_EQ(transport_.requests()[1].send_before, end);
}

TEST_F(ClientTest, GetAsksForProtobufAndDecodesIt) {
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  const Result<core::PersistentVolume> got = GetVolume();
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->metadata().name(), "pv-1");
  EXPECT_THAT(transport_.Lines(), ElementsAre("GET /api/v1/persistentvolumes/pv-1"));
  EXPECT_EQ(transport_.requests()[0].accept, "application/vnd.kubernetes.protobuf, */*");
  EXPECT_EQ(transport_.requests()[0].content_type, "");
}

TEST_F(ClientTest, JsonClientSendsAndReadsJson) {
  Use({.qps = -1, .protobuf = false});
  transport_.Answer(testing::JsonAnswer(testing::JsonOf(Volume()), 201));
  const Result<core::PersistentVolume> made = Run(client_->Create(Volume()));
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const ApiRequest& request = transport_.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.accept, "application/json, */*");
  EXPECT_EQ(request.content_type, "application/json");
  EXPECT_EQ(request.body, testing::JsonOf(Volume()) + "\n");
}

TEST_F(ClientTest, PatchBodyIsSentAsItIs) {
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  const auto patched = Run(client_->Patch<core::PersistentVolume>({"", "pv-1"}, PatchType::kMerge,
                                                                  R"({"a":1})", "status"));
  ASSERT_TRUE(patched.ok());
  EXPECT_THAT(transport_.Lines(), ElementsAre("PATCH /api/v1/persistentvolumes/pv-1/status"));
  EXPECT_EQ(transport_.requests()[0].content_type, "application/merge-patch+json");
  EXPECT_EQ(transport_.requests()[0].body, R"({"a":1})");
}

TEST_F(ClientTest, DeleteAlwaysHasABodyInItsOwnGroupVersion) {
  Use({.qps = -1, .protobuf = false});
  transport_.Answer(testing::JsonAnswer(R"({"kind":"Status","status":"Success"})"));
  transport_.Answer(testing::JsonAnswer("{}"));
  EXPECT_TRUE(Run(client_->Delete<storage::VolumeAttachment>({"", "va"})).ok());
  EXPECT_TRUE(Run(client_->Delete<core::PersistentVolume>({"", "pv"}, {.uid = "u"})).ok());
  EXPECT_EQ(transport_.requests()[0].body,
            R"({"kind":"DeleteOptions","apiVersion":"storage.k8s.io/v1"})"
            "\n");
  EXPECT_EQ(transport_.requests()[1].body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}})"
            "\n");
}

TEST_F(ClientTest, WrongNamesFailWithoutARequest) {
  EXPECT_EQ(Run(client_->Get<core::PersistentVolume>({"", ""})).status().message(),
            "resource name may not be empty");
  EXPECT_FALSE(Run(client_->Delete<core::PersistentVolume>({"", "a/b"})).ok());
  EXPECT_THAT(transport_.requests(), SizeIs(0));
}

TEST_F(ClientTest, ListReturnsItemsVersionAndContinue) {
  transport_.Answer(
      testing::ProtobufList<core::PersistentVolume>("7", {Volume(), Volume()}, "more"));
  const auto page = Run(client_->List<core::PersistentVolume>({.limit = 2}));
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  EXPECT_THAT(page->items, SizeIs(2));
  EXPECT_EQ(page->items[1].metadata().name(), "pv-1");
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->continue_token, "more");
  EXPECT_THAT(transport_.Lines(), ElementsAre("GET /api/v1/persistentvolumes?limit=2"));
}

TEST_F(ClientTest, DocumentsKeepWhatNoMessageKnows) {
  transport_.Answer(testing::JsonAnswer(R"({"kind":"PersistentVolume","x":{"y":1}})"));
  transport_.Answer(testing::JsonAnswer("{}"));
  const ResourceInfo* volumes = &ResourceOf<core::PersistentVolume>();
  auto document = Run(client_->GetDocument(volumes, {"", "pv-1"}));
  ASSERT_TRUE(document.ok());
  ASSERT_TRUE(Run(client_->ReplaceDocument(volumes, {"", "pv-1"}, *document)).ok());
  EXPECT_EQ(transport_.requests()[1].method, "PUT");
  EXPECT_EQ(transport_.requests()[1].body, R"({"kind":"PersistentVolume","x":{"y":1}})"
                                           "\n");
}

// kube-client 24.5 Y1, Y2.
TEST_F(ClientTest, ThrottlingWithRetryAfterIsRepeatedForEveryVerb) {
  for (int code : {429, 503}) {
    transport_.Answer({.code = code, .retry_after = "0"});
    transport_.Answer(testing::ProtobufAnswer(Volume()));
  }
  EXPECT_TRUE(GetVolume().ok());
  EXPECT_TRUE(Run(client_->Create(Volume())).ok());
  EXPECT_THAT(transport_.requests(), SizeIs(4));
  EXPECT_EQ(transport_.requests()[3].body, transport_.requests()[2].body);
}

TEST_F(ClientTest, FailuresWithoutUsableRetryAfterAreFinal) {
  for (const char* retry_after : {"", "Wed, 21 Oct 2015 07:28:00 GMT", "1.5", "soon"}) {
    transport_.Answer({.code = 503, .retry_after = retry_after});
    EXPECT_EQ(GetVolume().status().api_error()->reason, "ServiceUnavailable");
  }
  transport_.Answer({.code = 301, .retry_after = "0"});
  EXPECT_FALSE(GetVolume().ok());
  EXPECT_EQ(transport_.answers_left(), 0u);
}

// Y3 to Y6.
TEST_F(ClientTest, BrokenConnectionIsRepeatedForReadsOnly) {
  transport_.Fail(testing::BrokenConnection());
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  EXPECT_TRUE(GetVolume().ok());
  EXPECT_THAT(SecondsBetweenRequests(), ElementsAre(1));

  transport_.Fail(testing::BrokenConnection());
  const auto made = Run(client_->Create(Volume()));
  EXPECT_EQ(made.status().message(), "Post \"https://server/api/v1/persistentvolumes\": EOF");
  EXPECT_EQ(transport_.answers_left(), 0u);

  transport_.Fail(testing::RefusedConnection());
  EXPECT_TRUE(IsConnectionRefused(GetVolume().status()));
  EXPECT_EQ(transport_.answers_left(), 0u);
}

// Y8.
TEST_F(ClientTest, RetryAfterIsWaitedFor) {
  for (int i = 0; i < 4; ++i) transport_.Answer({.code = 429, .retry_after = "1"});
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  EXPECT_TRUE(GetVolume().ok());
  EXPECT_THAT(SecondsBetweenRequests(), ElementsAre(1, 1, 1, 1));
}

TEST_F(ClientTest, ElevenAttemptsAreTheLimit) {
  transport_.AnswerAlways(
      [](const ApiRequest&) { return ApiResponse{.code = 500, .retry_after = "0"}; });
  EXPECT_TRUE(IsInternalError(GetVolume().status()));
  EXPECT_THAT(transport_.requests(), SizeIs(11));
}

// Y17.
TEST_F(ClientTest, LastErrorNamesADifferentEarlierOne) {
  transport_.Fail(testing::BrokenConnection("EOF"));
  transport_.Answer({.code = 429, .retry_after = "0"});
  transport_.Fail(testing::RefusedConnection());
  EXPECT_EQ(GetVolume().status().message(),
            "Get \"https://server/api/v1/persistentvolumes/pv-1\": dial tcp 127.0.0.1:1: connect: "
            "connection refused - error from a previous attempt: EOF");
}

TEST_F(ClientTest, EqualErrorsAreNotRepeatedInTheText) {
  for (int i = 0; i < 11; ++i) transport_.Fail(testing::BrokenConnection("EOF"));
  EXPECT_EQ(GetVolume().status().message(),
            "Get \"https://server/api/v1/persistentvolumes/pv-1\": EOF");
}

TEST_F(ClientTest, CancellationWhileWaitingForARetryEndsTheCall) {
  transport_.Answer({.code = 429, .retry_after = "100"});
  const auto got =
      Run(async::WithTimeout(seconds(5), client_->Get<core::PersistentVolume>({"", "pv-1"})));
  EXPECT_TRUE(IsDeadlineExceeded(got.status()));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

TEST_F(ClientTest, ServerThatNeverAnswersEndsTheCall) {
  transport_.Hang();
  const MonotonicTime start = scheduler_.Now();
  const Status failure = GetVolume().status();
  ASSERT_NE(failure.transport_error(), nullptr) << failure.ToString();
  EXPECT_EQ(failure.transport_error()->kind, TransportError::Kind::kTimeout);
  EXPECT_EQ(scheduler_.Now() - start, seconds(70));
}

// Y14.
TEST_F(ClientTest, WatchOverABrokenConnectionEndsLikeAnEmptyWatch) {
  for (int i = 0; i < 11; ++i) transport_.Fail(testing::BrokenConnection());
  Result<std::unique_ptr<ApiStream>> stream = Watch();
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(*Run((*stream)->Read()), "");
  EXPECT_THAT(transport_.requests(), SizeIs(11));
}

// Y13.
TEST_F(ClientTest, WatchFailureIsDecoded) {
  transport_.Answer(testing::ProtobufFailure(403, "Forbidden", "nodes is forbidden"));
  EXPECT_EQ(Watch().status().message(), "nodes is forbidden");
  transport_.Answer({.code = 401});
  EXPECT_TRUE(IsUnauthorized(Watch().status()));
}

TEST_F(ClientTest, QueryOfAStreamIsSorted) {
  transport_.AnswerStream();
  ASSERT_TRUE(Run(client_->OpenStream(&ResourceOf<core::Node>(), "",
                                      {{"watch", "true"}, {"allowWatchBookmarks", "true"}}))
                  .ok());
  EXPECT_THAT(transport_.Lines(),
              ElementsAre("GET /api/v1/nodes?allowWatchBookmarks=true&watch=true"));
}

TEST_F(ClientTest, RateLimitDelaysAndIsLogged) {
  Use({.qps = 2, .burst = 1}, 3);
  transport_.AnswerAlways([](const ApiRequest&) { return testing::ProtobufAnswer(Volume()); });
  const MonotonicTime start = scheduler_.Now();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GetVolume().ok());
  EXPECT_EQ(scheduler_.Now() - start, seconds(1));
  EXPECT_THAT(output_->Last(),
              HasSubstr("\"Waited before sending request\" delay=\"500ms\" "
                        "reason=\"client-side throttling, not priority and fairness\" "
                        "verb=\"GET\" URL=\"https://server/api/v1/persistentvolumes/pv-1\""));
}

TEST_F(ClientTest, LongWaitsAreLoggedOnceInTenSecondsAtVerbosityZero) {
  Use({.qps = 0.5, .burst = 1});
  transport_.AnswerAlways([](const ApiRequest&) { return testing::ProtobufAnswer(Volume()); });
  for (int i = 0; i < 13; ++i) EXPECT_TRUE(GetVolume().ok());  // 24 s of waiting
  EXPECT_THAT(output_->Records(), SizeIs(3));
}

TEST_F(ClientTest, RateLimitBeyondTheDeadlineFailsAtOnce) {
  Use({.qps = 0.1F, .burst = 1});
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  ASSERT_TRUE(GetVolume().ok());
  const MonotonicTime start = scheduler_.Now();
  const auto got =
      Run(async::WithTimeout(seconds(5), client_->Get<core::PersistentVolume>({"", "pv-1"})));
  EXPECT_EQ(got.status().message(),
            "client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context "
            "deadline");
  EXPECT_EQ(scheduler_.Now(), start);
}

TEST_F(ClientTest, FirstAttemptOfAWatchPassesTheRateLimit) {
  Use({.qps = 0.1F, .burst = 1});
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  ASSERT_TRUE(GetVolume().ok());
  const MonotonicTime start = scheduler_.Now();
  transport_.AnswerStream();
  EXPECT_TRUE(Watch().ok());
  EXPECT_EQ(scheduler_.Now(), start);
}

TEST_F(ClientTest, WithoutQpsEachGroupHasItsOwnBucket) {
  Use({.qps = 0, .burst = 0});
  transport_.AnswerAlways([](const ApiRequest& request) {
    return request.path.starts_with("/apis/") ? testing::ProtobufAnswer(storage::StorageClass())
                                              : testing::ProtobufAnswer(Volume());
  });
  const MonotonicTime start = scheduler_.Now();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(GetVolume().ok());
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Run(client_->Get<storage::StorageClass>({"", "x"})).ok());
  }
  EXPECT_EQ(scheduler_.Now(), start);
  EXPECT_TRUE(GetVolume().ok());
  EXPECT_EQ(scheduler_.Now() - start, milliseconds(200));
}

TEST_F(ClientTest, QpsWithoutBurstIsRefused) {
  EXPECT_EQ(
      Client::Create(loop_, *random_, transport_, {}, {.qps = 1, .burst = 0}).status().message(),
      "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to "
      "greater than 0");
}

TEST_F(ClientTest, WarningsAreLogged) {
  ApiResponse answer = testing::ProtobufAnswer(Volume());
  answer.warnings = {"spec.x is deprecated"};
  transport_.Answer(std::move(answer));
  EXPECT_TRUE(GetVolume().ok());
  EXPECT_THAT(output_->Last(), HasSubstr("Warning: spec.x is deprecated"));
}

// Y20.
TEST_F(ClientTest, RetryReasonIsInTheLogOfTheNextWait) {
  Use({.qps = 1, .burst = 1}, 3);
  transport_.Answer({.code = 429, .retry_after = "0", .flow_schema_uid = "fs-1"});
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  EXPECT_TRUE(GetVolume().ok());
  EXPECT_THAT(output_->Last(),
              HasSubstr("retries: 1, retry-after: 0s - retry-reason: due to server-side "
                        "throttling, FlowSchema UID: \\\"fs-1\\\""));
}

async::Task<void> GetInto(Client* client, std::vector<Status>* out) {
  out->push_back((co_await client->Get<core::PersistentVolume>({"", "pv"})).status());
}

async::Task<void> CreateInto(Client* client, core::PersistentVolume volume,
                             std::vector<Status>* out) {
  out->push_back((co_await client->Create(std::move(volume))).status());
}

// A server that is slow to all, and fewer connections than there is work.
TEST_F(ClientTest, TimeLimitOfARequestBeginsWhenItGetsAConnection) {
  transport_.set_places(1);
  std::vector<Status> statuses;
  async::Scope scope(loop_);
  for (int i = 0; i < 3; ++i) {
    transport_.Answer(testing::ProtobufAnswer(Volume()), seconds(50));
    scope.Spawn(GetInto(client_.get(), &statuses));
  }
  scheduler_.Advance(seconds(151));
  ASSERT_THAT(statuses, SizeIs(3));
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(ClientTest, UrgentRequestsDoNotWaitForAConnection) {
  transport_.set_places(1);
  transport_.Hang();
  async::Scope scope(loop_);
  std::vector<Status> statuses;
  scope.Spawn(GetInto(client_.get(), &statuses));
  scheduler_.Settle();
  const std::unique_ptr<Client> urgent =
      *Client::Create(loop_, *random_, transport_, {}, {.qps = -1, .urgent = true});
  transport_.Answer(testing::ProtobufAnswer(Volume()));
  const MonotonicTime start = scheduler_.Now();
  EXPECT_TRUE(Run(urgent->Get<core::PersistentVolume>({"", "pv"})).ok());
  EXPECT_EQ(scheduler_.Now(), start);
  scope.Cancel();
  scheduler_.Settle();
}

// The lease can be lost during the wait.
TEST_F(ClientTest, LeaderIsAskedWhetherItMayWriteWhenThereIsAConnection) {
  bool leads = true;
  Use({.qps = -1, .before_write = [&]() -> Result<MonotonicTime> {
         if (!leads) return UnavailableError("does not lead any more");
         return MonotonicTime::max();
       }});
  transport_.set_places(1);
  transport_.Answer(testing::ProtobufAnswer(Volume()), seconds(5));
  std::vector<Status> statuses;
  async::Scope scope(loop_);
  for (int i = 0; i < 2; ++i) {
    scope.Spawn(CreateInto(client_.get(), Volume(), &statuses));
  }
  scheduler_.Advance(seconds(1));
  leads = false;
  scheduler_.Advance(seconds(10));
  ASSERT_THAT(statuses, SizeIs(2));
  EXPECT_TRUE(statuses[0].ok());
  EXPECT_THAT(statuses[1].message(), HasSubstr("does not lead any more"));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

}  // namespace
}  // namespace csinative::kube
