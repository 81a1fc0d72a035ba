// SPDX-License-Identifier: Apache-2.0
#include "lib/async/task.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/base/result.h"

namespace csinative::async {
namespace {

using std::chrono::seconds;

Task<int> Number(int n) { co_return n; }

Task<Result<std::string>> Half(int n) {
  if (n % 2 != 0) co_return InvalidArgumentError("odd");
  co_return std::to_string(n / 2);
}

Task<Result<std::string>> HalfTwice(int n) {
  CSI_CO_ASSIGN_OR_RETURN(std::string half, co_await Half(n));
  CSI_CO_ASSIGN_OR_RETURN(std::string quarter, co_await Half(std::stoi(half)));
  co_return quarter;
}

TEST(TaskTest, ReturnsTheValue) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  EXPECT_EQ(RunTask(scheduler, loop, Number(7)), 7);
}

TEST(TaskTest, MacrosPassValuesAndFailuresOn) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  EXPECT_EQ(*RunTask(scheduler, loop, HalfTwice(12)), "3");
  Result<std::string> failed = RunTask(scheduler, loop, HalfTwice(6));
  EXPECT_EQ(failed.status().message(), "odd");
}

TEST(TaskTest, DoesNotRunBeforeItIsAwaited) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  bool ran = false;
  auto set = [](bool* flag) -> Task<void> {
    *flag = true;
    co_return;
  };
  Task<void> task = set(&ran);
  scheduler.Settle();
  EXPECT_FALSE(ran);
  RunTask(scheduler, loop, std::move(task));
  EXPECT_TRUE(ran);
}

TEST(TaskTest, NeverAwaitedTaskIsDestroyedQuietly) {
  auto owner = std::make_shared<int>(1);
  auto hold = [](std::shared_ptr<int> kept) -> Task<int> { co_return *kept; };
  {
    Task<int> task = hold(owner);
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

Task<int> Throws() {
  throw std::runtime_error("boom");
  co_return 1;
}

Task<std::string> Catches() {
  std::string caught;
  try {
    (void)co_await Throws();
  } catch (const std::runtime_error& e) {
    caught = e.what();
  }
  co_return caught;
}

TEST(TaskTest, ExceptionReachesTheAwaiter) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  EXPECT_EQ(RunTask(scheduler, loop, Catches()), "boom");
}

Task<int> Count(int n) {
  if (n == 0) co_return 0;
  co_return 1 + co_await Count(n - 1);
}

TEST(TaskTest, TenThousandNestedAwaitsReturn) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  EXPECT_EQ(RunTask(scheduler, loop, Count(10000)), 10000);
}

Task<int> LongLoop() {
  int sum = 0;
  for (int i = 0; i < 1000000; ++i) sum += co_await Number(1);
  co_return sum;
}

TEST(TaskTest, AMillionSequentialAwaitsDoNotGrowTheStack) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  EXPECT_EQ(RunTask(scheduler, loop, LongLoop()), 1000000);
}

Task<void> SleepForever() { (void)co_await Sleep(std::chrono::hours(1000)); }

TEST(TaskDeathTest, DestroyingARunningTaskAborts) {
  EXPECT_DEATH(
      {
        VirtualScheduler scheduler;
        VirtualLoop loop(scheduler);
        Scope scope(loop);
        auto outer = [](Scope* s) -> Task<void> {
          (void)s;
          co_await SleepForever();
        };
        scope.Spawn(outer(&scope));
        scheduler.Settle();
      },
      "scope was destroyed with 1 running tasks");
}

}  // namespace
}  // namespace csinative::async
