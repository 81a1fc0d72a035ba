// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.11: the work queue and its limiters.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/work_queue.h"
#include "lib/metrics/exposition.h"
#include "test/support/oracle.h"

namespace csinative::kube {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Durations = std::vector<Duration>;

class WorkQueueOracle : public ::testing::Test {
 protected:
  WorkQueueOracle() { Restart(); }
  ~WorkQueueOracle() override {
    scope_.Cancel();
    scheduler_.Settle();
  }
  void Restart(Duration base = milliseconds(1)) {
    queue_.emplace(loop_, WorkQueue::Options{
                              .name = "test",
                              .limiter = std::make_shared<ExponentialLimiter>(base, seconds(1000)),
                              .metrics = &metrics_});
  }
  // The next item; "" if there is none, "end" after the last one.
  std::string Get() {
    if (queue_->size() == 0 && !queue_->shutting_down()) return "";
    Result<std::string> item = async::RunTask(scheduler_, loop_, queue_->Get());
    return item.ok() ? *item : "end";
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  metrics::Registry registry_;
  metrics::WorkQueueMetrics metrics_{registry_};
  std::optional<WorkQueue> queue_;
  async::Scope scope_{loop_};
};

async::Task<void> TakeOne(WorkQueue* queue, std::vector<std::string>* taken) {
  Result<std::string> item = co_await queue->Get();
  taken->push_back(item.ok() ? *item : "end");
}

TEST_F(WorkQueueOracle, OneRunAtATime) {
  {
    const oracle::Row row("kube-client/24.11/1");
    for (const char* item : {"foo", "bar", "foo"}) queue_->Add(item);
    EXPECT_EQ(queue_->size(), 2u);
  }
  {
    const oracle::Row row("kube-client/24.11/2");
    Restart();
    queue_->Add("foo");
    EXPECT_EQ(Get(), "foo");
    queue_->Add("foo");
    queue_->Done("foo");
    EXPECT_EQ(Get(), "foo");
    queue_->Done("foo");
    EXPECT_EQ(queue_->size(), 0u);
  }
  {
    const oracle::Row row("kube-client/24.11/3");
    Restart();
    queue_->Add("foo");
    EXPECT_EQ(Get(), "foo");
    queue_->Add("foo");
    queue_->Add("foo");
    std::vector<std::string> second;
    scope_.Spawn(TakeOne(&*queue_, &second));
    scheduler_.Settle();
    EXPECT_TRUE(second.empty());
    queue_->Done("foo");
    scheduler_.Settle();
    EXPECT_EQ(second, std::vector<std::string>{"foo"});
    queue_->Done("foo");
    EXPECT_EQ(queue_->size(), 0u);
  }
}

async::Task<void> Produce(WorkQueue* queue, int producer) {
  for (int i = 0; i < 50; ++i) {
    queue->Add(StrCat(producer, "/", i));
    (void)co_await async::Sleep(milliseconds(1));
  }
}

async::Task<void> Consume(WorkQueue* queue, std::set<std::string>* seen) {
  for (;;) {
    Result<std::string> item = co_await queue->Get();
    if (!item.ok()) co_return;
    seen->insert(*item);
    (void)co_await async::Sleep(milliseconds(3));
    queue->Done(*item);
  }
}

async::Task<void> Drain(WorkQueue* queue, bool* returned) {
  (void)co_await queue->ShutDownWithDrain();
  *returned = true;
}

TEST_F(WorkQueueOracle, ManyProducersAndConsumers) {
  for (const bool drain : {false, true}) {
    const oracle::Row row("kube-client/24.11/4");
    Restart();
    std::set<std::string> seen;
    async::Scope producers(loop_, &scope_.cancel_source());
    async::Scope consumers(loop_, &scope_.cancel_source());
    for (int i = 0; i < 50; ++i) producers.Spawn(Produce(&*queue_, i));
    for (int i = 0; i < 10; ++i) consumers.Spawn(Consume(&*queue_, &seen));
    while (!producers.empty()) scheduler_.Advance(milliseconds(10));
    bool drained = false;
    if (drain) {
      scope_.Spawn(Drain(&*queue_, &drained));
      scheduler_.Settle();
    } else {
      queue_->ShutDown();
    }
    queue_->Add("late");
    scheduler_.Advance(minutes(1));
    EXPECT_TRUE(consumers.empty());
    EXPECT_EQ(drained, drain);
    EXPECT_EQ(seen.size(), 2500u);
    EXPECT_FALSE(seen.contains("late"));
    EXPECT_EQ(queue_->size(), 0u);
  }
}

TEST_F(WorkQueueOracle, Draining) {
  const auto with_two_in_work = [this] {
    Restart();
    queue_->Add("foo");
    queue_->Add("bar");
    EXPECT_EQ(Get(), "foo");
    EXPECT_EQ(Get(), "bar");
  };
  {
    const oracle::Row row("kube-client/24.11/5");
    with_two_in_work();
    bool returned = false;
    scope_.Spawn(Drain(&*queue_, &returned));
    scheduler_.Settle();
    queue_->Done("foo");
    scheduler_.Settle();
    EXPECT_FALSE(returned);
    queue_->Done("bar");
    scheduler_.Settle();
    EXPECT_TRUE(returned);

    with_two_in_work();
    queue_->ShutDown();  // waits for nothing

    with_two_in_work();
    returned = false;
    scope_.Spawn(Drain(&*queue_, &returned));
    scheduler_.Settle();
    EXPECT_FALSE(returned);
    queue_->ShutDown();
    scheduler_.Settle();
    EXPECT_TRUE(returned);
  }
  {
    const oracle::Row row("kube-client/24.11/6");
    Restart();
    queue_->Add("foo");
    EXPECT_EQ(Get(), "foo");
    queue_->Add("foo");
    bool returned = false;
    scope_.Spawn(Drain(&*queue_, &returned));
    scheduler_.Settle();
    queue_->Done("foo");
    scheduler_.Settle();
    EXPECT_FALSE(returned);
    EXPECT_EQ(Get(), "foo");
    queue_->Done("foo");
    scheduler_.Settle();
    EXPECT_TRUE(returned);
    EXPECT_EQ(Get(), "end");
  }
}

TEST_F(WorkQueueOracle, Delays) {
  {
    const oracle::Row row("kube-client/24.11/7");
    queue_->AddAfter("foo", milliseconds(50));
    EXPECT_EQ(Get(), "");
    scheduler_.Advance(milliseconds(60));
    EXPECT_EQ(Get(), "foo");
    queue_->Done("foo");
    scheduler_.Advance(seconds(10));
    EXPECT_EQ(Get(), "");
  }
  struct Entry {
    Duration first;
    Duration second;
    Duration at;
  };
  const Entry kEntries[] = {{milliseconds(50), milliseconds(70), milliseconds(50)},
                            {milliseconds(50), milliseconds(30), milliseconds(30)}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.11/8");
    Restart();
    queue_->AddAfter("foo", entry.first);
    queue_->AddAfter("foo", entry.second);
    scheduler_.Advance(entry.at - milliseconds(1));
    EXPECT_EQ(Get(), "");
    scheduler_.Advance(milliseconds(1));
    EXPECT_EQ(Get(), "foo");
    queue_->Done("foo");
    scheduler_.Advance(seconds(1));
    EXPECT_EQ(Get(), "");
  }
  {
    const oracle::Row row("kube-client/24.11/9");
    Restart();
    queue_->AddAfter("foo", seconds(1));
    queue_->AddAfter("bar", milliseconds(50));
    queue_->AddAfter("baz", seconds(2));
    scheduler_.Advance(seconds(3));
    EXPECT_EQ(Get() + Get() + Get(), "barfoobaz");
  }
  {
    const oracle::Row row("kube-client/24.11/10");
    Restart();
    queue_->AddAfter("foo", seconds(1));
    queue_->AddAfter("bar", milliseconds(500));
    queue_->AddAfter("baz", milliseconds(250));
    scheduler_.Advance(seconds(2));
    EXPECT_EQ(Get() + Get() + Get(), "bazbarfoo");
  }
  {
    const oracle::Row row("kube-client/24.11/16");
    Restart();
    queue_->AddRateLimited("one");
    EXPECT_EQ(*queue_->DelayedUntil("one") - loop_.Now(), milliseconds(1));
    scheduler_.Advance(milliseconds(1));
    queue_->AddRateLimited("one");
    EXPECT_EQ(*queue_->DelayedUntil("one") - loop_.Now(), milliseconds(2));
    EXPECT_EQ(queue_->Failures("one"), 2);
    queue_->Forget("one");
    EXPECT_EQ(queue_->Failures("one"), 0);
  }
}

Durations Ask(RateLimiter& limiter, const std::string& item, int times) {
  Durations delays;
  for (int i = 0; i < times; ++i) delays.push_back(limiter.When(item));
  return delays;
}

Durations Milliseconds(std::vector<int64_t> values) {
  Durations out;
  for (const int64_t value : values) out.emplace_back(milliseconds(value));
  return out;
}

// Gives what it was told to.
class ScriptedLimiter final : public RateLimiter {
 public:
  explicit ScriptedLimiter(Durations delays) : delays_(std::move(delays)) {}
  Duration When(const std::string&) override { return delays_[next_++]; }
  int Failures(const std::string&) const override { return 0; }
  void Forget(const std::string&) override {}

 private:
  Durations delays_;
  size_t next_ = 0;
};

TEST_F(WorkQueueOracle, Limiters) {
  {
    const oracle::Row row("kube-client/24.11/11");
    ExponentialLimiter limiter(milliseconds(1), seconds(1));
    EXPECT_EQ(Ask(limiter, "one", 5), Milliseconds({1, 2, 4, 8, 16}));
    EXPECT_EQ(limiter.Failures("one"), 5);
    EXPECT_EQ(Ask(limiter, "two", 2), Milliseconds({1, 2}));
    limiter.Forget("one");
    EXPECT_EQ(limiter.Failures("one"), 0);
    EXPECT_EQ(Ask(limiter, "one", 1), Milliseconds({1}));
  }
  {
    const oracle::Row row("kube-client/24.11/12");
    ExponentialLimiter limiter(milliseconds(1), seconds(1000));
    EXPECT_EQ(Ask(limiter, "one", 6).back(), milliseconds(32));
    EXPECT_EQ(Ask(limiter, "one", 995).back(), seconds(1000));
    ExponentialLimiter large(minutes(1), hours(1000));
    EXPECT_EQ(Ask(large, "two", 1001).back(), hours(1000));
  }
  {
    const oracle::Row row("kube-client/24.11/13");
    FastSlowLimiter limiter(milliseconds(5), seconds(10), 3);
    EXPECT_EQ(Ask(limiter, "one", 5), Milliseconds({5, 5, 5, 10000, 10000}));
    EXPECT_EQ(limiter.Failures("one"), 5);
    limiter.Forget("one");
    EXPECT_EQ(Ask(limiter, "one", 1), Milliseconds({5}));
  }
  {
    const oracle::Row row("kube-client/24.11/14");
    MaxOfLimiter limiter(std::make_unique<FastSlowLimiter>(milliseconds(5), seconds(3), 3),
                         std::make_unique<ExponentialLimiter>(milliseconds(1), seconds(1)));
    EXPECT_EQ(Ask(limiter, "one", 5), Milliseconds({5, 5, 5, 3000, 3000}));
    EXPECT_EQ(limiter.Failures("one"), 5);
  }
  {
    const oracle::Row row("kube-client/24.11/15");
    Durations script(100, milliseconds(5));
    script.emplace_back(seconds(1000));
    MaxWaitLimiter limiter(std::make_unique<ScriptedLimiter>(script), seconds(500));
    Durations expected(100, milliseconds(5));
    expected.emplace_back(seconds(500));
    EXPECT_EQ(Ask(limiter, "one", 101), expected);
  }
}

TEST_F(WorkQueueOracle, Metrics) {
  const oracle::Row row("kube-client/24.11/17");
  const auto expect = [this](const std::string& family, const std::string& value) {
    const std::string text = metrics::ExposeText(registry_);
    const std::string line = StrCat("workqueue_", family, "{name=\"test\"} ", value, "\n");
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  };
  queue_->Add("foo");
  expect("adds_total", "1");
  expect("depth", "1");
  scheduler_.Advance(microseconds(50));
  EXPECT_EQ(Get(), "foo");
  expect("queue_duration_seconds_sum", "5e-05");
  expect("depth", "0");
  for (int i = 0; i < 5; ++i) queue_->Add("foo");
  expect("adds_total", "2");
  expect("depth", "1");
  scheduler_.Advance(microseconds(25));
  queue_->Done("foo");
  expect("work_duration_seconds_sum", "2.5e-05");
  EXPECT_EQ(Get(), "foo");
  // The second wait began with the add, while the item was in work.
  expect("queue_duration_seconds_sum", "7.500000000000001e-05");
  expect("queue_duration_seconds_count", "2");
  scheduler_.Advance(milliseconds(1));
  expect("unfinished_work_seconds", "0.001");
  expect("longest_running_processor_seconds", "0.001");
  queue_->Done("foo");
  expect("work_duration_seconds_count", "2");
  expect("unfinished_work_seconds", "0");
}

}  // namespace
}  // namespace csinative::kube
