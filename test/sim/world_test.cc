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
  EXPECT_GE(totals.crashes, 3u);
}

INSTANTIATE_TEST_SUITE_P(Fixed, SeedTest, ::testing::Range<uint64_t>(1, 9));

TEST(WorldTest, VolumesTakenOffTheirNodesArePutBack) {
  WorldOptions options;
  options.seed = 4;  // its driver lists volumes
  options.thefts_an_hour = 30;
  World world(options);
  EXPECT_TRUE(world.RunHour()) << world.violations().front();
  EXPECT_GT(world.totals().thefts, 10u);
  EXPECT_GT(world.totals().mended, 2u);
}

TEST(WorldTest, NoSecretInAnyLogLine) {
  WorldOptions options;
  options.seed = 16;
  options.watch_logs = true;
  World world(options);
  EXPECT_TRUE(world.RunHour()) << world.violations().front();
}

// The checks themselves: each must be able to fail.
class ConductTest : public ::testing::Test {
 protected:
  Incarnation& Process() {
    process_->under_test = true;
    return *process_;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  apiserver::ApiHandler api_{loop_, *random_};
  Trace trace_{loop_, nullptr};
  Checker checker_{trace_};
  Conduct conduct_{checker_, loop_, api_};
  IncarnationPtr process_ = std::make_shared<Incarnation>(scheduler_, "p");
};

TEST_F(ConductTest, LeaderMayActAndOthersMayNot) {
  ASSERT_TRUE(api_.CreateObject(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",)"
                                R"("metadata":{"name":"l","namespace":"kube-system"},)"
                                R"("spec":{"holderIdentity":"me"}})")
                  .ok());
  Process().lease = "l";
  Process().identity = "me";
  conduct_.OnCall(Process(), "/csi.v1.Controller/CreateVolume", "v");
  EXPECT_TRUE(checker_.ok());
  Process().identity = "other";
  conduct_.OnCall(Process(), "/csi.v1.Controller/CreateVolume", "v");
  EXPECT_EQ(checker_.violations().size(), 1u);
  conduct_.OnRequest(Process(), {.method = "PATCH", .path = "/api/v1/persistentvolumes/v"});
  EXPECT_EQ(checker_.violations().size(), 2u);
  conduct_.OnRequest(Process(), {.method = "GET", .path = "/api/v1/persistentvolumes/v"});
  EXPECT_EQ(checker_.violations().size(), 2u);
}

TEST_F(ConductTest, HotLoopsAreSeen) {
  for (int i = 0; i < Conduct::kMaxRequestsAMinute - 1; ++i) {
    conduct_.OnRequest(Process(), {.method = "GET", .path = "/api/v1/nodes"});
  }
  EXPECT_TRUE(checker_.ok());
  conduct_.OnRequest(Process(), {.method = "GET", .path = "/api/v1/nodes"});
  EXPECT_FALSE(checker_.ok());
}

TEST_F(ConductTest, SecretsAreSeen) {
  conduct_.OnLog("p", "password: pl4nted-s3cret");
  conduct_.OnRequest(Process(), {.method = "POST",
                                 .path = "/api/v1/namespaces/default/events",
                                 .body = "wrong password pl4nted-s3cret"});
  EXPECT_EQ(checker_.violations().size(), 2u);
}

class VolumeManagerSeedTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(VolumeManagerSeedTest, HoldsAllInvariants) {
  WorldOptions options;
  options.seed = GetParam();
  options.volume_manager = true;
  World world(options);
  EXPECT_TRUE(world.RunHour()) << world.violations().front();
  const Totals totals = world.totals();
  EXPECT_GT(totals.operations, 100u);
  EXPECT_GT(totals.faults, 60u);
  EXPECT_GE(totals.crashes, 5u);
}

INSTANTIATE_TEST_SUITE_P(Fixed, VolumeManagerSeedTest, ::testing::Values(2));

TEST(WorldTest, SeedDecidesEverythingOnNodesToo) {
  WorldOptions options;
  options.seed = 7;
  options.volume_manager = true;
  World first(options);
  World second(options);
  EXPECT_TRUE(first.RunHour());
  EXPECT_TRUE(second.RunHour());
  EXPECT_EQ(first.trace().digest(), second.trace().digest());
}

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
