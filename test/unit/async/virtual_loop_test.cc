// SPDX-License-Identifier: Apache-2.0
#include "lib/async/virtual_loop.h"

#include <gtest/gtest.h>

#include <vector>

namespace csinative::async {
namespace {

using std::chrono::seconds;

TEST(VirtualLoopTest, StepsRunInTheOrderTheyWerePosted) {
  VirtualScheduler scheduler;
  VirtualLoop a(scheduler);
  VirtualLoop b(scheduler);
  std::vector<int> order;
  a.Post([&] { order.push_back(1); });
  b.Post([&] { order.push_back(2); });
  a.Post([&] { order.push_back(3); });
  scheduler.Settle();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(VirtualLoopTest, TimersRunByTimeThenByOrder) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  std::vector<int> order;
  const MonotonicTime now = loop.Now();
  loop.PostAt(now + seconds(2), [&] { order.push_back(3); });
  loop.PostAt(now + seconds(1), [&] { order.push_back(1); });
  loop.PostAt(now + seconds(1), [&] { order.push_back(2); });
  scheduler.Advance(seconds(1));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  scheduler.Advance(seconds(1));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(VirtualLoopTest, WallClockMovesWithTheMonotonicOne) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  const WallTime wall = loop.WallNow();
  scheduler.Advance(seconds(90));
  EXPECT_EQ(loop.WallNow() - wall, seconds(90));
}

TEST(VirtualLoopTest, CancelledTimerDoesNotRun) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  bool ran = false;
  auto id = loop.PostAt(loop.Now() + seconds(1), [&] { ran = true; });
  loop.CancelTimer(id);
  scheduler.Advance(seconds(5));
  EXPECT_FALSE(ran);
}

TEST(VirtualLoopTest, SuspendedLoopCatchesUpInOrder) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  VirtualLoop other(scheduler);
  std::vector<int> order;
  const MonotonicTime now = loop.Now();
  loop.Post([&] { order.push_back(1); });
  loop.PostAt(now + seconds(2), [&] { order.push_back(4); });
  loop.PostAt(now + seconds(1), [&] { order.push_back(3); });
  loop.PostAt(now + seconds(30), [&] { order.push_back(5); });
  const auto cancelled = loop.PostAt(now + seconds(3), [&] { order.push_back(0); });
  other.PostAt(now + seconds(5), [&] { order.push_back(100); });
  loop.Suspend();
  loop.Post([&] { order.push_back(2); });
  loop.CancelTimer(cancelled);
  scheduler.Advance(seconds(10));
  EXPECT_EQ(order, (std::vector<int>{100}));
  loop.Resume();
  scheduler.Settle();
  EXPECT_EQ(order, (std::vector<int>{100, 1, 2, 3, 4}));
  scheduler.Advance(seconds(20));
  EXPECT_EQ(order, (std::vector<int>{100, 1, 2, 3, 4, 5}));
}

TEST(VirtualLoopTest, SuspendedLoopCanBeDiscarded) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  bool ran = false;
  loop.Post([&] { ran = true; });
  loop.PostAt(loop.Now() + seconds(1), [&] { ran = true; });
  loop.Suspend();
  loop.Discard();
  loop.Resume();
  scheduler.Advance(seconds(2));
  EXPECT_FALSE(ran);
}

TEST(VirtualLoopTest, TimersOfASuspendedLoopAreDiscardedAfterItGoesOn) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  int ran = 0;
  loop.Suspend();
  for (int i = 0; i < 5000; ++i) {
    (void)loop.PostAt(scheduler.Now() + seconds(10), [&] { ++ran; });
  }
  loop.Resume();
  loop.Discard();
  scheduler.Advance(seconds(20));
  EXPECT_EQ(ran, 0);
}

TEST(VirtualLoopTest, DiscardLeavesOtherLoopsAlone) {
  VirtualScheduler scheduler;
  VirtualLoop dead(scheduler);
  VirtualLoop alive(scheduler);
  int ran = 0;
  dead.Post([&] { ran += 100; });
  dead.PostAt(dead.Now() + seconds(1), [&] { ran += 100; });
  alive.Post([&] { ran += 1; });
  alive.PostAt(alive.Now() + seconds(1), [&] { ran += 1; });
  dead.Discard();
  dead.Post([&] { ran += 100; });
  scheduler.Advance(seconds(2));
  EXPECT_EQ(ran, 2);
  EXPECT_TRUE(dead.discarding());
  EXPECT_FALSE(alive.discarding());
}

TEST(VirtualLoopTest, ThousandsOfCancelledTimersLeaveNoTrace) {
  VirtualScheduler scheduler;
  VirtualLoop loop(scheduler);
  for (int i = 0; i < 10000; ++i) loop.CancelTimer(loop.PostAt(loop.Now() + seconds(1), [] {}));
  EXPECT_FALSE(scheduler.Step());
}

}  // namespace
}  // namespace csinative::async
