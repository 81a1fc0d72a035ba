// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/rate_limiter.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/async/virtual_loop.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ExponentialLimiterTest, DoublesUntilTheCapAndForgets) {
  ExponentialLimiter limiter(seconds(1), seconds(300));
  std::vector<int64_t> delays;
  for (int i = 0; i < 11; ++i) {
    delays.push_back(std::chrono::duration_cast<seconds>(limiter.When("a")).count());
  }
  EXPECT_EQ(delays, (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}));
  EXPECT_EQ(limiter.Failures("a"), 11);
  EXPECT_EQ(limiter.When("b"), seconds(1));
  limiter.Forget("a");
  EXPECT_EQ(limiter.Failures("a"), 0);
  EXPECT_EQ(limiter.When("a"), seconds(1));
}

TEST(ExponentialLimiterTest, ManyFailuresDoNotOverflow) {
  ExponentialLimiter limiter(Duration(1), Duration::max());
  for (int i = 0; i < 200; ++i) EXPECT_GT(limiter.When("a"), Duration::zero());
  EXPECT_EQ(limiter.When("a"), Duration::max());
}

TEST(ExponentialLimiterTest, BaseAboveTheCapIsTheCap) {
  ExponentialLimiter limiter(seconds(10), seconds(3));
  EXPECT_EQ(limiter.When("a"), seconds(3));
}

TEST(TokenBucketTest, BurstIsFreeThenReservationsQueueUp) {
  const MonotonicTime start{seconds(100)};
  TokenBucket bucket(2, 3, start);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Reserve(start), Duration::zero());
  EXPECT_EQ(bucket.Reserve(start), milliseconds(500));
  EXPECT_EQ(bucket.Reserve(start), milliseconds(1000));
  EXPECT_EQ(bucket.Reserve(start + seconds(10)), Duration::zero());
}

TEST(TokenBucketTest, ReservationBeyondTheDeadlineTakesNothing) {
  const MonotonicTime start{seconds(100)};
  TokenBucket bucket(1, 1, start);
  EXPECT_EQ(bucket.ReserveBefore(start, start), Duration::zero());
  EXPECT_FALSE(bucket.ReserveBefore(start, start + milliseconds(900)).has_value());
  EXPECT_EQ(bucket.ReserveBefore(start, start + seconds(1)), seconds(1));
}

TEST(TokenBucketTest, TinyRateWaitsForeverInsteadOfOverflowing) {
  const MonotonicTime start{seconds(100)};
  TokenBucket bucket(1e-30, 1, start);
  EXPECT_EQ(bucket.Reserve(start), Duration::zero());
  EXPECT_EQ(bucket.Reserve(start), Duration::max());
}

TEST(MaxOfLimiterTest, DefaultControllerLimiterIsExponentialUntilTheBucketIsEmpty) {
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  auto limiter = NewDefaultControllerLimiter(loop);
  EXPECT_EQ(limiter->When("a"), milliseconds(5));
  EXPECT_EQ(limiter->When("a"), milliseconds(10));
  for (int i = 0; i < 98; ++i) (void)limiter->When("item" + std::to_string(i));
  EXPECT_EQ(limiter->When("fresh"), milliseconds(100));
  EXPECT_EQ(limiter->When("other"), milliseconds(200));
}

}  // namespace
}  // namespace csinative::kube
