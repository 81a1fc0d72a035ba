// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/workqueue_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lib/metrics/election_metrics.h"
#include "lib/metrics/exposition.h"

namespace csinative::metrics {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class WorkQueueMetricsTest : public ::testing::Test {
 protected:
  std::string Text() const { return ExposeText(registry_); }

  Registry registry_;
  WorkQueueMetrics provider_{registry_};
};

InProgressAges Idle() { return {}; }

// common 9.6
TEST_F(WorkQueueMetricsTest, AllSeriesExistFromTheCreationOfTheQueue) {
  const auto handle = provider_.ForQueue("claims", Idle);
  std::string samples;
  std::string text = Text();
  for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    if (text[0] != '#') samples += text.substr(0, end + 1);
  }
  std::string expected;
  const auto histogram = [&](const std::string& name) {
    for (const char* bound : {"1e-08", "1e-07", "1e-06", "9.999999999999999e-06",
                              "9.999999999999999e-05", "0.001", "0.01", "0.1", "1", "10", "+Inf"}) {
      expected += name + "_bucket{name=\"claims\",le=\"" + bound + "\"} 0\n";
    }
    expected += name + "_sum{name=\"claims\"} 0\n" + name + "_count{name=\"claims\"} 0\n";
  };
  expected += "workqueue_adds_total{name=\"claims\"} 0\n";
  expected += "workqueue_depth{name=\"claims\"} 0\n";
  expected += "workqueue_longest_running_processor_seconds{name=\"claims\"} 0\n";
  histogram("workqueue_queue_duration_seconds");
  expected += "workqueue_retries_total{name=\"claims\"} 0\n";
  expected += "workqueue_unfinished_work_seconds{name=\"claims\"} 0\n";
  histogram("workqueue_work_duration_seconds");
  EXPECT_EQ(samples, expected);
}

TEST_F(WorkQueueMetricsTest, ALifeOfAnItemIsCounted) {
  auto handle = provider_.ForQueue("q", Idle);
  handle.Added();
  handle.Added();
  handle.Started(milliseconds(5));
  EXPECT_THAT(Text(), HasSubstr("workqueue_depth{name=\"q\"} 1\n"));
  handle.Finished(seconds(2));
  handle.Retried();
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("workqueue_adds_total{name=\"q\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("workqueue_queue_duration_seconds_bucket{name=\"q\",le=\"0.001\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("workqueue_queue_duration_seconds_bucket{name=\"q\",le=\"0.01\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_work_duration_seconds_sum{name=\"q\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_retries_total{name=\"q\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# HELP workqueue_depth [BETA] "));
}

// common 21 row 25: two queues may share a name; their values add up.
TEST_F(WorkQueueMetricsTest, QueuesOfOneNameAddUp) {
  auto first = provider_.ForQueue("claims", [] { return InProgressAges{seconds(5), seconds(3)}; });
  auto second = provider_.ForQueue("claims", [] { return InProgressAges{seconds(4), seconds(4)}; });
  first.Added();
  second.Added();
  EXPECT_THAT(Text(), HasSubstr("workqueue_depth{name=\"claims\"} 2\n"));
  EXPECT_THAT(Text(), HasSubstr("workqueue_unfinished_work_seconds{name=\"claims\"} 9\n"));
  EXPECT_THAT(Text(),
              HasSubstr("workqueue_longest_running_processor_seconds{name=\"claims\"} 4\n"));
}

TEST_F(WorkQueueMetricsTest, DestroyedQueuesAreNotAskedAgain) {
  bool alive = true;
  {
    auto handle = provider_.ForQueue("a", [&alive] {
      EXPECT_TRUE(alive);
      return InProgressAges{seconds(1), seconds(1)};
    });
    WorkQueueMetrics::Handle moved = std::move(handle);
    EXPECT_THAT(Text(), HasSubstr("workqueue_unfinished_work_seconds{name=\"a\"} 1\n"));
    moved = provider_.ForQueue("b", Idle);
    EXPECT_THAT(Text(), Not(HasSubstr("workqueue_unfinished_work_seconds{name=\"a\"}")));
  }
  alive = false;
  EXPECT_THAT(Text(), Not(HasSubstr("workqueue_unfinished_work_seconds")));
}

TEST_F(WorkQueueMetricsTest, UnnamedQueuesAreNotMeasured) {
  WorkQueueMetrics::Handle handle;
  handle.Added();
  handle.Started(seconds(1));
  handle.Finished(seconds(1));
  handle.Retried();
  EXPECT_EQ(Text(), "");
}

TEST(ElectionMetricsTest, StatusExistsFromTheStartAndSlowPathFromItsFirstUse) {
  Registry registry;
  ElectionMetrics election(registry);
  EXPECT_THAT(ExposeText(registry), HasSubstr("leader_election_master_status{name=\"\"} 0\n"));
  EXPECT_THAT(ExposeText(registry), Not(HasSubstr("leader_election_slowpath_total")));
  election.SetLeader(true);
  election.SlowPath();
  election.SlowPath();
  EXPECT_THAT(ExposeText(registry), HasSubstr("leader_election_master_status{name=\"\"} 1\n"));
  EXPECT_THAT(ExposeText(registry), HasSubstr("leader_election_slowpath_total{name=\"\"} 2\n"));
  EXPECT_THAT(ExposeText(registry), HasSubstr("# HELP leader_election_master_status [ALPHA] "));
  election.SetLeader(false);
  EXPECT_THAT(ExposeText(registry), HasSubstr("leader_election_master_status{name=\"\"} 0\n"));
}

}  // namespace
}  // namespace csinative::metrics
