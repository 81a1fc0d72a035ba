// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/event_recorder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "test/unit/kube/fake_lease_client.h"

namespace csinative::kube {
namespace {

using Calls = std::vector<std::string>;

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() { scope_.Spawn(broadcaster_.Run()); }
  ~EventRecorderTest() override { loop_.Discard(); }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(3);
  FakeLeaseServer server_;
  FakeLeaseClient client_{&server_};
  EventBroadcaster broadcaster_{loop_, *random_, client_, log::Logger()};
  EventRecorder recorder_{broadcaster_, "driver_host_uuid"};
  ObjectReference claim_{"v1", "PersistentVolumeClaim", "ns", "claim", "uid-1", "42"};
  async::Scope scope_{loop_};
};

TEST_F(EventRecorderTest, WritesTheFieldsThatUpstreamWrites) {
  recorder_.Record(claim_, EventType::kNormal, "Provisioning", "text");
  scheduler_.Settle();
  ASSERT_EQ(server_.events.size(), 1u);
  const core::Event& event = server_.events.begin()->second;
  EXPECT_EQ(event.metadata().namespace_(), "ns");
  EXPECT_EQ(event.metadata().name().substr(0, 6), "claim.");
  EXPECT_EQ(event.involvedobject().resourceversion(), "42");
  EXPECT_EQ(event.involvedobject().apiversion(), "v1");
  EXPECT_FALSE(event.involvedobject().has_fieldpath());
  EXPECT_EQ(event.source().component(), "driver_host_uuid");
  EXPECT_FALSE(event.source().has_host());
  EXPECT_EQ(event.reportingcomponent(), "driver_host_uuid");
  EXPECT_EQ(event.reportinginstance(), "");
  EXPECT_EQ(event.type(), "Normal");
  EXPECT_EQ(event.count(), 1);
  EXPECT_FALSE(event.has_eventtime());
}

TEST_F(EventRecorderTest, ClusterScopedObjectsGoToTheDefaultNamespace) {
  recorder_.Record({"v1", "PersistentVolume", "", "pv", "u", "1"}, EventType::kWarning, "R", "m");
  scheduler_.Settle();
  EXPECT_EQ(server_.events.begin()->second.metadata().namespace_(), "default");
  EXPECT_EQ(server_.events.begin()->second.type(), "Warning");
}

TEST_F(EventRecorderTest, RepeatIsAPatchOfExactlyThreeMembers) {
  recorder_.Record(claim_, EventType::kNormal, "R", "m");
  scheduler_.Advance(std::chrono::seconds(5));
  recorder_.Record(claim_, EventType::kNormal, "R", "m");
  scheduler_.Settle();
  EXPECT_EQ(
      client_.calls,
      (Calls{"POST event",
             R"(PATCH event {"count":2,"lastTimestamp":"2024-01-01T00:00:05Z","message":"m"})"}));
}

TEST_F(EventRecorderTest, ExpiredEventIsCreatedAnew) {
  recorder_.Record(claim_, EventType::kNormal, "R", "m");
  scheduler_.Settle();
  server_.events.clear();
  recorder_.Record(claim_, EventType::kNormal, "R", "m");
  scheduler_.Settle();
  ASSERT_EQ(server_.events.size(), 1u);
  EXPECT_EQ(server_.events.begin()->second.count(), 2);
}

TEST_F(EventRecorderTest, RejectedEventIsNotRetried) {
  client_.failure = ApiFailure(403, "Forbidden", "no");
  recorder_.Record(claim_, EventType::kNormal, "R", "m");
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(client_.calls.size(), 1u);
}

TEST_F(EventRecorderTest, UnreachableServerIsTriedTwelveTimes) {
  client_.failure = UnavailableError("refused");
  recorder_.Record(claim_, EventType::kNormal, "R", "m");
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(client_.calls.size(), 12u);
}

TEST_F(EventRecorderTest, QueueIsBounded) {
  client_.delay = std::chrono::hours(1);
  for (int i = 0; i < 1500; ++i) {
    recorder_.Record({"v1", "Pod", "ns", "p" + std::to_string(i), "u", "1"}, EventType::kNormal,
                     "R", "m");
  }
  scheduler_.Settle();
  client_.delay = Duration::zero();
  scheduler_.Advance(std::chrono::hours(2));
  EXPECT_LE(server_.events.size(), 1001u);
  EXPECT_GE(server_.events.size(), 1000u);
}

}  // namespace
}  // namespace csinative::kube
