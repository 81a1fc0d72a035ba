// SPDX-License-Identifier: Apache-2.0
#include "lib/async/completion.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/result.h"

namespace csinative::async {
namespace {

using std::chrono::seconds;
using IntResult = Result<int>;

struct Operation {
  std::optional<Completer<IntResult>> done;
  int aborts = 0;
};

Task<IntResult> Run(Operation* op) {
  co_return co_await FromCallback<IntResult>([op](Completer<IntResult> done) {
    op->done = done;
    return AbortHook([op] { ++op->aborts; });
  });
}

Task<void> Store(Operation* op, std::vector<IntResult>* out) { out->push_back(co_await Run(op)); }

class CompletionTest : public ::testing::Test {
 protected:
  VirtualScheduler scheduler_;
  VirtualLoop loop_{scheduler_};
  Scope scope_{loop_};
  Operation op_;
  std::vector<IntResult> results_;
};

TEST_F(CompletionTest, ResumesByAStepNotInPlace) {
  scope_.Spawn(Store(&op_, &results_));
  scheduler_.Settle();
  (*op_.done)(5);
  EXPECT_TRUE(results_.empty());
  scheduler_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(*results_[0], 5);
}

TEST_F(CompletionTest, OnlyTheFirstCallCounts) {
  scope_.Spawn(Store(&op_, &results_));
  scheduler_.Settle();
  (*op_.done)(5);
  (*op_.done)(6);
  scheduler_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(*results_[0], 5);
}

TEST_F(CompletionTest, CancellationAbortsAndIgnoresTheLateAnswer) {
  scope_.Spawn(Store(&op_, &results_));
  scheduler_.Settle();
  scope_.Cancel();
  scheduler_.Settle();
  (*op_.done)(5);
  scheduler_.Settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_TRUE(IsCancelled(results_[0].status()));
  EXPECT_EQ(op_.aborts, 1);
}

TEST_F(CompletionTest, CancelledTaskDoesNotStartTheOperation) {
  scope_.Cancel();
  scope_.Spawn(Store(&op_, &results_));
  scheduler_.Settle();
  EXPECT_FALSE(op_.done.has_value());
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_TRUE(IsCancelled(results_[0].status()));
}

TEST_F(CompletionTest, LateAnswerAfterDiscardGoesNowhere) {
  scope_.Spawn(Store(&op_, &results_));
  scheduler_.Settle();
  loop_.Discard();
  (*op_.done)(5);
  scheduler_.Settle();
  EXPECT_TRUE(results_.empty());
}

TEST(CompletionThreadTest, ManyThreadsCompleteOntoOneLoop) {
  RealLoop loop;
  std::vector<std::thread> threads;
  auto add = [](std::vector<std::thread>* pool, int n) -> Task<int> {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      IntResult r = co_await FromCallback<IntResult>(
          [pool, i](Completer<IntResult> done) { pool->emplace_back([done, i] { done(i); }); });
      sum += *r;
    }
    co_return sum;
  };
  EXPECT_EQ(RunTask(loop, add(&threads, 50)), 49 * 50 / 2);
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace csinative::async
