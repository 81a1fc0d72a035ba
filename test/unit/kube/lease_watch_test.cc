// SPDX-License-Identifier: Apache-2.0
//
// A candidate beside a leader, with the times that are the default, on the embedded API server.
#include "lib/kube/lease_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/async/sync.h"
#include "lib/kube/leader_election.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/in_process_api.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class LeaseWatchTest : public ::testing::Test {
 protected:
  // A process that stands for election.
  struct Candidate {
    Candidate(LeaseWatchTest* test, std::string identity) : leading_scope(test->loop_) {
      LeaderElectionConfig config;
      config.lock_name = "lock";
      config.lock_namespace = "default";
      config.identity = std::move(identity);
      config.release_on_cancel = true;
      LeaderElectionCallbacks callbacks;
      callbacks.on_started_leading = [this] { return Lead(this); };
      elector =
          std::make_unique<LeaderElector>(test->loop_, *test->random_, *test->client_,
                                          log::Logger(), std::move(config), std::move(callbacks));
      leading_scope.Spawn(elector->Run());
    }
    static async::Task<void> Lead(Candidate* self) {
      self->leads = true;
      async::Event never;
      (void)co_await never.Wait();
      self->leads = false;
    }
    bool leads = false;
    std::unique_ptr<LeaderElector> elector;
    async::Scope leading_scope;
  };

  LeaseWatchTest() {
    client_ = *Client::Create(loop_, *random_, transport_, log::Logger(), {.qps = -1});
    api_.set_fault_hook([this](const apiserver::RequestInfo& request) {
      watches_ += request.verb == "watch" ? 1 : 0;
      return apiserver::Fault();
    });
  }
  ~LeaseWatchTest() override { loop_.Discard(); }

  // "a" leads and "b" waits.
  void StartBoth() {
    a_.emplace(this, "a");
    scheduler_.Settle();
    ASSERT_TRUE(a_->leads);
    b_.emplace(this, "b");
    scheduler_.Advance(seconds(1));
    ASSERT_FALSE(b_->leads);
  }
  // At most so long, in steps of 10 ms.
  Duration TimeUntilBLeads(Duration limit = minutes(1)) {
    const MonotonicTime start = loop_.Now();
    while (!b_->leads && loop_.Now() - start < limit) scheduler_.Advance(milliseconds(10));
    EXPECT_TRUE(b_->leads);
    return loop_.Now() - start;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  apiserver::ApiHandler api_{loop_, *random_};
  testing::InProcessApi transport_{loop_, api_, "candidate"};
  std::unique_ptr<Client> client_;
  std::optional<Candidate> a_;
  std::optional<Candidate> b_;
  int watches_ = 0;
};

TEST_F(LeaseWatchTest, ReleasedLeaseIsTakenAtOnce) {
  StartBoth();
  a_->leading_scope.Cancel();
  EXPECT_LE(TimeUntilBLeads(), milliseconds(100));
}

TEST_F(LeaseWatchTest, DeletedLeaseIsTakenAtOnce) {
  StartBoth();
  ASSERT_TRUE(
      async::RunTask(scheduler_, loop_, client_->Delete<coordination::Lease>({"default", "lock"}))
          .ok());
  EXPECT_LE(TimeUntilBLeads(), milliseconds(100));
}

TEST_F(LeaseWatchTest, LeaderNeedsNoWatchAndTheWinnerLetsGoOfIts) {
  StartBoth();
  EXPECT_EQ(api_.open_watches(), 1U);
  a_->leading_scope.Cancel();
  TimeUntilBLeads();
  scheduler_.Advance(minutes(20));
  EXPECT_EQ(api_.open_watches(), 0U);
  EXPECT_EQ(watches_, 1);
}

TEST_F(LeaseWatchTest, EndedAndBrokenWatchesAreOpenedAgain) {
  StartBoth();
  scheduler_.Advance(minutes(20));
  // Each is asked to end after 5 to 10 minutes.
  EXPECT_GE(watches_, 2);
  EXPECT_LE(watches_, 5);
  api_.CutWatches();
  scheduler_.Advance(seconds(6));
  // From here on a watch can only begin at a version that was read since.
  api_.Compact();
  api_.EndWatches();
  scheduler_.Advance(seconds(12));
  EXPECT_EQ(api_.open_watches(), 1U);
  a_->leading_scope.Cancel();
  EXPECT_LE(TimeUntilBLeads(), milliseconds(100));
}

// A renewal of the leader is no reason to look, so that candidates stay as quiet as without.
TEST_F(LeaseWatchTest, RenewalsCauseNoReads) {
  StartBoth();
  api_.ClearLog();
  scheduler_.Advance(minutes(4));
  int reads = 0;
  for (const apiserver::LoggedRequest& request : api_.log()) reads += request.verb == "get" ? 1 : 0;
  EXPECT_GE(reads, 48);
  EXPECT_LE(reads, 61);
}

// Roles from before this watch have only get, update and create.
TEST_F(LeaseWatchTest, WithoutTheRightItIsAskedForOnceAndTheNextLookFindsOut) {
  api_.set_authorizer(
      [](const apiserver::RequestInfo& request) { return request.verb != "watch"; });
  StartBoth();
  scheduler_.Advance(minutes(20));
  EXPECT_EQ(watches_, 1);
  a_->leading_scope.Cancel();
  EXPECT_LE(TimeUntilBLeads(), seconds(6));
}

}  // namespace
}  // namespace csinative::kube
