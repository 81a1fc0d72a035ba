// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/guarded_channel.h"

#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/csi/identity.h"
#include "test/support/fake_channel.h"

namespace csinative::csi {
namespace {

TEST(GuardedChannelTest, CallsOnlyWhileAllowed) {
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  testing::FakeChannel fake;
  ::csi::v1::GetPluginInfoResponse info;
  info.set_name("driver");
  fake.Answer("/csi.v1.Identity/GetPluginInfo", info);
  bool allowed = true;
  GuardedChannel channel(
      fake, [&allowed] { return allowed ? Status() : UnavailableError("not leading"); });
  EXPECT_TRUE(async::RunTask(scheduler, loop, GetDriverName(channel)).ok());
  allowed = false;
  const auto refused = async::RunTask(scheduler, loop, GetDriverName(channel));
  EXPECT_EQ(refused.status().message(), "rpc error: code = Unavailable desc = not leading");
  EXPECT_EQ(fake.calls().size(), 1u);
}

struct GraceRow {
  const char* name;
  std::chrono::seconds grace{10};
  std::chrono::seconds answer_after;
  std::chrono::seconds time_limit{3600};
  std::chrono::seconds ends_after;
  bool answered = false;
};
void PrintTo(const GraceRow& row, std::ostream* out) { *out << row.name; }

class GraceTest : public ::testing::TestWithParam<GraceRow> {};

// The caller is cancelled one second after the call.
TEST_P(GraceTest, CancelledCallerWaitsForTheAnswerForAWhile) {
  const GraceRow& row = GetParam();
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  testing::FakeChannel fake;
  fake.On("/csi.v1.Identity/GetPluginInfo",
          [&row](const google::protobuf::Message*,
                 google::protobuf::Message* out) -> async::Task<Status> {
            static_cast<::csi::v1::GetPluginInfoResponse*>(out)->set_name("driver");
            return async::Sleep(row.answer_after);
          });
  GuardedChannel channel(fake, [] { return Status(); }, row.grace);
  std::optional<Result<std::string>> answer;
  async::Scope scope(loop);
  const MonotonicTime start = scheduler.Now();
  MonotonicTime end = start;
  scope.Spawn([](GuardedChannel* c, std::chrono::seconds limit,
                 std::optional<Result<std::string>>* out, MonotonicTime* ended,
                 async::VirtualLoop* l) -> async::Task<void> {
    *out = co_await async::WithTimeout(limit, GetDriverName(*c));
    *ended = l->Now();
  }(&channel, row.time_limit, &answer, &end, &loop));
  scheduler.Advance(std::chrono::seconds(1));
  scope.Cancel();
  scheduler.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->ok(), row.answered);
  EXPECT_EQ(end - start, row.ends_after);
  EXPECT_TRUE(scope.empty());
}

using std::chrono::seconds;
INSTANTIATE_TEST_SUITE_P(Rows, GraceTest,
                         ::testing::Values(GraceRow{.name = "without",
                                                    .grace = seconds(0),
                                                    .answer_after = seconds(5),
                                                    .ends_after = seconds(1)},
                                           GraceRow{.name = "answer_in_time",
                                                    .answer_after = seconds(5),
                                                    .ends_after = seconds(5),
                                                    .answered = true},
                                           GraceRow{.name = "answer_too_late",
                                                    .answer_after = seconds(60),
                                                    .ends_after = seconds(11)},
                                           GraceRow{.name = "time_limit_of_the_call_comes_first",
                                                    .answer_after = seconds(60),
                                                    .time_limit = seconds(4),
                                                    .ends_after = seconds(4)}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative::csi
