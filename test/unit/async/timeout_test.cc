// SPDX-License-Identifier: Apache-2.0
#include "lib/async/timeout.h"

#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/async/sleep.h"

namespace csinative::async {
namespace {

using std::chrono::seconds;

Task<std::optional<MonotonicTime>> AskDeadline() {
  TaskContext context = co_await CurrentContext();
  co_return context.cancel->deadline();
}

class TimeoutTest : public ::testing::Test {
 protected:
  VirtualScheduler scheduler_;
  VirtualLoop loop_{scheduler_};
};

TEST_F(TimeoutTest, SlowTaskEndsWithDeadlineExceededOnTime) {
  const MonotonicTime start = scheduler_.Now();
  Status status = RunTask(scheduler_, loop_, WithTimeout(seconds(3), Sleep(seconds(10))));
  EXPECT_TRUE(IsDeadlineExceeded(status));
  EXPECT_EQ(status.message(), "context deadline exceeded");
  EXPECT_EQ(scheduler_.Now() - start, seconds(3));
}

TEST_F(TimeoutTest, FastTaskIsUntouched) {
  EXPECT_TRUE(RunTask(scheduler_, loop_, WithTimeout(seconds(3), Sleep(seconds(1)))).ok());
}

TEST_F(TimeoutTest, ZeroAndNegativeHavePassedAlready) {
  for (int s : {0, -5}) {
    Status status = RunTask(scheduler_, loop_, WithTimeout(seconds(s), Sleep(seconds(1))));
    EXPECT_TRUE(IsDeadlineExceeded(status)) << s;
  }
}

TEST_F(TimeoutTest, HugeTimeoutDoesNotOverflow) {
  EXPECT_TRUE(RunTask(scheduler_, loop_, WithTimeout(Duration::max(), Sleep(seconds(1)))).ok());
}

TEST_F(TimeoutTest, InnerDeadlineIsTheEarlierOne) {
  const MonotonicTime start = scheduler_.Now();
  auto seen =
      RunTask(scheduler_, loop_, WithTimeout(seconds(2), WithTimeout(seconds(9), AskDeadline())));
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(*seen - start, seconds(2));
}

TEST_F(TimeoutTest, OuterCancellationIsNotADeadline) {
  Scope scope(loop_);
  Status result;
  auto store = [](Status* out) -> Task<void> {
    *out = co_await WithTimeout(seconds(9), Sleep(seconds(20)));
  };
  scope.Spawn(store(&result));
  scheduler_.Advance(seconds(1));
  scope.Cancel();
  scheduler_.Settle();
  EXPECT_TRUE(IsCancelled(result));
}

TEST_F(TimeoutTest, ShieldedTaskSurvivesCancellation) {
  Scope scope(loop_);
  Status result = InternalError("unset");
  auto store = [](Status* out) -> Task<void> { *out = co_await Shielded(Sleep(seconds(2))); };
  scope.Spawn(store(&result));
  scheduler_.Settle();
  scope.Cancel();
  scheduler_.Advance(seconds(2));
  EXPECT_TRUE(result.ok());
}

}  // namespace
}  // namespace csinative::async
