// SPDX-License-Identifier: Apache-2.0
#include "lib/async/real_loop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"

namespace csinative::async {
namespace {

using std::chrono::milliseconds;

TEST(RealLoopTest, SleepTakesAtLeastItsTime) {
  RealLoop loop;
  const MonotonicTime start = loop.Now();
  EXPECT_TRUE(RunTask(loop, Sleep(milliseconds(20))).ok());
  EXPECT_GE(loop.Now() - start, milliseconds(20));
}

TEST(RealLoopTest, EarlierTimerSetLaterRunsFirst) {
  RealLoop loop;
  std::vector<int> order;
  loop.Post([&] {
    loop.PostAt(loop.Now() + milliseconds(30), [&] {
      order.push_back(2);
      loop.Stop();
    });
    loop.PostAt(loop.Now() + milliseconds(5), [&] { order.push_back(1); });
  });
  loop.Run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(RealLoopTest, PostsOfOneThreadKeepTheirOrder) {
  RealLoop loop;
  std::vector<std::vector<int>> seen(4);
  std::vector<std::thread> threads;
  int total = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        loop.Post([&, t, i] {
          seen[t].push_back(i);
          if (++total == 4000) loop.Stop();
        });
      }
    });
  }
  loop.Run();
  for (auto& t : threads) t.join();
  for (const auto& one : seen) {
    ASSERT_EQ(one.size(), 1000u);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(one[i], i);
  }
}

TEST(RealLoopTest, StepsLeftByStopRunInTheNextRun) {
  RealLoop loop;
  std::vector<int> order;
  loop.Post([&] {
    order.push_back(1);
    loop.Stop();
  });
  loop.Post([&] {
    order.push_back(2);
    loop.Stop();
  });
  loop.Run();
  EXPECT_EQ(order, (std::vector<int>{1}));
  loop.Run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(RealLoopTest, SignalArrivesAsAStep) {
  RealLoop loop;
  int seen = 0;
  loop.OnSignal({SIGUSR1}, [&](int signal) {
    seen = signal;
    loop.Stop();
  });
  ::raise(SIGUSR1);
  loop.Run();
  EXPECT_EQ(seen, SIGUSR1);
}

Task<void> SleepLong(std::shared_ptr<int> held) {
  (void)co_await Sleep(std::chrono::hours(1));
  (void)held;
}

TEST(RealLoopTest, DestructionDestroysSuspendedFrames) {
  auto held = std::make_shared<int>(1);
  {
    auto loop = std::make_unique<RealLoop>();
    auto scope = std::make_unique<Scope>(*loop);
    scope->Spawn(SleepLong(held));
    loop->Post([&] { loop->Stop(); });
    loop->Run();
    EXPECT_EQ(held.use_count(), 2);
    // The scope goes after its loop began to discard, as members of a stopped process do.
    loop->Discard();
    scope.reset();
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace csinative::async
