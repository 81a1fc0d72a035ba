// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/event_correlator.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/async/virtual_loop.h"

namespace csinative::kube {
namespace {

class EventCorrelatorTest : public ::testing::Test {
 protected:
  core::Event Make(const std::string& object, const std::string& message,
                   const std::string& type = "Normal") {
    core::Event event;
    event.mutable_metadata()->set_name(object + "." + std::to_string(++serial_));
    event.mutable_involvedobject()->set_kind("PersistentVolumeClaim");
    event.mutable_involvedobject()->set_name(object);
    event.set_reason("Provisioning");
    event.set_message(message);
    event.set_type(type);
    event.mutable_source()->set_component("driver");
    event.set_count(1);
    event.mutable_firsttimestamp()->set_seconds(serial_);
    event.mutable_lasttimestamp()->set_seconds(serial_);
    return event;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  EventCorrelator correlator_{loop_};
  int serial_ = 0;
};

TEST_F(EventCorrelatorTest, RepeatRaisesTheCountOfTheStoredEvent) {
  auto first = correlator_.Correlate(Make("a", "m"));
  ASSERT_TRUE(first);
  first->event.mutable_metadata()->set_resourceversion("5");
  correlator_.Stored(first->key, first->event);
  auto second = correlator_.Correlate(Make("a", "m"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->event.count(), 2);
  EXPECT_EQ(second->event.metadata().name(), "a.1");
  EXPECT_EQ(second->event.firsttimestamp().seconds(), 1);
  EXPECT_EQ(second->event.lasttimestamp().seconds(), 2);
}

TEST_F(EventCorrelatorTest, OtherMessageIsAnotherEvent) {
  (void)correlator_.Correlate(Make("a", "m1"));
  EXPECT_EQ(correlator_.Correlate(Make("a", "m2"))->event.count(), 1);
}

TEST_F(EventCorrelatorTest, TenthDifferentMessageBecomesACombinedEvent) {
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(correlator_.Correlate(Make("a", "m" + std::to_string(i)))->event.message(),
              "m" + std::to_string(i));
  }
  auto combined = correlator_.Correlate(Make("a", "m9"));
  EXPECT_EQ(combined->event.message(), "(combined from similar events): m9");
  EXPECT_EQ(combined->event.count(), 1);
  auto next = correlator_.Correlate(Make("a", "m10"));
  EXPECT_EQ(next->event.message(), "(combined from similar events): m10");
  EXPECT_EQ(next->event.count(), 2);
}

TEST_F(EventCorrelatorTest, GroupEndsAfterTenQuietMinutes) {
  for (int i = 0; i < 9; ++i) (void)correlator_.Correlate(Make("a", "m" + std::to_string(i)));
  scheduler_.Advance(std::chrono::seconds(601));
  EXPECT_EQ(correlator_.Correlate(Make("a", "m9"))->event.message(), "m9");
}

TEST_F(EventCorrelatorTest, FloodAboutOneObjectIsCutOffAtTheBurst) {
  int sent = 0;
  for (int i = 0; i < 40; ++i) sent += correlator_.Correlate(Make("a", "m")).has_value();
  EXPECT_EQ(sent, 25);
  EXPECT_TRUE(correlator_.Correlate(Make("b", "m")).has_value());
  EXPECT_TRUE(correlator_.Correlate(Make("a", "m", "Warning")).has_value());
  scheduler_.Advance(std::chrono::seconds(301));
  auto later = correlator_.Correlate(Make("a", "m"));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->event.count(), 41);
}

TEST(EventNameTest, HexOfTheTimeOrAUuid) {
  auto random = NewSeededRandom(1);
  const WallTime now(std::chrono::nanoseconds(0x17a3b2c1d0e0f000));
  EXPECT_EQ(EventName("pvc-1", now, *random), "pvc-1.17a3b2c1d0e0f000");
  EXPECT_EQ(EventName("Not_A_Name", now, *random).size(), 36u);
}

}  // namespace
}  // namespace csinative::kube
