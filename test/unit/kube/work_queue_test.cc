// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/work_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/metrics/exposition.h"

namespace csinative::kube {
namespace {

using std::chrono::seconds;

class WorkQueueTest : public ::testing::Test {
 protected:
  std::string Get() {
    Result<std::string> item = async::RunTask(scheduler_, loop_, queue_.Get());
    return item.ok() ? *item : "!" + item.status().ToString();
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  metrics::Registry registry_;
  metrics::WorkQueueMetrics metrics_{registry_};
  WorkQueue queue_{loop_,
                   {.name = "test",
                    .limiter = std::make_shared<ExponentialLimiter>(seconds(1), seconds(300)),
                    .metrics = &metrics_}};
  std::vector<std::string> log_;
  async::Scope scope_{loop_};
};

TEST_F(WorkQueueTest, ItemsComeOutInOrderWithoutDuplicates) {
  for (const char* item : {"a", "b", "a", "c", "b"}) queue_.Add(item);
  EXPECT_EQ(queue_.size(), 3u);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "c");
  EXPECT_NE(metrics::ExposeText(registry_).find("workqueue_adds_total{name=\"test\"} 3\n"),
            std::string::npos);
}

TEST_F(WorkQueueTest, KeyAddedWhileProcessingRunsAgainOnce) {
  queue_.Add("a");
  EXPECT_EQ(Get(), "a");
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(queue_.size(), 0u);
  queue_.Done("a");
  EXPECT_EQ(Get(), "a");
  queue_.Done("a");
  EXPECT_EQ(queue_.size(), 0u);
  const std::string text = metrics::ExposeText(registry_);
  EXPECT_NE(text.find("workqueue_adds_total{name=\"test\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_depth{name=\"test\"} 0\n"), std::string::npos) << text;
}

TEST_F(WorkQueueTest, DelayedAddRunsAtItsTime) {
  queue_.AddAfter("a", seconds(5));
  scheduler_.Advance(seconds(4));
  EXPECT_EQ(queue_.size(), 0u);
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(queue_.size(), 1u);
}

TEST_F(WorkQueueTest, EarlierDelayWinsAndLaterNeverPostpones) {
  queue_.AddAfter("a", seconds(5));
  queue_.AddAfter("a", seconds(9));
  EXPECT_EQ(*queue_.DelayedUntil("a") - loop_.Now(), seconds(5));
  queue_.AddAfter("a", seconds(2));
  EXPECT_EQ(*queue_.DelayedUntil("a") - loop_.Now(), seconds(2));
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(Get(), "a");
  queue_.Done("a");
  scheduler_.Advance(seconds(20));
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(WorkQueueTest, PlainAddRunsNowAndKeepsThePendingTimer) {
  queue_.AddRateLimited("a");
  queue_.Add("a");
  EXPECT_EQ(Get(), "a");
  queue_.Done("a");
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(Get(), "a");
}

TEST_F(WorkQueueTest, RateLimitedAddsBackOffUntilForgotten) {
  queue_.AddRateLimited("a");
  EXPECT_EQ(*queue_.DelayedUntil("a") - loop_.Now(), seconds(1));
  scheduler_.Advance(seconds(1));
  queue_.AddRateLimited("a");
  EXPECT_EQ(*queue_.DelayedUntil("a") - loop_.Now(), seconds(2));
  EXPECT_EQ(queue_.Failures("a"), 2);
  queue_.Forget("a");
  EXPECT_EQ(queue_.Failures("a"), 0);
}

async::Task<void> Note(WorkQueue* queue, std::vector<std::string>* log, std::string who) {
  Result<std::string> item = co_await queue->Get();
  log->push_back(who + ":" + (item.ok() ? *item : "end"));
}

TEST_F(WorkQueueTest, WaitingWorkersGetItemsInOrder) {
  scope_.Spawn(Note(&queue_, &log_, "1"));
  scope_.Spawn(Note(&queue_, &log_, "2"));
  scheduler_.Settle();
  queue_.Add("a");
  queue_.Add("b");
  scheduler_.Settle();
  EXPECT_EQ(log_, (std::vector<std::string>{"1:a", "2:b"}));
}

TEST_F(WorkQueueTest, ShutDownHandsOutTheRestThenEnds) {
  queue_.Add("a");
  queue_.AddAfter("late", seconds(1));
  queue_.ShutDown();
  queue_.Add("refused");
  EXPECT_EQ(Get(), "a");
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(Get(), "!Canceled: the queue is shut down");
}

TEST_F(WorkQueueTest, ItemDirtiedWhileProcessingSurvivesShutDown) {
  queue_.Add("a");
  EXPECT_EQ(Get(), "a");
  queue_.Add("a");
  queue_.ShutDown();
  queue_.Done("a");
  EXPECT_EQ(Get(), "a");
}

TEST_F(WorkQueueTest, CancelledGetLosesNoItem) {
  async::Scope cancelled(loop_);
  cancelled.Spawn(Note(&queue_, &log_, "1"));
  scheduler_.Settle();
  queue_.Add("a");
  cancelled.Cancel();
  scheduler_.Settle();
  if (log_ == std::vector<std::string>{"1:end"}) {
    EXPECT_EQ(Get(), "a");
  } else {
    EXPECT_EQ(log_, (std::vector<std::string>{"1:a"}));
  }
}

TEST_F(WorkQueueTest, TimeLimitOnAnEmptyQueueIsADeadline) {
  Result<std::string> item =
      async::RunTask(scheduler_, loop_, async::WithTimeout(seconds(1), queue_.Get()));
  EXPECT_TRUE(IsDeadlineExceeded(item.status()));
}

TEST_F(WorkQueueTest, WorkersNeverRunOneKeyTwiceAtOnceAndRetryFailures) {
  std::map<std::string, int> running;
  int overlaps = 0;
  int calls = 0;
  struct State {
    std::map<std::string, int>* running;
    int* overlaps;
    int* calls;
  } state{&running, &overlaps, &calls};
  auto sync = [](State s, std::string item) -> async::Task<Status> {
    ++*s.calls;
    if (++(*s.running)[item] > 1) ++*s.overlaps;
    (void)co_await async::Sleep(seconds(1));
    --(*s.running)[item];
    if (item == "bad" && *s.calls < 6) co_return UnavailableError("again");
    co_return Status();
  };
  scope_.Spawn(RunWorkers(
      &queue_, 4, [state, sync](std::string item) { return sync(state, std::move(item)); }));
  queue_.Add("good");
  queue_.Add("bad");
  for (int i = 0; i < 10; ++i) {
    scheduler_.Advance(std::chrono::milliseconds(300));
    queue_.Add("good");
  }
  scheduler_.Advance(seconds(60));
  queue_.ShutDown();
  scheduler_.Settle();
  EXPECT_TRUE(scope_.empty());
  EXPECT_EQ(overlaps, 0);
  EXPECT_GE(calls, 6);
  EXPECT_EQ(queue_.Failures("bad"), 0);
}

TEST_F(WorkQueueTest, TellsWhatItHoldsAndWhyItFailed) {
  queue_.Add("working");
  EXPECT_EQ(Get(), "working");
  scheduler_.Advance(seconds(2));
  queue_.Add("next");
  queue_.NoteFailure("late", UnavailableError("no"));
  queue_.AddRateLimited("late");
  queue_.AddAfter("later", seconds(50));

  std::vector<WorkQueue::ItemInfo> items = queue_.Items(10);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].item, "working");
  EXPECT_EQ(items[0].state, WorkQueue::ItemState::kProcessing);
  EXPECT_EQ(scheduler_.Now() - items[0].since, seconds(2));
  EXPECT_FALSE(items[0].last_failure);
  EXPECT_EQ(items[1].item, "next");
  EXPECT_EQ(items[1].state, WorkQueue::ItemState::kWaiting);
  EXPECT_EQ(items[2].item, "late");
  EXPECT_EQ(items[2].state, WorkQueue::ItemState::kDelayed);
  EXPECT_EQ(*items[2].until - scheduler_.Now(), seconds(1));
  EXPECT_EQ(items[2].failures, 1);
  EXPECT_EQ(items[2].last_failure->text, "no");
  EXPECT_EQ(items[3].item, "later");
  EXPECT_EQ(queue_.Items(2).size(), 2u);
  queue_.Forget("late");
  EXPECT_FALSE(queue_.Items(10)[2].last_failure);
}

TEST_F(WorkQueueTest, WorkersRememberWhyAnItemFailed) {
  auto sync = [](std::string) -> async::Task<Status> { co_return UnavailableError("not today"); };
  scope_.Spawn(RunWorkers(&queue_, 1, sync));
  queue_.Add("bad");
  scheduler_.Settle();
  ASSERT_EQ(queue_.Items(10).size(), 1u);
  EXPECT_EQ(queue_.Items(10)[0].last_failure->text, "not today");
  queue_.ShutDown();
  scheduler_.Settle();
}

TEST(FailureMemory, KeepsTheLatestAndTheBeginningOfLongTexts) {
  FailureMemory memory;
  const MonotonicTime start{};
  for (size_t i = 0; i <= FailureMemory::kMaxFailures; ++i) {
    memory.Remember(std::to_string(i), std::string(5000, 'x'), start + seconds(i));
  }
  EXPECT_FALSE(memory.Find("0"));
  ASSERT_TRUE(memory.Find("1"));
  EXPECT_EQ(memory.Find("1")->text.size(), FailureMemory::kMaxText);
  EXPECT_EQ(memory.Find("1")->when, start + seconds(1));
  memory.Remember("1", "again", start);
  EXPECT_EQ(memory.Find("1")->text, "again");
  EXPECT_TRUE(memory.Find("2")) << "an item that fails again takes nobody's place";
  memory.Forget("1");
  memory.Forget("1");
  EXPECT_FALSE(memory.Find("1"));
}

}  // namespace
}  // namespace csinative::kube
