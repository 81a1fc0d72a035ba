// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/slow_set.h"

#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "test/support/oracle.h"

namespace csinative::csi {
namespace {

using std::chrono::milliseconds;

class SlowSetTest : public ::testing::Test {
 protected:
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop{scheduler};
};

TEST_F(SlowSetTest, W1_SecondAddKeepsTheFirstTime) {
  const oracle::Row row("common/20.10/7");
  SlowSet set(loop, milliseconds(300));
  EXPECT_TRUE(set.Add("k", "class-1"));
  scheduler.Advance(milliseconds(100));
  EXPECT_FALSE(set.Add("k", "class-2"));
  EXPECT_EQ(set.TimeRemaining("k"), milliseconds(200));
  EXPECT_EQ(set.Get("k"), "class-1");
}

TEST_F(SlowSetTest, W2_ExpiredEntryIsNotContained) {
  const oracle::Row row("common/20.10/8");
  SlowSet set(loop, milliseconds(200));
  set.Add("k", "");
  scheduler.Advance(milliseconds(300));
  EXPECT_FALSE(set.Contains("k"));
}

TEST_F(SlowSetTest, W3_YoungEntryIsContained) {
  const oracle::Row row("common/20.10/9");
  SlowSet set(loop, milliseconds(200));
  set.Add("k", "");
  scheduler.Advance(milliseconds(100));
  EXPECT_TRUE(set.Contains("k"));
}

TEST_F(SlowSetTest, W4_TimeRemainingShrinksAndGoesNegative) {
  const oracle::Row row("common/20.10/10");
  SlowSet set(loop, milliseconds(300));
  set.Add("k", "");
  scheduler.Advance(milliseconds(100));
  EXPECT_EQ(set.TimeRemaining("k"), milliseconds(200));
  scheduler.Advance(milliseconds(250));
  EXPECT_EQ(set.TimeRemaining("k"), milliseconds(-50));
  EXPECT_EQ(set.TimeRemaining("absent"), milliseconds(0));
}

TEST_F(SlowSetTest, W5_ExpiredButUnsweptIsKnownAndNotContained) {
  const oracle::Row row("common/20.10/11");
  SlowSet set(loop, milliseconds(200));
  set.Add("k", "class");
  scheduler.Advance(milliseconds(250));
  EXPECT_FALSE(set.Contains("k"));
  EXPECT_EQ(set.Get("k"), "class");
  EXPECT_FALSE(set.Add("k", "other"));
}

TEST_F(SlowSetTest, RetentionOfZeroContainsNothing) {
  SlowSet set(loop, milliseconds(0));
  set.Add("k", "");
  EXPECT_FALSE(set.Contains("k"));
}

TEST_F(SlowSetTest, RemoveIsIdempotent) {
  SlowSet set(loop, milliseconds(200));
  set.Add("k", "");
  set.Remove("k");
  set.Remove("k");
  EXPECT_EQ(set.Get("k"), std::nullopt);
  EXPECT_TRUE(set.Add("k", ""));
}

TEST_F(SlowSetTest, SweeperRemovesAtTheFirstTickAfterExpiry) {
  SlowSet set(loop, milliseconds(200));
  async::Scope scope(loop);
  scope.Spawn(set.Run());
  scheduler.Advance(milliseconds(50));
  set.Add("a", "");
  scheduler.Advance(milliseconds(100));
  set.Add("b", "");  // at 150
  scheduler.Advance(milliseconds(149));
  EXPECT_EQ(set.size(), 2u);  // at 299: a has expired at 250, the tick is at 300
  scheduler.Advance(milliseconds(1));
  EXPECT_EQ(set.size(), 1u);
  scheduler.Advance(milliseconds(100));
  EXPECT_EQ(set.size(), 0u);
  async::RunTask(scheduler, loop, scope.Close());
}

TEST_F(SlowSetTest, SweeperKeepsAnEntryOfExactlyTheRetentionTime) {
  SlowSet set(loop, milliseconds(200));
  async::Scope scope(loop);
  scope.Spawn(set.Run());
  set.Add("a", "");
  scheduler.Advance(milliseconds(200));
  EXPECT_EQ(set.size(), 1u);
  scheduler.Advance(milliseconds(100));
  EXPECT_EQ(set.size(), 0u);
  async::RunTask(scheduler, loop, scope.Close());
}

}  // namespace
}  // namespace csinative::csi
