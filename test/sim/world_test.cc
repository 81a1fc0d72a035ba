// SPDX-License-Identifier: Apache-2.0
//
// Seeds that always run; scripts/sim runs fresh ones.
#include "test/sim/world.h"

#include <gtest/gtest.h>

namespace csinative::sim {
namespace {

class SeedTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SeedTest, HoldsAllInvariants) {
  WorldOptions options;
  options.seed = GetParam();
  World world(options);
  EXPECT_TRUE(world.RunHour()) << world.violations().front();
  const Totals totals = world.totals();
  EXPECT_GT(totals.operations, 100u);
  EXPECT_GT(totals.faults, 30u);
  EXPECT_GE(totals.crashes, 5u);
}

INSTANTIATE_TEST_SUITE_P(Fixed, SeedTest, ::testing::Range<uint64_t>(1, 9));

TEST(WorldTest, SeedDecidesEverything) {
  WorldOptions options;
  options.seed = 42;
  World first(options);
  World second(options);
  EXPECT_TRUE(first.RunHour());
  EXPECT_TRUE(second.RunHour());
  EXPECT_EQ(first.trace().digest(), second.trace().digest());
  options.seed = 43;
  World other(options);
  EXPECT_TRUE(other.RunHour());
  EXPECT_NE(other.trace().digest(), first.trace().digest());
}

TEST(WorldTest, DisabledFaultIsNotInjected) {
  WorldOptions options;
  options.seed = 5;
  World all(options);
  (void)all.RunHour();
  ASSERT_FALSE(all.plan().injected().empty());
  options.disabled_faults.insert(all.plan().injected().front());
  World without(options);
  (void)without.RunHour();
  EXPECT_NE(without.plan().injected().front(), all.plan().injected().front());
}

}  // namespace
}  // namespace csinative::sim
