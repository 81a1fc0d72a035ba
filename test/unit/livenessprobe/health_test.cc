// SPDX-License-Identifier: Apache-2.0
#include "cmd/livenessprobe/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/log/backend.h"
#include "lib/log/output.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/support/fake_channel.h"
#include "test/support/oracle.h"

namespace csinative::livenessprobe {
namespace {

using ::csi::v1::ProbeRequest;
using ::csi::v1::ProbeResponse;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kProbe[] = "/csi.v1.Identity/Probe";

// A connection of its own to the one driver; counts those that are open.
class Borrowed final : public rpc::Channel {
 public:
  Borrowed(rpc::Channel* driver, size_t* open) : driver_(driver), open_(open) { ++*open_; }
  ~Borrowed() override { --*open_; }
  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override {
    return driver_->Call(std::move(method), request, response);
  }

 private:
  rpc::Channel* const driver_;
  size_t* const open_;
};

async::Task<Status> Hang(const ProbeRequest&, ProbeResponse*) {
  co_return co_await async::Sleep(std::chrono::hours(1));
}

async::Task<Status> AnswerAfter(Duration delay, std::optional<bool> ready,
                                ProbeResponse* response) {
  CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(delay));
  if (ready) response->mutable_ready()->set_value(*ready);
  co_return Status();
}

class HealthTest : public ::testing::Test {
 protected:
  struct Answer {
    HealthReport report;
    Duration after{};
    MonotonicTime asked{};
  };

  HealthTest() { backend_->SetVerbosity(5); }

  void SetUp() override { Configure({}); }
  void Configure(HealthCheck::Config config) {
    config.log = log_;
    config.driver = "test.csi.drv";
    config.connect = [this] { return Connect(); };
    check_.emplace(std::move(config));
  }
  void Ready(Duration delay, std::optional<bool> ready = true) {
    driver_.Handle<ProbeRequest, ProbeResponse>(kProbe,
                                                [=](const ProbeRequest&, ProbeResponse* response) {
                                                  return AnswerAfter(delay, ready, response);
                                                });
  }
  void Hanging() { driver_.Handle<ProbeRequest, ProbeResponse>(kProbe, Hang); }

  async::Task<Result<std::unique_ptr<rpc::Channel>>> Connect() {
    ++connects_;
    if (!connected_) {
      Status waited = co_await async::Sleep(connect_delay_);
      if (!waited.ok()) co_return waited;
    }
    most_open_ = std::max(most_open_, open_ + 1);
    co_return std::unique_ptr<rpc::Channel>(std::make_unique<Borrowed>(&driver_, &open_));
  }
  // Nothing answers at the socket for so long.
  void NoDriverFor(Duration delay) {
    connected_ = false;
    connect_delay_ = delay;
  }

  Answer Ask() {
    const MonotonicTime start = loop_.Now();
    HealthReport report = async::RunTask(scheduler_, loop_, check_->Report());
    return {std::move(report), loop_.Now() - start, start};
  }
  static async::Task<void> Keep(HealthCheck* check, async::EventLoop* loop,
                                std::vector<Answer>* answers) {
    const MonotonicTime start = loop->Now();
    HealthReport report = co_await check->Report();
    answers->push_back({std::move(report), loop->Now() - start, start});
  }
  // Asks and does not wait.
  void Start() { scope_.Spawn(Keep(&*check_, &loop_, &answers_)); }
  std::vector<int> Statuses() const {
    std::vector<int> out;
    for (const Answer& answer : answers_) out.push_back(answer.report.status);
    return out;
  }
  size_t Probes() const { return driver_.CountOf(kProbe); }

  // Without "I1129 12:00:00.000000   1 file.cc:1] ".
  std::string LastMessage() const {
    const std::string last = output_->Last();
    return last.substr(std::min(last.find("] ") + 2, last.size()));
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::shared_ptr<log::Backend> backend_ = std::make_shared<log::Backend>(output_);
  log::Logger log_{backend_};
  testing::FakeChannel driver_;
  bool connected_ = true;
  Duration connect_delay_{};
  size_t connects_ = 0;
  size_t open_ = 0;
  size_t most_open_ = 0;
  std::optional<HealthCheck> check_;
  std::vector<Answer> answers_;
  async::Scope scope_{loop_};
};

struct AnswerRow {
  const char* name;
  const char* row = "";       // of the oracle
  std::optional<bool> ready;  // what the driver says, if it does not fail
  int code = 0;               // a gRPC code instead
  const char* text = "";      // its text
  int status = 500;           // HTTP
  const char* body = "";
  const char* log = "";  // the last record
};
void PrintTo(const AnswerRow& row, std::ostream* out) { *out << row.name; }

class DriverAnswerTest : public HealthTest, public ::testing::WithParamInterface<AnswerRow> {};

TEST_P(DriverAnswerTest, DecidesStatusBodyAndLog) {
  std::optional<oracle::Row> oracle_row;
  if (*GetParam().row != '\0') oracle_row.emplace(GetParam().row);
  const AnswerRow& row = GetParam();
  Ready({}, row.ready);
  if (row.code != 0) driver_.Fail(kProbe, RpcStatus(row.code, row.text));
  const Answer answer = Ask();
  EXPECT_EQ(answer.report.status, row.status);
  EXPECT_EQ(answer.report.body, row.body);
  EXPECT_EQ(LastMessage(), row.log);
  EXPECT_EQ(Probes(), 1u);
  EXPECT_EQ(connects_, 1u);
  EXPECT_EQ(open_, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DriverAnswerTest,
    ::testing::Values(
        AnswerRow{.name = "12_2_1_absent_is_ready",
                  .row = "registrar/12.2/1",
                  .ready = std::nullopt,
                  .status = 200,
                  .body = "ok",
                  .log = R"("Health check succeeded")"},
        AnswerRow{.name = "H1_ready",
                  .ready = true,
                  .status = 200,
                  .body = "ok",
                  .log = R"("Health check succeeded")"},
        AnswerRow{.name = "12_13_33_not_ready",
                  .ready = false,
                  .body = "driver responded but is not ready",
                  .log = R"("Driver responded but is not ready")"},
        AnswerRow{.name = "12_13_34_failed_precondition",
                  .code = 9,
                  .text = "not healthy",
                  .body = "rpc error: code = FailedPrecondition desc = not healthy",
                  .log = "\"Health check failed\" err=\"rpc error: code = FailedPrecondition desc "
                         "= not healthy\""},
        AnswerRow{.name = "H4_unimplemented",
                  .code = 12,
                  .text = "unknown service csi.v1.Identity",
                  .body = "rpc error: code = Unimplemented desc = unknown service csi.v1.Identity",
                  .log = "\"Health check failed\" err=\"rpc error: code = Unimplemented desc = "
                         "unknown service csi.v1.Identity\""},
        AnswerRow{.name = "H4_unknown_code",
                  .code = 77,
                  .text = "odd",
                  .body = "rpc error: code = Code(77) desc = odd",
                  .log = "\"Health check failed\" err=\"rpc error: code = Code(77) desc = odd\""},
        AnswerRow{.name = "H4_unavailable_without_text",
                  .code = 14,
                  .body = "rpc error: code = Unavailable desc = ",
                  .log = "\"Health check failed\" err=\"rpc error: code = Unavailable desc = \""}),
    [](const auto& info) { return std::string(info.param.name); });

// H5, 12.13 row 35.
TEST_F(HealthTest, HangingDriverIsAnErrorAfterTheTimeout) {
  Hanging();
  const Answer answer = Ask();
  EXPECT_EQ(answer.report.status, 500);
  EXPECT_EQ(answer.report.body,
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
  EXPECT_EQ(answer.after, seconds(3));
}

// H7.
TEST_F(HealthTest, MissingDriverIsAnErrorAfterTheTimeoutAndNeverProbed) {
  NoDriverFor(minutes(1));
  const Answer answer = Ask();
  EXPECT_EQ(answer.report.status, 500);
  EXPECT_EQ(answer.report.body, "context deadline exceeded");
  EXPECT_EQ(answer.after, seconds(3));
  EXPECT_EQ(LastMessage(),
            "\"Failed to establish connection to CSI driver\" err=\"context deadline exceeded\"");
  EXPECT_EQ(Probes(), 0u);
}

// H9.
TEST_F(HealthTest, DriverThatComesBackInTimeIsReady) {
  Ready({});
  NoDriverFor(milliseconds(2200));
  const Answer answer = Ask();
  EXPECT_EQ(answer.report.status, 200);
  EXPECT_EQ(answer.after, milliseconds(2200));
}

// One budget for both (registrar 4.3).
TEST_F(HealthTest, TimeToConnectIsTakenFromTheTimeOfTheProbe) {
  Hanging();
  NoDriverFor(seconds(2));
  const Answer answer = Ask();
  EXPECT_EQ(answer.report.body,
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
  EXPECT_EQ(answer.after, seconds(3));
}

// H13.
TEST_F(HealthTest, WithoutAnyTimeTheDriverIsNotAsked) {
  Ready({});
  for (const Duration timeout : {Duration::zero(), Duration(seconds(-1))}) {
    Configure({.timeout = timeout});
    const Answer answer = Ask();
    EXPECT_EQ(answer.report.status, 500);
    EXPECT_EQ(answer.report.body, "context deadline exceeded");
    EXPECT_EQ(answer.after, Duration::zero());
  }
  EXPECT_EQ(Probes(), 0u);
  EXPECT_EQ(connects_, 0u);
}

async::Task<HealthReport> AskAndLeave(HealthCheck* check, Duration after) {
  async::TaskContext context = co_await async::CurrentContext();
  async::CancelSource client(context.cancel);
  const async::ScopedTimer leave(*context.loop, context.loop->Now() + after, [&client] {
    client.Cancel(CancelledError("client disconnected"));
  });
  co_return co_await check->Report().Under(client);
}

// H6, H8.
TEST_F(HealthTest, ClientThatLeavesCancelsTheCall) {
  Hanging();
  const MonotonicTime start = loop_.Now();
  (void)async::RunTask(scheduler_, loop_, AskAndLeave(&*check_, seconds(1)));
  EXPECT_EQ(loop_.Now() - start, seconds(1));
  EXPECT_EQ(LastMessage(),
            "\"Health check failed\" err=\"rpc error: code = Canceled desc = context canceled\"");
  NoDriverFor(minutes(1));
  (void)async::RunTask(scheduler_, loop_, AskAndLeave(&*check_, seconds(1)));
  EXPECT_EQ(LastMessage(),
            "\"Failed to establish connection to CSI driver\" err=\"context canceled\"");
}

// H12: also with more checks than connections.
TEST_F(HealthTest, ChecksAtOnceAreAnsweredTogether) {
  Ready(seconds(2));
  for (int i = 0; i < 20; ++i) Start();
  scheduler_.Advance(seconds(10));
  EXPECT_EQ(Statuses(), std::vector<int>(20, 200));
  for (const Answer& answer : answers_) EXPECT_EQ(answer.after, seconds(2));
  EXPECT_EQ(most_open_, 16u);
  EXPECT_EQ(Probes(), 16u);
}

TEST_F(HealthTest, WhoWaitsForAPlaceTakesTheAnswerThatSomebodyElseGets) {
  Configure({.max_connections = 1});
  Ready(seconds(1), false);
  for (int i = 0; i < 5; ++i) Start();
  scheduler_.Advance(seconds(10));
  EXPECT_EQ(Statuses(), std::vector<int>(5, 500));
  for (const Answer& answer : answers_) {
    EXPECT_EQ(answer.report.body, "driver responded but is not ready");
    EXPECT_EQ(answer.after, seconds(1));
  }
  EXPECT_EQ(Probes(), 1u);
}

TEST_F(HealthTest, AnswerOfTheTimeBeforeTheQuestionIsNotTaken) {
  Configure({.max_connections = 1});
  Ready({});
  EXPECT_EQ(Ask().report.status, 200);
  Hanging();
  Start();
  Start();
  scheduler_.Advance(minutes(1));
  EXPECT_EQ(Statuses(), std::vector<int>(2, 500));
}

// A check that was cut off is no answer; the place goes to the one that waits longest.
TEST_F(HealthTest, PlaceOfACheckThatFailedGoesToTheNext) {
  Configure({.max_connections = 1});
  driver_.HandleOnce<ProbeRequest, ProbeResponse>(kProbe, Hang);
  Ready({});
  Start();
  scheduler_.Advance(seconds(1));
  Start();
  scheduler_.Advance(minutes(1));
  ASSERT_THAT(Statuses(), ElementsAre(500, 200));
  EXPECT_EQ(answers_[1].after, seconds(2));
  EXPECT_EQ(Probes(), 2u);
}

// Errors are each caller's own: a driver that fails at once is asked for everybody.
TEST_F(HealthTest, ErrorOfTheDriverIsNotShared) {
  Configure({.max_connections = 1});
  driver_.FailOnce(kProbe, RpcStatus(9, "not yet"));
  Ready({});
  Start();
  Start();
  scheduler_.Advance(minutes(1));
  EXPECT_THAT(Statuses(), ElementsAre(500, 200));
}

TEST_F(HealthTest, WhoWaitsInVainIsToldAfterHisOwnTime) {
  Configure({.max_connections = 1});
  Hanging();
  Start();
  scheduler_.Advance(seconds(1));
  Start();
  scheduler_.Advance(seconds(1));
  Start();
  scheduler_.Advance(minutes(1));
  ASSERT_THAT(Statuses(), ElementsAre(500, 500, 500));
  for (const Answer& answer : answers_) EXPECT_EQ(answer.after, seconds(3));
  EXPECT_EQ(most_open_, 1u);
}

// Field report 69: a Probe slower than the interval of the kubelet piled up in the sidecar.
TEST_F(HealthTest, HangingDriverForTenMinutesPilesNothingUp) {
  Hanging();
  for (int i = 0; i < 300; ++i) {
    Start();
    scheduler_.Advance(seconds(2));
    ASSERT_LE(open_, 2u);
    ASSERT_LE(scope_.size(), 2u);
  }
  scheduler_.Advance(seconds(3));
  EXPECT_EQ(Statuses(), std::vector<int>(300, 500));
  for (const Answer& answer : answers_) EXPECT_EQ(answer.after, seconds(3));
  // And it is well right after it recovered, though a question before that still hangs.
  Start();
  scheduler_.Advance(seconds(1));
  Ready({});
  const Answer answer = Ask();
  EXPECT_EQ(answer.report.status, 200);
  EXPECT_EQ(answer.after, Duration::zero());
  scheduler_.Advance(seconds(3));
}

struct FloodRow {
  const char* name;
  Duration hangs;  // so long, counted from the first question
};
void PrintTo(const FloodRow& row, std::ostream* out) { *out << row.name; }

class FloodTest : public HealthTest, public ::testing::WithParamInterface<FloodRow> {};

// A thousand questions a second, until four seconds after the driver has recovered.
TEST_P(FloodTest, OpensNoMoreConnectionsAndIsAnsweredOnceTheDriverRecovered) {
  Hanging();
  const MonotonicTime recovery = loop_.Now() + GetParam().hangs;
  size_t most_waiting = 0;
  size_t asked = 0;
  while (loop_.Now() < recovery + seconds(4)) {
    if (loop_.Now() >= recovery) Ready({});
    Start();
    ++asked;
    scheduler_.Advance(milliseconds(1));
    most_waiting = std::max(most_waiting, scope_.size());
  }
  scheduler_.Advance(seconds(3));
  ASSERT_EQ(answers_.size(), asked);
  EXPECT_TRUE(scope_.empty());
  EXPECT_EQ(open_, 0u);
  EXPECT_LE(most_waiting, 3001u);
  EXPECT_EQ(most_open_, 16u);
  for (const Answer& answer : answers_) {
    EXPECT_LE(answer.after, seconds(3));
    if (answer.report.status == 500) {
      EXPECT_EQ(answer.after, seconds(3));
    }
    if (answer.asked >= recovery) {
      ASSERT_EQ(answer.report.status, 200);
    }
  }
  EXPECT_EQ(answers_.front().report.status, 500);
}

INSTANTIATE_TEST_SUITE_P(Rows, FloodTest,
                         ::testing::Values(FloodRow{"for_a_second", seconds(1)},
                                           FloodRow{"for_less_than_the_timeout",
                                                    milliseconds(2990)},
                                           FloodRow{"for_ten_seconds", seconds(10)}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative::livenessprobe
