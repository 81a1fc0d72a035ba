// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/pending_operations.h"

#include <gtest/gtest.h>

#include "lib/async/virtual_loop.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using enum PendingOperations::Start;

class PendingOperationsTest : public ::testing::Test {
 protected:
  void Fail(const OperationKey& key, const std::string& name) {
    ASSERT_EQ(pending_.TryStart(key, name), kStarted);
    pending_.Finish(key, InternalError("x"));
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  PendingOperations pending_{loop_};
};

struct PairRow {
  const char* name;
  OperationKey first;
  OperationKey second;
  PendingOperations::Start outcome;
};

class TwoOperations : public PendingOperationsTest,
                      public ::testing::WithParamInterface<PairRow> {};

TEST_P(TwoOperations, RunTogetherOrNot) {
  ASSERT_EQ(pending_.TryStart(GetParam().first, "a"), kStarted);
  EXPECT_EQ(pending_.TryStart(GetParam().second, "b"), GetParam().outcome);
  EXPECT_EQ(pending_.IsRunning(GetParam().second), true);
  if (GetParam().outcome == kStarted) pending_.Finish(GetParam().second, Status());
  // O8
  pending_.Finish(GetParam().first, Status());
  EXPECT_EQ(pending_.TryStart(GetParam().second, "b"), kStarted);
}

INSTANTIATE_TEST_SUITE_P(
    PendingOperationsTest, TwoOperations,
    ::testing::Values(PairRow{"O2_Volume", {"v", ""}, {"v", ""}, kRunning},
                      PairRow{"O2_VolumeThenPod", {"v", ""}, {"v", "p"}, kRunning},
                      PairRow{"O3_PodThenVolume", {"v", "p"}, {"v", ""}, kRunning},
                      PairRow{"O4_SamePod", {"v", "p"}, {"v", "p"}, kRunning},
                      PairRow{"O5_TwoPods", {"v", "p1"}, {"v", "p2"}, kStarted},
                      PairRow{"O7_TwoVolumes", {"v1", ""}, {"v2", ""}, kStarted}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(PendingOperationsTest, O11_FailedOperationWaits) {
  Fail({"v", ""}, "mount");
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kBackoff);
  EXPECT_EQ(*pending_.NextRetry() - loop_.Now(), milliseconds(500));
  scheduler_.Advance(milliseconds(499));
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kBackoff);
  scheduler_.Advance(milliseconds(1));
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kStarted);
}

TEST_F(PendingOperationsTest, O12_OtherOperationDoesNotWait) {
  Fail({"v", ""}, "mount");
  EXPECT_EQ(pending_.TryStart({"v", ""}, "unmount"), kStarted);
}

TEST_F(PendingOperationsTest, OperationsThatFailInTurnWaitForThemselves) {
  Fail({"v", ""}, "mount");
  Fail({"v", "p1"}, "umount");
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kBackoff);
  EXPECT_EQ(pending_.TryStart({"v", "p1"}, "umount"), kBackoff);
}

TEST_F(PendingOperationsTest, DelayDoublesUpToItsLimit) {
  Duration expected = milliseconds(500);
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(pending_.TryStart({"v", ""}, "mount"), kStarted);
    EXPECT_EQ(pending_.Finish({"v", ""}, InternalError("x")), expected);
    scheduler_.Advance(expected);
    expected = std::min<Duration>(expected * 2, seconds(122));
  }
}

TEST_F(PendingOperationsTest, O13_RunningOneCountsBeforeThoseThatFailed) {
  Fail({"v", "p1"}, "unmount");
  Fail({"v", "p2"}, "unmount");
  ASSERT_EQ(pending_.TryStart({"v", "p3"}, "unmount"), kStarted);
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kRunning);
}

TEST_F(PendingOperationsTest, O14_ExactKeyIsPreferred) {
  for (const char* pod : {"p1", "p2", "p3"}) Fail({"v", pod}, "umount");
  Fail({"v", ""}, "mount");
  scheduler_.Advance(milliseconds(500));
  ASSERT_EQ(pending_.TryStart({"v", "p2"}, "umount"), kStarted);
  pending_.Finish({"v", "p2"}, Status());
  EXPECT_EQ(pending_.TryStart({"v", "p2"}, "umount"), kStarted);
}

TEST_F(PendingOperationsTest, O15_EndRemovesExactlyItsOwnKey) {
  ASSERT_EQ(pending_.TryStart({"v0", ""}, "x"), kStarted);
  pending_.Finish({"v0", ""}, Status());
  Fail({"v1", "p2"}, "x");
  ASSERT_EQ(pending_.TryStart({"v1", "p1"}, "x"), kStarted);
  pending_.Finish({"v1", "p1"}, Status());
  EXPECT_EQ(pending_.TryStart({"v1", "p2"}, "x"), kBackoff);
  scheduler_.Advance(milliseconds(500));
  ASSERT_EQ(pending_.TryStart({"v1", "p2"}, "x"), kStarted);
  pending_.Finish({"v1", "p2"}, Status());
  EXPECT_EQ(pending_.TryStart({"v1", "p2"}, "x"), kStarted);
}

TEST_F(PendingOperationsTest, ClearedBackoffLetsEverythingStart) {
  Fail({"v", ""}, "mount");
  pending_.ClearBackoff();
  EXPECT_FALSE(pending_.NextRetry());
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kStarted);
  EXPECT_EQ(pending_.running(), 1u);
}

TEST_F(PendingOperationsTest, ForgottenVolumeHasNoBackoff) {
  Fail({"v", ""}, "mount");
  pending_.Forget("v");
  EXPECT_FALSE(pending_.NextRetry());
  EXPECT_EQ(pending_.TryStart({"v", ""}, "mount"), kStarted);
}

TEST_F(PendingOperationsTest, ListHasWhatRunsAndWhatFailed) {
  const OperationKey key{"v", "p"};
  EXPECT_TRUE(pending_.List().empty());
  ASSERT_EQ(pending_.TryStart(key, "mount"), kStarted);
  auto all = pending_.List();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "mount");
  EXPECT_EQ(all[0].started, loop_.Now());
  EXPECT_EQ(all[0].failures, 0);

  pending_.Finish(key, InternalError("once"));
  scheduler_.Advance(seconds(1));
  ASSERT_EQ(pending_.TryStart(key, "mount"), kStarted);
  pending_.Finish(key, InternalError("again"));
  all = pending_.List();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].started);
  EXPECT_EQ(all[0].failures, 2);
  EXPECT_EQ(all[0].last_error, "again");
  EXPECT_EQ(all[0].last_failed, loop_.Now());
  EXPECT_EQ(all[0].next_try, loop_.Now() + seconds(1));

  // Another operation of the volume runs meanwhile.
  ASSERT_EQ(pending_.TryStart(key, "unmount"), kStarted);
  EXPECT_EQ(pending_.List().size(), 2u);
  pending_.Finish(key, Status());
  EXPECT_TRUE(pending_.List().empty());
}

TEST_F(PendingOperationsTest, ListCutsLongErrors) {
  Fail({"v", ""}, "mount");
  scheduler_.Advance(seconds(1));
  ASSERT_EQ(pending_.TryStart({"v", ""}, "mount"), kStarted);
  pending_.Finish({"v", ""}, InternalError(std::string(5000, 'x')));
  EXPECT_EQ(pending_.List()[0].last_error.size(), PendingOperations::kMaxErrorBytes);
}

}  // namespace
}  // namespace csinative::volumemanager
