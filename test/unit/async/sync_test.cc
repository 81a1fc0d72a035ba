// SPDX-License-Identifier: Apache-2.0
#include "lib/async/sync.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"

namespace csinative::async {
namespace {

using std::chrono::seconds;

class SyncTest : public ::testing::Test {
 protected:
  VirtualScheduler scheduler_;
  VirtualLoop loop_{scheduler_};
  Scope scope_{loop_};
  std::vector<int> order_;
};

Task<void> AcquireThenNote(Semaphore* s, std::vector<int>* out, int n) {
  Status got = co_await s->Acquire();
  out->push_back(got.ok() ? n : -n);
}

TEST_F(SyncTest, SemaphoreServesInOrderAndHandsPermitsOver) {
  Semaphore s(1);
  for (int i = 1; i <= 3; ++i) scope_.Spawn(AcquireThenNote(&s, &order_, i));
  scheduler_.Settle();
  EXPECT_EQ(order_, (std::vector<int>{1}));
  s.Release();
  s.Release();
  scheduler_.Settle();
  EXPECT_EQ(order_, (std::vector<int>{1, 2, 3}));
  s.Release();
  EXPECT_EQ(s.available(), 1u);
}

TEST_F(SyncTest, CancelledSemaphoreWaiterTakesNoPermit) {
  Semaphore s(0);
  scope_.Spawn(AcquireThenNote(&s, &order_, 1));
  scheduler_.Settle();
  scope_.Cancel();
  scheduler_.Settle();
  EXPECT_EQ(order_, (std::vector<int>{-1}));
  s.Release();
  EXPECT_EQ(s.available(), 1u);
}

Task<void> WaitThenNote(Event* e, std::vector<int>* out, int n) {
  if ((co_await e->Wait()).ok()) out->push_back(n);
}

TEST_F(SyncTest, EventWakesAllAndStaysSet) {
  Event e;
  scope_.Spawn(WaitThenNote(&e, &order_, 1));
  scope_.Spawn(WaitThenNote(&e, &order_, 2));
  scheduler_.Settle();
  EXPECT_TRUE(order_.empty());
  e.Set();
  scope_.Spawn(WaitThenNote(&e, &order_, 3));
  scheduler_.Settle();
  EXPECT_EQ(order_, (std::vector<int>{1, 2, 3}));
}

Task<void> Drain(Channel<int>* c, std::vector<int>* out) {
  while (true) {
    Result<int> item = co_await c->Pop();
    if (!item.ok()) {
      out->push_back(-1);
      co_return;
    }
    out->push_back(*item);
  }
}

TEST_F(SyncTest, ChannelDeliversWhatIsQueuedBeforeTheEnd) {
  Channel<int> c;
  c.Push(1);
  scope_.Spawn(Drain(&c, &order_));
  scheduler_.Settle();
  c.Push(2);
  c.Push(3);
  c.Close(CancelledError());
  c.Push(4);
  scheduler_.Settle();
  EXPECT_EQ(order_, (std::vector<int>{1, 2, 3, -1}));
}

TEST_F(SyncTest, ChannelPopHonoursATimeLimit) {
  Channel<int> c;
  Result<int> r = RunTask(scheduler_, loop_, WithTimeout(seconds(1), c.Pop()));
  EXPECT_TRUE(IsDeadlineExceeded(r.status()));
}

Task<void> PingPong(Channel<int>* in, Channel<int>* out, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    Result<int> n = co_await in->Pop();
    out->Push(*n + 1);
  }
}

TEST_F(SyncTest, TwoTasksAlternate) {
  Channel<int> a;
  Channel<int> b;
  scope_.Spawn(PingPong(&a, &b, 1000));
  scope_.Spawn(PingPong(&b, &a, 1000));
  a.Push(0);
  scheduler_.Settle();
  EXPECT_EQ(*RunTask(scheduler_, loop_, a.Pop()), 2000);
}

}  // namespace
}  // namespace csinative::async
