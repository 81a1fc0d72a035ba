// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/oracle.h"
#include "test/unit/kube/reflector_fixture.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ReflectorTest : public ReflectorFixture {};

TEST_F(ReflectorTest, A1StreamedListNeedsOneRequest) {
  const oracle::Row row("kube-client/24.9/1");
  testing::FakeStream stream = AnswerWatchList({NodeAt("foo", "1")}, "1");
  Start();
  EXPECT_THAT(sink_.current, ElementsAre(Pair("foo", "1")));
  EXPECT_TRUE(reflector_->watching());
  Send(stream, testing::Frame("MODIFIED", NodeAt("foo", "2")));
  Send(stream,
       testing::Frame("ADDED", NodeAt("bar", "3")) + testing::Frame("ADDED", NodeAt("zoo", "6")));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("bar", "3"), Pair("foo", "2"), Pair("zoo", "6")));
  EXPECT_EQ(reflector_->resource_version(), "6");
  EXPECT_THAT(Lines(), ElementsAre(kWatchList));
}

TEST_F(ReflectorTest, A2WithoutStreamingItListsAndWatches) {
  const oracle::Row row("kube-client/24.9/2");
  transport_.Answer(testing::ProtobufList<core::Node>("1", {NodeAt("foo", "1")}));
  transport_.AnswerStream();
  StartWithLists();
  EXPECT_THAT(sink_.current, ElementsAre(Pair("foo", "1")));
  EXPECT_THAT(Lines(), ElementsAre("limit=500&resourceVersion=0", WatchAt("1")));
}

TEST_F(ReflectorTest, A4WithoutTheBookmarkNothingIsSynced) {
  const oracle::Row row("kube-client/24.9/4");
  testing::FakeStream stream = transport_.AnswerStream();
  Start();
  Send(stream, testing::Frame("ADDED", NodeAt("foo", "1")));
  EXPECT_EQ(sink_.replaces, 0);
  EXPECT_EQ(reflector_->resource_version(), "");
}

TEST_F(ReflectorTest, A5BookmarkWithAnotherAnnotationValueIsNotTheEnd) {
  const oracle::Row row("kube-client/24.9/5");
  testing::FakeStream stream = transport_.AnswerStream();
  Start();
  Send(stream, testing::BookmarkFrame<core::Node>("1", "false"));
  EXPECT_EQ(sink_.replaces, 0);
}

TEST_F(ReflectorTest, A6InitialEventsMayChangeObjects) {
  const oracle::Row row("kube-client/24.9/6");
  testing::FakeStream stream = transport_.AnswerStream();
  Start();
  Send(stream, testing::Frame("ADDED", NodeAt("p1", "1")) +
                   testing::Frame("ADDED", NodeAt("p2", "2")) +
                   testing::Frame("MODIFIED", NodeAt("p1", "3")) +
                   testing::Frame("ADDED", NodeAt("p3", "4")) +
                   testing::Frame("DELETED", NodeAt("p3", "5")) +
                   testing::BookmarkFrame<core::Node>("5", "true"));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("p1", "3"), Pair("p2", "2")));
}

TEST_F(ReflectorTest, A7RefusedStreamingFallsBackToAList) {
  const oracle::Row row("kube-client/24.9/7");
  transport_.Answer(testing::ProtobufFailure(422, "Invalid", "sendInitialEvents is forbidden"));
  transport_.Answer(testing::ProtobufList<core::Node>("1", {}));
  transport_.AnswerStream();
  Start();
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, "limit=500&resourceVersion=0", WatchAt("1")));
}

TEST_F(ReflectorTest, A8ThrottledStreamingIsAskedForAgain) {
  const oracle::Row row("kube-client/24.9/8");
  transport_.Answer(testing::ProtobufFailure(429, "TooManyRequests", "later"));
  transport_.Answer(testing::ProtobufFailure(429, "TooManyRequests", "later"));
  AnswerWatchList({}, "1");
  Start();
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, kWatchList, kWatchList));
  EXPECT_TRUE(reflector_->watching());
}

TEST_F(ReflectorTest, A9StreamThatEndsBeforeTheBookmarkStartsOver) {
  const oracle::Row row("kube-client/24.9/9");
  testing::FakeStream first = transport_.AnswerStream();
  AnswerWatchList({NodeAt("bar", "2")}, "2");
  Start();
  Send(first, testing::Frame("ADDED", NodeAt("foo", "1")));
  scheduler_.Advance(seconds(2));
  first.End();
  scheduler_.Settle();
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, kWatchList));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("bar", "2")));
}

TEST_F(ReflectorTest, StreamsThatKeepEndingEarlyAreNotAskedForAtFullSpeed) {
  transport_.AnswerAlways([](const ApiRequest&) {
    return ApiResponse{.code = 200, .body = testing::Frame("ADDED", NodeAt("foo", "1"))};
  });
  Start();
  scheduler_.Advance(seconds(60));
  EXPECT_LT(Lines().size(), 10u);
  EXPECT_EQ(sink_.replaces, 0);
}

TEST_F(ReflectorTest, A10EndedWatchContinuesWhereItStopped) {
  const oracle::Row row("kube-client/24.9/10");
  testing::FakeStream stream = AnswerWatchList({}, "2");
  transport_.AnswerStream();
  Start();
  Send(stream, testing::Frame("ADDED", NodeAt("foo", "3")));
  stream.End();
  scheduler_.Settle();
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("3")));
  EXPECT_EQ(sink_.replaces, 1);
}

TEST_F(ReflectorTest, A11ExpiredWatchListsAgainAfterADelay) {
  const oracle::Row row("kube-client/24.9/11");
  testing::FakeStream stream = AnswerWatchList({}, "2");
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  AnswerWatchList({NodeAt("new", "9")}, "9");
  Start();
  stream.End();
  scheduler_.Settle();
  EXPECT_THAT(Lines(), SizeIs(2));
  scheduler_.Advance(milliseconds(1600));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("2"), WatchListAt("2")));
  EXPECT_GE(transport_.times()[2] - transport_.times()[1], milliseconds(800));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("new", "9")));
  EXPECT_THAT(output_->Records(), IsEmpty()) << "an expired watch is no error";
}

TEST_F(ReflectorTest, A12MissingBookmarkIsMentionedEveryTenSeconds) {
  const oracle::Row row("kube-client/24.9/12");
  testing::FakeStream stream = transport_.AnswerStream();
  Start();
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(output_->Last(), HasSubstr("informer: awaiting required bookmark event for initial "
                                         "events stream, no events received for 10s"));
  Send(stream, testing::Frame("ADDED", NodeAt("p1", "1")));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(output_->Last(),
              HasSubstr("hasn't received required bookmark event marking the end of initial events "
                        "stream, received last event 10s ago"));
}

TEST_F(ReflectorTest, A13ExpiredVersionIsListedWithoutOne) {
  const oracle::Row row("kube-client/24.9/13");
  transport_.Answer(testing::ProtobufList<core::Node>("10", {}));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));  // the watch
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));  // the list
  transport_.Answer(testing::ProtobufList<core::Node>("20", {}));
  transport_.AnswerStream();
  StartWithLists();
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre("limit=500&resourceVersion=0", WatchAt("10"),
                                   "resourceVersion=10", "", WatchAt("20")));
}

TEST_F(ReflectorTest, A13TooLargeVersionOfAStreamIsDropped) {
  const oracle::Row row("kube-client/24.9/13");
  testing::FakeStream stream = AnswerWatchList({}, "20");
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  transport_.Answer(testing::ProtobufFailure(504, "Timeout", "Too large resource version: 20"));
  AnswerWatchList({}, "5");
  Start();
  stream.End();
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("20"), WatchListAt("20"), kWatchList));
}

TEST_F(ReflectorTest, A14PagesAreFollowed) {
  const oracle::Row row("kube-client/24.9/14");
  transport_.Answer(testing::ProtobufList<core::Node>("10", {NodeAt("a", "1")}, "C1"));
  transport_.Answer(testing::ProtobufList<core::Node>("11", {NodeAt("b", "2")}, "C2"));
  transport_.Answer(testing::ProtobufList<core::Node>("12", {NodeAt("c", "3")}));
  transport_.AnswerStream();
  StartWithLists({.page_size = 4});
  EXPECT_THAT(Lines(), ElementsAre("limit=4&resourceVersion=0", "continue=C1&limit=4",
                                   "continue=C2&limit=4", WatchAt("10")));
  EXPECT_THAT(sink_.current, SizeIs(3));
}

TEST_F(ReflectorTest, A13ExpiredPageIsReplacedByOneWholeList) {
  const oracle::Row row("kube-client/24.9/13");
  transport_.Answer(testing::ProtobufList<core::Node>("10", {NodeAt("gone", "1")}, "C1"));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "the continue token is too old"));
  transport_.Answer(testing::ProtobufList<core::Node>("12", {NodeAt("c", "3")}));
  transport_.AnswerStream();
  StartWithLists({.page_size = 4});
  EXPECT_THAT(Lines(), ElementsAre("limit=4&resourceVersion=0", "continue=C1&limit=4",
                                   "resourceVersion=0", WatchAt("12")));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("c", "3")));
}

TEST_F(ReflectorTest, A16PagedFirstListMakesLaterListsPagedToo) {
  const oracle::Row row("kube-client/24.9/16");
  transport_.Answer(testing::ProtobufList<core::Node>("10", {}, "C1"));
  transport_.Answer(testing::ProtobufList<core::Node>("10", {}));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  transport_.Answer(testing::ProtobufList<core::Node>("11", {}));
  transport_.AnswerStream();
  StartWithLists();
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(Lines()[3], "limit=500&resourceVersion=10");
}

// A17: 0.8 s doubled up to 30 s, each times [1, 2); the stream stays wanted, nothing is listed.
TEST_F(ReflectorTest, A17RefusedConnectionBacksOffWithoutAList) {
  const oracle::Row row("kube-client/24.9/17");
  transport_.AnswerAlways([](const ApiRequest&) { return testing::RefusedConnection(); });
  Start();
  scheduler_.Advance(std::chrono::minutes(10));
  const auto& times = transport_.times();
  ASSERT_GT(times.size(), 10u);
  Duration base = milliseconds(800);
  for (size_t i = 1; i < times.size(); ++i) {
    const Duration gap = times[i] - times[i - 1];
    EXPECT_GE(gap, base) << i;
    EXPECT_LT(gap, base * 2) << i;
    base = std::min<Duration>(base * 2, seconds(30));
  }
  for (const std::string& line : Lines()) EXPECT_EQ(line, kWatchList);
  // Upstream says nothing below V(2) (common 6); here it is told, but not each time.
  const auto records = output_->Records();
  ASSERT_FALSE(records.empty());
  EXPECT_LE(records.size(), 10u);
  for (const std::string& record : records) {
    EXPECT_THAT(record, HasSubstr("cannot watch *v1.Node, retrying"));
    EXPECT_THAT(record, HasSubstr("connection refused"));
  }
}

TEST_F(ReflectorTest, A18ThrottledWatchIsOpenedAgainWithoutAList) {
  const oracle::Row row("kube-client/24.9/18");
  testing::FakeStream stream = AnswerWatchList({}, "5");
  for (int i = 0; i < 4; ++i) {
    transport_.Answer(testing::ProtobufFailure(429, "TooManyRequests", "later"));
  }
  transport_.AnswerStream();
  Start();
  stream.End();
  scheduler_.Advance(std::chrono::minutes(1));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("5"), WatchAt("5"), WatchAt("5"),
                                   WatchAt("5"), WatchAt("5")));
  EXPECT_EQ(sink_.replaces, 1);
}

TEST_F(ReflectorTest, A18ThrottlingInsideTheStreamIsTheSame) {
  const oracle::Row row("kube-client/24.9/18");
  testing::FakeStream stream = AnswerWatchList({}, "5");
  transport_.AnswerStream();
  Start();
  Send(stream, testing::ErrorFrame(testing::FailureStatus(429, "TooManyRequests", "later")));
  EXPECT_THAT(Lines(), SizeIs(1));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("5")));
}

TEST_F(ReflectorTest, A21BookmarksMoveTheVersion) {
  const oracle::Row row("kube-client/24.9/21");
  testing::FakeStream stream = AnswerWatchList({}, "5");
  Start();
  Send(stream, testing::BookmarkFrame<core::Node>("30"));
  EXPECT_EQ(reflector_->resource_version(), "30");
  Send(stream, testing::Frame("DELETED", NodeAt("x", "40")));
  EXPECT_EQ(reflector_->resource_version(), "40");
}

TEST_F(ReflectorTest, A22ObjectsOfAnotherTypeAreReportedAndIgnored) {
  const oracle::Row row("kube-client/24.9/22");
  testing::FakeStream stream = AnswerWatchList({NodeAt("foo", "1")}, "5");
  Start();
  Send(stream, testing::Frame("ADDED", core::Pod()) +
                   testing::Frame("DELETED", NodeAt("foo", "6")) +
                   testing::Frame("MODIFIED", NodeAt("bar", "55")) +
                   testing::Frame("ADDED", NodeAt("baz", "32")));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("bar", "55"), Pair("baz", "32")));
  EXPECT_EQ(reflector_->resource_version(), "32");
  EXPECT_THAT(output_->Last(), HasSubstr("Unexpected watch event object type"));
}

TEST_F(ReflectorTest, A24WatchThatEndsAtOnceListsAgainAfterADelay) {
  const oracle::Row row("kube-client/24.9/24");
  testing::FakeStream first = AnswerWatchList({}, "5");
  testing::FakeStream empty = transport_.AnswerStream();
  AnswerWatchList({}, "6");
  Start();
  empty.End();
  first.End();
  scheduler_.Settle();
  EXPECT_THAT(output_->Last(), HasSubstr("Warning: watch ended with error"));
  EXPECT_THAT(output_->Last(), HasSubstr("very short watch"));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("5"), WatchListAt("5")));
}

TEST_F(ReflectorTest, A25ErrorEventClosesTheStream) {
  const oracle::Row row("kube-client/24.9/25");
  testing::FakeStream stream = AnswerWatchList({}, "5");
  Start();
  EXPECT_FALSE(stream.closed());
  Send(stream, testing::ErrorFrame(testing::FailureStatus(410, "Expired", "too old")));
  EXPECT_TRUE(stream.closed());
}

TEST_F(ReflectorTest, A26UnreadableObjectIsRemovedByTheRelist) {
  const oracle::Row row("kube-client/24.9/26");
  testing::FakeStream stream = AnswerWatchList({NodeAt("foo", "4"), NodeAt("ok", "3")}, "4");
  AnswerWatchList({NodeAt("ok", "3")}, "5");
  Start();
  Send(stream, testing::ErrorFrame(testing::FailureStatus(500, "StorageReadError", "corrupt")));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("ok", "3")));
  EXPECT_EQ(reflector_->resource_version(), "5");
}

TEST_F(ReflectorTest, A29ListFailureIsLoggedWithItsType) {
  const oracle::Row row("kube-client/24.9/29");
  transport_.Answer(testing::ProtobufFailure(403, "Forbidden", "nodes is forbidden"));
  StartWithLists();
  EXPECT_THAT(output_->Last(), HasSubstr("\"Failed to watch\" err=\"failed to list *v1.Node: nodes "
                                         "is forbidden\" logger=\"UnhandledError\""));
  EXPECT_THAT(output_->Last(), HasSubstr("type=\"*v1.Node\""));
}

// kube-client 22: only `watch` is missing.
TEST_F(ReflectorTest, ForbiddenWatchFallsBackToPolling) {
  transport_.AnswerAlways([](const ApiRequest& request) {
    for (const auto& [key, value] : request.query) {
      if (key == "watch") return testing::ProtobufFailure(403, "Forbidden", "cannot watch");
    }
    return testing::ProtobufList<core::Node>("1", {NodeAt("foo", "1")});
  });
  Start();
  EXPECT_THAT(sink_.current, ElementsAre(Pair("foo", "1")));
  scheduler_.Advance(seconds(30));
  EXPECT_GE(sink_.replaces, 3);
}

TEST_F(ReflectorTest, UndecodableEventListsAgain) {
  testing::FakeStream stream = AnswerWatchList({}, "5");
  AnswerWatchList({}, "6");
  Start();
  Send(stream, testing::Frame("STRANGE", NodeAt("x", "6")));
  EXPECT_THAT(output_->Last(), HasSubstr("unable to decode an event from the watch stream"));
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(sink_.replaces, 2);
}

TEST_F(ReflectorTest, BrokenStreamContinuesAtOnce) {
  testing::FakeStream stream = AnswerWatchList({}, "5");
  transport_.AnswerStream();
  Start();
  stream.Fail(testing::BrokenConnection("connection reset by peer"));
  scheduler_.Settle();
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("5")));
  EXPECT_THAT(output_->Records(), IsEmpty());
}

TEST_F(ReflectorTest, FrameCutByTheEndContinuesAtTheLastWholeOne) {
  testing::FakeStream stream = AnswerWatchList({}, "5");
  transport_.AnswerStream();
  Start({}, 1);
  const std::string frame = testing::Frame("ADDED", NodeAt("foo", "6"));
  Send(stream, frame + frame.substr(0, 9));
  stream.End();
  scheduler_.Settle();
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("6")));
  EXPECT_THAT(output_->Last(), HasSubstr("unexpected EOF"));
}

// A peer that is there but forwards nothing.
TEST_F(ReflectorTest, SilentWatchIsReplacedAfterNinetySeconds) {
  testing::FakeStream stream = AnswerWatchList({}, "5");
  transport_.AnswerStream();
  Start();
  scheduler_.Advance(seconds(60));
  Send(stream, testing::BookmarkFrame<core::Node>("7"));
  scheduler_.Advance(seconds(89));
  EXPECT_THAT(Lines(), SizeIs(1));
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchAt("7")));
  EXPECT_TRUE(stream.closed());
  EXPECT_EQ(sink_.replaces, 1);
}

TEST_F(ReflectorTest, ListThatBreaksOffIsRepeatedAfterADelay) {
  ApiResponse cut = testing::ProtobufList<core::Node>("10", {NodeAt("a", "1"), NodeAt("b", "2")});
  cut.body.resize(cut.body.size() - 20);
  transport_.Answer(std::move(cut));
  transport_.Answer(testing::ProtobufList<core::Node>("11", {NodeAt("a", "1")}));
  transport_.AnswerStream();
  StartWithLists();
  EXPECT_THAT(sink_.current, IsEmpty());
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("a", "1")));
}

// kube-client 9.1: a proxy between answers a list with its own failure, as JSON and with code 200.
TEST_F(ReflectorTest, AnotherObjectInPlaceOfAListIsNoEmptyList) {
  transport_.Answer(testing::ProtobufList<core::Node>("10", {NodeAt("a", "1")}));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  transport_.Answer(testing::JsonAnswer(
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":503})"));
  transport_.Answer(testing::ProtobufList<core::Node>("11", {NodeAt("b", "2")}));
  transport_.AnswerStream();
  StartWithLists();
  scheduler_.Advance(milliseconds(1600));
  ASSERT_THAT(transport_.requests(), SizeIs(3));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("a", "1")));
  EXPECT_THAT(output_->Last(), HasSubstr("unexpected object in answer to a list: Status"));
  scheduler_.Advance(seconds(4));
  EXPECT_THAT(sink_.current, ElementsAre(Pair("b", "2")));
}

TEST_F(ReflectorTest, VersionsThatNeverSuitAreNotAskedForAtFullSpeed) {
  transport_.AnswerAlways(
      [](const ApiRequest&) { return testing::ProtobufFailure(410, "Expired", "too old"); });
  Start();
  scheduler_.Advance(seconds(10));
  EXPECT_LT(transport_.requests().size(), 10u);
  EXPECT_GT(transport_.requests().size(), 3u);
}

TEST_F(ReflectorTest, FirstListWhosePagesExpiredStillMakesLaterListsPaged) {
  transport_.Answer(testing::ProtobufList<core::Node>("10", {}, "C1"));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "the continue token is too old"));
  transport_.Answer(testing::ProtobufList<core::Node>("12", {}));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  transport_.Answer(testing::ProtobufList<core::Node>("13", {}));
  transport_.AnswerStream();
  StartWithLists();
  scheduler_.Advance(seconds(2));
  ASSERT_GE(Lines().size(), 5u);
  EXPECT_EQ(Lines()[4], "limit=500&resourceVersion=12");
}

TEST_F(ReflectorTest, StreamingIsNotTriedAgainSoonOnAServerThatRejectsIt) {
  transport_.Answer(testing::ProtobufFailure(422, "Invalid", "forbidden"));
  transport_.Answer(testing::ProtobufList<core::Node>("1", {}));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  transport_.Answer(testing::ProtobufList<core::Node>("2", {}));
  transport_.AnswerStream();
  Start();
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, "limit=500&resourceVersion=0", WatchAt("1"),
                                   "resourceVersion=1", WatchAt("2")));
}

TEST_F(ReflectorTest, SelectorsAreInEveryRequest) {
  transport_.Answer(testing::ProtobufFailure(422, "Invalid", "forbidden"));
  transport_.Answer(testing::ProtobufList<core::Node>("1", {}));
  transport_.AnswerStream();
  Start({.label_selector = "a=b", .field_selector = "metadata.name=x"});
  ASSERT_THAT(Lines(), SizeIs(3));
  for (const std::string& line : Lines()) {
    EXPECT_THAT(line, HasSubstr("fieldSelector=metadata.name=x&labelSelector=a=b"));
  }
}

TEST_F(ReflectorTest, ActivityIsWhenBytesCame) {
  testing::FakeStream stream = AnswerWatchList({}, "5");
  Start();
  const MonotonicTime first = *reflector_->last_activity();
  EXPECT_EQ(first, scheduler_.Now());
  scheduler_.Advance(seconds(30));
  EXPECT_EQ(reflector_->last_activity(), first);
  Send(stream, testing::BookmarkFrame<core::Node>("7"));
  EXPECT_EQ(reflector_->last_activity(), scheduler_.Now());
}

// A23: everywhere it can be when it is told to stop. The destructor checks that it does.
TEST_F(ReflectorTest, A23StopsWhileOpening) {
  const oracle::Row row("kube-client/24.9/23");
  transport_.Hang();
  Start();
}
TEST_F(ReflectorTest, A23StopsWhileCollecting) {
  const oracle::Row row("kube-client/24.9/23");
  transport_.AnswerStream();
  Start();
}
TEST_F(ReflectorTest, A23StopsWhileWatching) {
  const oracle::Row row("kube-client/24.9/23");
  AnswerWatchList({}, "1");
  Start();
}
TEST_F(ReflectorTest, A23StopsWhileWaiting) {
  const oracle::Row row("kube-client/24.9/23");
  transport_.Fail(testing::RefusedConnection());
  Start();
}
TEST_F(ReflectorTest, A23StopsWhileListing) {
  const oracle::Row row("kube-client/24.9/23");
  transport_.AnswerStream();
  StartWithLists();
}

}  // namespace
}  // namespace csinative::kube
