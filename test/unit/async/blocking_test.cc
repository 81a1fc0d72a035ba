// SPDX-License-Identifier: Apache-2.0
#include "lib/async/blocking.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lib/async/run.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/base/result.h"

namespace csinative::async {
namespace {

Task<Result<std::thread::id>> ThreadOf(BlockingExecutor* pool) {
  co_return co_await Blocking(*pool,
                              [] { return Result<std::thread::id>(std::this_thread::get_id()); });
}

TEST(BlockingTest, RunsOnAnotherThreadAndReturnsToTheLoop) {
  RealLoop loop;
  ThreadPool pool(2);
  Result<std::thread::id> id = RunTask(loop, ThreadOf(&pool));
  ASSERT_TRUE(id.ok());
  EXPECT_NE(*id, std::this_thread::get_id());
}

Task<void> RunMany(BlockingExecutor* pool, EventLoop* loop, std::atomic<int>* running,
                   std::atomic<int>* peak, int n) {
  Scope scope(*loop);
  auto one = [](BlockingExecutor* p, std::atomic<int>* r, std::atomic<int>* m) -> Task<void> {
    (void)co_await Blocking(*p, [r, m] {
      int now = ++*r;
      int old = m->load();
      while (now > old && !m->compare_exchange_weak(old, now)) {
      }
      std::this_thread::yield();
      --*r;
      return Status();
    });
  };
  for (int i = 0; i < n; ++i) scope.Spawn(one(pool, running, peak));
  co_await scope.Join();
}

TEST(BlockingTest, NeverMoreThreadsThanAllowed) {
  RealLoop loop;
  std::atomic<int> running{0};
  std::atomic<int> peak{0};
  ThreadPool pool(3);
  RunTask(loop, RunMany(&pool, &loop, &running, &peak, 200));
  EXPECT_LE(peak.load(), 3);
  EXPECT_EQ(running.load(), 0);
}

TEST(BlockingTest, CallerContinuesAtItsDeadlineWhileTheCallHangs) {
  RealLoop loop;
  std::atomic<bool> release{false};
  ThreadPool pool(1);
  auto hang = [](BlockingExecutor* p, std::atomic<bool>* until) -> Task<Status> {
    co_return co_await Blocking(*p, [until] {
      while (!until->load()) std::this_thread::yield();
      return Status();
    });
  };
  Status status = RunTask(loop, WithTimeout(std::chrono::milliseconds(20), hang(&pool, &release)));
  EXPECT_TRUE(IsDeadlineExceeded(status));
  release = true;
}

TEST(BlockingTest, VirtualTimeRunsTheCallAsAStep) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  InlineExecutor executor(loop);
  Result<std::thread::id> id = RunTask(scheduler, loop, ThreadOf(&executor));
  EXPECT_EQ(*id, std::this_thread::get_id());
}

}  // namespace
}  // namespace csinative::async
