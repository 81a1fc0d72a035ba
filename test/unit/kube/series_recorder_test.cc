// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/series_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apis/envelope.h"
#include "apis/meta/v1/time.h"
#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/base/strings.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Keeps what is posted and answers it with a resourceVersion, as the server does.
class SeriesRecorderTest : public ::testing::Test {
 protected:
  SeriesRecorderTest() {
    transport_.AnswerAlways([this](const ApiRequest& request) { return Answer(request); });
    Result<std::unique_ptr<Client>> client =
        Client::Create(loop_, *random_, transport_, log::Logger(), {.qps = -1});
    EXPECT_TRUE(client.ok());
    client_ = *std::move(client);
    broadcaster_ = std::make_unique<SeriesBroadcaster>(loop_, *random_, *client_, log::Logger());
    recorder_ = std::make_unique<SeriesRecorder>(*broadcaster_, "kubelet", "node-1");
    scope_.Spawn(broadcaster_->Run());
  }
  ~SeriesRecorderTest() override { loop_.Discard(); }

  Result<ApiResponse> Answer(const ApiRequest& request) {
    if (!failure_.ok()) return failure_;
    if (rejection_ != 0) return testing::ProtobufFailure(rejection_, "Forbidden", "no");
    if (request.method == "POST") {
      events::Event event;
      Result<apis::Envelope> envelope = apis::Unwrap(request.body);
      EXPECT_TRUE(envelope.ok());
      EXPECT_TRUE(event.ParseFromString(std::string(envelope->raw)));
      EXPECT_EQ(envelope->api_version, "events.k8s.io/v1");
      event.mutable_metadata()->set_resourceversion("7");
      posted_.push_back(event);
      stored_[event.metadata().name()] = event;
      return testing::ProtobufAnswer(event, 201);
    }
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    const auto found = stored_.find(name);
    if (found == stored_.end()) return testing::ProtobufFailure(404, "NotFound", "gone");
    patches_.push_back(request.body);
    return testing::ProtobufAnswer(found->second);
  }

  void Fail(std::string reason = "FailedMount") {
    recorder_->Record(pod_, nullptr,
                      {EventType::kWarning, std::move(reason), "Mounting", "it does not answer"});
    scheduler_.Settle();
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(3);
  testing::FakeApiTransport transport_{loop_};
  std::unique_ptr<Client> client_;
  std::unique_ptr<SeriesBroadcaster> broadcaster_;
  std::unique_ptr<SeriesRecorder> recorder_;
  ObjectReference pod_{"v1", "Pod", "ns", "web", "uid-1", "42"};
  ObjectReference volume_{"v1", "PersistentVolume", "", "pv-1", "uid-2", "43"};
  Status failure_;
  int rejection_ = 0;  // HTTP code
  std::vector<events::Event> posted_;
  std::map<std::string, events::Event> stored_;
  std::vector<std::string> patches_;
  async::Scope scope_{loop_};
};

TEST_F(SeriesRecorderTest, WritesTheFieldsOfTheSpecification) {
  recorder_->Record(pod_, &volume_, {EventType::kNormal, "Mounted", "Mounting", "text"});
  scheduler_.Settle();
  ASSERT_THAT(posted_, SizeIs(1));
  const events::Event& event = posted_[0];
  EXPECT_THAT(transport_.Lines(), ElementsAre("POST /apis/events.k8s.io/v1/namespaces/ns/events"));
  EXPECT_EQ(event.metadata().namespace_(), "ns");
  EXPECT_TRUE(event.metadata().name().starts_with("web."));
  EXPECT_EQ(apis::FormatTime(event.eventtime()), "2024-01-01T00:00:00.000000Z");
  EXPECT_EQ(event.reportingcontroller(), "kubelet");
  EXPECT_EQ(event.reportinginstance(), "kubelet-node-1");
  EXPECT_EQ(event.action(), "Mounting");
  EXPECT_EQ(event.reason(), "Mounted");
  EXPECT_EQ(event.note(), "text");
  EXPECT_EQ(event.type(), "Normal");
  EXPECT_EQ(event.regarding().uid(), "uid-1");
  EXPECT_EQ(event.related().name(), "pv-1");
  EXPECT_FALSE(event.has_series());
  EXPECT_FALSE(event.has_deprecatedsource());
  EXPECT_FALSE(event.has_deprecatedcount());
}

TEST_F(SeriesRecorderTest, TheSecondOccurrenceBeginsASeriesAndLaterOnesOnlyCount) {
  Fail();
  scheduler_.Advance(seconds(1));
  Fail();
  scheduler_.Advance(seconds(1));
  Fail();
  Fail();
  EXPECT_THAT(posted_, SizeIs(1));
  EXPECT_THAT(
      patches_,
      ElementsAre(R"({"series":{"count":2,"lastObservedTime":"2024-01-01T00:00:01.000000Z"}})"));
}

TEST_F(SeriesRecorderTest, WhatDiffersInReasonOrObjectIsNoRepeat) {
  Fail("FailedMount");
  Fail("FailedAttach");
  recorder_->Record(pod_, &volume_, {EventType::kWarning, "FailedMount", "Mounting", ""});
  recorder_->Record(volume_, nullptr, {EventType::kWarning, "FailedMount", "Mounting", ""});
  recorder_->Record(pod_, nullptr, {EventType::kWarning, "FailedMount", "Unmounting", ""});
  recorder_->Record(pod_, nullptr, {EventType::kNormal, "FailedMount", "Mounting", ""});
  scheduler_.Settle();
  EXPECT_THAT(posted_, SizeIs(6));
  EXPECT_THAT(patches_, SizeIs(0));
}

TEST_F(SeriesRecorderTest, OngoingSeriesAreToldEveryHalfHour) {
  for (int minute = 0; minute < 31; ++minute) {
    Fail();
    scheduler_.Advance(minutes(1));
  }
  EXPECT_THAT(posted_, SizeIs(1));
  ASSERT_THAT(patches_, SizeIs(2));
  EXPECT_TRUE(patches_[1].starts_with(R"({"series":{"count":30,)")) << patches_[1];
}

TEST_F(SeriesRecorderTest, AQuietSeriesIsToldOnceMoreAndForgotten) {
  Fail();
  Fail();
  Fail();
  scheduler_.Advance(minutes(13));
  ASSERT_THAT(patches_, SizeIs(2));
  EXPECT_TRUE(patches_[1].starts_with(R"({"series":{"count":3,)")) << patches_[1];
  scheduler_.Advance(minutes(60));
  EXPECT_THAT(patches_, SizeIs(2));
  Fail();
  EXPECT_THAT(posted_, SizeIs(2)) << "a new event";
}

TEST_F(SeriesRecorderTest, ASingleOccurrenceIsForgottenWithoutAWrite) {
  Fail();
  scheduler_.Advance(minutes(13));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
  Fail();
  EXPECT_THAT(posted_, SizeIs(2));
}

TEST_F(SeriesRecorderTest, AnExpiredEventIsCreatedAnewWithItsSeries) {
  Fail();
  stored_.clear();
  Fail();
  ASSERT_THAT(posted_, SizeIs(2));
  EXPECT_EQ(posted_[1].series().count(), 2);
  EXPECT_EQ(posted_[1].metadata().resourceversion(), "7") << "set by the answer";
}

TEST_F(SeriesRecorderTest, AnUnreachableServerIsTriedTwelveTimes) {
  failure_ = testing::RefusedConnection();
  Fail();
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(transport_.requests(), SizeIs(12));
  const Duration pause = transport_.times()[1] - transport_.times()[0];
  EXPECT_GE(pause, seconds(10));
  EXPECT_LE(pause, std::chrono::milliseconds(12500));
}

TEST_F(SeriesRecorderTest, ARejectionIsNotRepeated) {
  rejection_ = 403;
  Fail();
  scheduler_.Advance(minutes(2));
  EXPECT_THAT(transport_.requests(), SizeIs(1));
}

TEST_F(SeriesRecorderTest, AFloodIsDroppedBeyondTheQueue) {
  failure_ = testing::RefusedConnection();
  for (int i = 0; i < 2000; ++i) Fail(StrCat("R", i));
  failure_ = Status();
  scheduler_.Advance(seconds(30));
  EXPECT_LE(posted_.size(), 1001u);
  EXPECT_GE(posted_.size(), 1000u);
}

}  // namespace
}  // namespace csinative::kube
