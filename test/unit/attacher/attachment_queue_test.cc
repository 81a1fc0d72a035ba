// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/attachment_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/virtual_loop.h"
#include "lib/base/random.h"
#include "lib/base/strings.h"

namespace csinative::attacher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

class AttachmentQueueTest : public ::testing::Test {
 protected:
  ~AttachmentQueueTest() override {
    if (scope_) async::RunTask(scheduler_, loop_, scope_->Close());
  }
  // Names that begin with "d" are detaches, unless told otherwise.
  void Start(int workers) {
    queue_ = std::make_unique<AttachmentQueue>(
        loop_, AttachmentQueue::Options{
                   .queue = {.limiter = std::make_shared<kube::ExponentialLimiter>(seconds(1),
                                                                                   seconds(60))},
                   .workers = workers,
                   .operation = [this](const std::string& name) {
                     return detached_.contains(name) || name.starts_with("d") ? Operation::kDetach
                                                                              : Operation::kAttach;
                   }});
    scope_ = std::make_unique<async::Scope>(loop_);
    scope_->Spawn(queue_->Run([this](std::string name) { return Sync(std::move(name)); }));
    scheduler_.Advance(milliseconds(1));
  }
  async::Task<Status> Sync(std::string name) {
    started_.push_back(name);
    EXPECT_EQ(++running_[name], 1) << name << " twice at once";
    most_ = std::max(most_, ++in_progress_);
    const Status slept = co_await async::Sleep(duration_);
    --in_progress_;
    --running_[name];
    if (!slept.ok()) co_return slept;
    co_return failing_.erase(name) > 0 ? InternalError("failed") : Status();
  }
  void AddMany(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) queue_->Add(StrCat(prefix, i));
  }
  bool Started(const std::string& name) const {
    return std::find(started_.begin(), started_.end(), name) != started_.end();
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<AttachmentQueue> queue_;
  std::unique_ptr<async::Scope> scope_;
  Duration duration_ = seconds(60);
  std::set<std::string> detached_, failing_;
  std::vector<std::string> started_;
  std::map<std::string, int> running_;
  int in_progress_ = 0, most_ = 0;
};

TEST_F(AttachmentQueueTest, AttachStartsAtOnceWhileAllWorkersDetach) {
  Start(10);
  AddMany("d", 200);
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(in_progress_, 10);
  queue_->Add("a");
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Started("a"));
}

TEST_F(AttachmentQueueTest, DetachStartsAtOnceWhileAllWorkersAttach) {
  Start(10);
  AddMany("a", 200);
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(in_progress_, 10);
  queue_->Add("d");
  scheduler_.Advance(milliseconds(1));
  EXPECT_TRUE(Started("d"));
}

TEST_F(AttachmentQueueTest, BothTogetherExceedTheWorkersByAFifth) {
  Start(10);
  AddMany("a", 100);
  AddMany("d", 100);
  scheduler_.Advance(std::chrono::minutes(30));
  EXPECT_EQ(most_, 12);
  EXPECT_EQ(started_.size(), 200u);
}

TEST_F(AttachmentQueueTest, SingleWorkerDoesOneThingAtATimeAndServesBothInTurn) {
  Start(1);
  AddMany("d", 3);
  scheduler_.Advance(seconds(5));
  queue_->Add("a");
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(most_, 1);
  EXPECT_THAT(started_, ElementsAre("d0", "a", "d1", "d2"));
}

TEST_F(AttachmentQueueTest, AttachThatBecomesADetachIsNeverInBothLinesAtOnce) {
  Start(10);
  queue_->Add("a");
  scheduler_.Advance(seconds(5));
  detached_.insert("a");
  queue_->Add("a");
  scheduler_.Advance(seconds(50));
  EXPECT_THAT(started_, ElementsAre("a"));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(started_, ElementsAre("a", "a"));
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(started_.size(), 2u);
}

TEST_F(AttachmentQueueTest, RetryOfAnAttachThatBecameADetachIsADetach) {
  duration_ = milliseconds(10);
  failing_ = {"a"};
  Start(1);
  queue_->Add("a");
  scheduler_.Advance(milliseconds(100));
  detached_.insert("a");
  scheduler_.Advance(seconds(5));
  EXPECT_THAT(started_, ElementsAre("a", "a"));
}

TEST_F(AttachmentQueueTest, FailuresOfBothLinesAreCountedTogether) {
  duration_ = milliseconds(1);
  Start(2);
  failing_ = {"a"};
  queue_->Add("a");  // at 0, and after a second as a detach
  scheduler_.Advance(milliseconds(500));
  detached_.insert("a");
  failing_ = {"a"};
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(started_.size(), 2u);
  scheduler_.Advance(milliseconds(1400));  // two seconds after the second
  EXPECT_EQ(started_.size(), 2u);
  scheduler_.Advance(milliseconds(200));
  EXPECT_EQ(started_.size(), 3u);
}

TEST_F(AttachmentQueueTest, WhatWaitsForTheOtherLineIsSeenInItsOwn) {
  duration_ = std::chrono::hours(1);
  Start(10);
  AddMany("d", 10);
  AddMany("a", 10);
  scheduler_.Advance(seconds(31));
  EXPECT_EQ(in_progress_, 12);
  EXPECT_EQ(queue_->attaches().size(), 8u);
  EXPECT_EQ(queue_->attaches().processing(), 2u);
  EXPECT_EQ(queue_->attaches().OldestWait(), seconds(31));
  EXPECT_EQ(queue_->detaches().size(), 0u);
  EXPECT_EQ(queue_->detaches().processing(), 10u);
}

TEST_F(AttachmentQueueTest, WhatWaitsForASingleWorkerIsSeen) {
  Start(1);
  queue_->Add("d");
  scheduler_.Advance(seconds(5));
  AddMany("a", 2);
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(queue_->attaches().size(), 2u);
  EXPECT_EQ(queue_->attaches().processing(), 0u);
  scheduler_.Advance(std::chrono::minutes(5));
  EXPECT_THAT(started_, ElementsAre("d", "a0", "a1"));
}

TEST_F(AttachmentQueueTest, ItemsOfBothLinesInOneStepAreDoneOneAfterTheOther) {
  Start(1);
  queue_->Add("a");
  queue_->Add("d");
  scheduler_.Advance(seconds(30));
  EXPECT_EQ(in_progress_, 1);
  scheduler_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(most_, 1);
  EXPECT_THAT(started_, ElementsAre("a", "d"));
  EXPECT_EQ(queue_->attaches().processing() + queue_->detaches().processing(), 0u);
}

TEST_F(AttachmentQueueTest, AttachThatBecomesADetachWhileItWaitsIsADetach) {
  Start(1);
  queue_->Add("d");
  queue_->Add("a");  // handed out in the same step, or waiting: it must not matter
  scheduler_.Advance(seconds(5));
  detached_.insert("a");
  queue_->Add("a");
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_THAT(started_, ElementsAre("d", "a"));
}

// Whatever comes when: nothing is lost, nothing runs twice at once, no permit stays away.
TEST_F(AttachmentQueueTest, NothingIsLostInAnyOrder) {
  for (const int workers : {1, 2, 3, 10}) {
    const auto random = NewSeededRandom(static_cast<uint64_t>(workers));
    if (scope_) async::RunTask(scheduler_, loop_, scope_->Close());
    started_.clear();
    most_ = 0;
    duration_ = milliseconds(7);
    Start(workers);
    for (int i = 0; i < 2000; ++i) {
      const std::string name =
          StrCat(random->Below(2) == 0 ? "d" : "a", static_cast<int>(random->Below(30)));
      if (random->Below(10) == 0) failing_.insert(name);
      queue_->Add(name);
      if (random->Below(3) == 0) {
        scheduler_.Advance(milliseconds(static_cast<int>(random->Below(12))));
      }
    }
    scheduler_.Advance(std::chrono::minutes(10));
    EXPECT_TRUE(failing_.empty()) << workers;
    for (const auto* line : {&queue_->attaches(), &queue_->detaches()}) {
      EXPECT_EQ(line->size() + line->processing() + line->delayed(), 0u) << workers;
    }
    EXPECT_EQ(in_progress_, 0) << workers;
    const int limit = workers == 1 ? 1 : workers + std::max(1, workers / 5);
    EXPECT_LE(most_, limit);
    // Both lines still get what they may.
    duration_ = seconds(60);
    most_ = 0;
    AddMany("a1000", 20);
    AddMany("d1000", 20);
    scheduler_.Advance(std::chrono::hours(1));
    EXPECT_EQ(most_, limit);
  }
}

TEST_F(AttachmentQueueTest, EndsWhenCancelledInTheStepInWhichBothLinesGetAnItem) {
  Start(1);
  queue_->Add("a");
  queue_->Add("d");
  async::RunTask(scheduler_, loop_, scope_->Close());
  EXPECT_EQ(in_progress_, 0);
  EXPECT_EQ(queue_->attaches().processing() + queue_->detaches().processing(), 0u);
}

TEST_F(AttachmentQueueTest, EndsWhenCancelledWithAllThatWaits) {
  Start(3);
  AddMany("a", 10);
  AddMany("d", 10);
  scheduler_.Advance(seconds(1));
  async::RunTask(scheduler_, loop_, scope_->Close());
  EXPECT_EQ(in_progress_, 0);
}

}  // namespace
}  // namespace csinative::attacher
