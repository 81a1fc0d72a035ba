// SPDX-License-Identifier: Apache-2.0
#include "lib/async/scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"

namespace csinative::async {
namespace {

using std::chrono::seconds;

Task<void> Append(std::vector<int>* out, int n) {
  out->push_back(n);
  co_return;
}

Task<void> SleepThenStore(Duration d, Status* out) { *out = co_await Sleep(d); }

TEST(ScopeTest, TasksStartInOrderAtTheNextStep) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  std::vector<int> order;
  scope.Spawn(Append(&order, 1));
  scope.Spawn(Append(&order, 2));
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(scope.size(), 2u);
  scheduler.Settle();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(scope.empty());
}

TEST(ScopeTest, CancelReachesNestedAwaits) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  Status result;
  scope.Spawn(SleepThenStore(seconds(100), &result));
  scheduler.Settle();
  scope.Cancel();
  scheduler.Settle();
  EXPECT_TRUE(IsCancelled(result));
  EXPECT_TRUE(scope.empty());
}

TEST(ScopeTest, CancelCarriesItsReason) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  Status result;
  scope.Spawn(SleepThenStore(seconds(100), &result));
  scheduler.Settle();
  scope.Cancel(UnavailableError("shutting down"));
  scheduler.Settle();
  EXPECT_EQ(result.message(), "shutting down");
}

TEST(ScopeTest, TaskSpawnedAfterCancelSeesIt) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  scope.Cancel();
  Status result;
  scope.Spawn(SleepThenStore(seconds(1), &result));
  scheduler.Settle();
  EXPECT_TRUE(IsCancelled(result));
}

TEST(ScopeTest, ParentCancelsChildScope) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope parent(loop);
  Scope child(loop, &parent.cancel_source());
  Status result;
  child.Spawn(SleepThenStore(seconds(100), &result));
  scheduler.Settle();
  parent.Cancel();
  scheduler.Settle();
  EXPECT_TRUE(IsCancelled(result));
}

TEST(ScopeTest, JoinWaitsForAllTasks) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  Status first;
  Status second;
  scope.Spawn(SleepThenStore(seconds(1), &first));
  scope.Spawn(SleepThenStore(seconds(5), &second));
  const MonotonicTime start = scheduler.Now();
  RunTask(scheduler, loop, scope.Join());
  EXPECT_EQ(scheduler.Now() - start, seconds(5));
}

TEST(ScopeTest, CloseIsDeafToTheCallersCancellation) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  Scope outer(loop);
  auto stubborn = [](EventLoop* l) -> Task<void> {
    // Ignores its own cancellation for two seconds.
    const MonotonicTime until = l->Now() + seconds(2);
    CancelSource none;
    auto wait = [](MonotonicTime t) -> Task<void> { (void)co_await SleepUntil(t); };
    co_await wait(until).Under(none);
  };
  scope.Spawn(stubborn(&loop));
  outer.Spawn(scope.Close());
  scheduler.Settle();
  outer.Cancel();
  scheduler.Settle();
  EXPECT_FALSE(outer.empty());
  scheduler.Advance(seconds(2));
  EXPECT_TRUE(outer.empty());
  EXPECT_TRUE(scope.empty());
}

Task<void> Throw() {
  throw std::runtime_error("lost");
  co_return;
}

TEST(ScopeTest, EscapedExceptionReachesTheHandler) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  std::string caught;
  loop.set_exception_handler([&caught](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      caught = e.what();
    }
  });
  Scope scope(loop);
  scope.Spawn(Throw());
  scheduler.Settle();
  EXPECT_EQ(caught, "lost");
  EXPECT_TRUE(scope.empty());
}

Task<void> HoldAndSleep(std::shared_ptr<int> held) {
  Scope* none = nullptr;
  (void)none;
  (void)co_await Sleep(std::chrono::hours(1));
  (void)held;
}

TEST(ScopeTest, DiscardDestroysFramesWithoutRunningThem) {
  VirtualScheduler scheduler;
  auto held = std::make_shared<int>(1);
  {
    VirtualLoop loop(scheduler);
    Scope scope(loop);
    for (int i = 0; i < 10; ++i) scope.Spawn(HoldAndSleep(held));
    scheduler.Settle();
    EXPECT_EQ(held.use_count(), 11);
    loop.Discard();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_TRUE(scope.empty());
    scope.Spawn(HoldAndSleep(held));  // no effect any more
  }
  EXPECT_EQ(held.use_count(), 1);
  scheduler.Advance(std::chrono::hours(2));
}

Task<void> OwnsAScope(EventLoop* loop, std::shared_ptr<int> held) {
  Scope inner(*loop);
  inner.Spawn(HoldAndSleep(held));
  co_await inner.Join();
}

TEST(ScopeTest, DiscardReachesScopesInsideFrames) {
  VirtualScheduler scheduler;
  auto held = std::make_shared<int>(1);
  VirtualLoop loop(scheduler);
  Scope scope(loop);
  for (int i = 0; i < 5; ++i) scope.Spawn(OwnsAScope(&loop, held));
  scheduler.Settle();
  loop.Discard();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace csinative::async
