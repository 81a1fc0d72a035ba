// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.8 and 24.9: pages of lists, and those rows of list and watch that are tables of
// their own. The others are in reflector_test.cc, their number in each test's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/support/oracle.h"
#include "test/unit/kube/reflector_fixture.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Requests = std::vector<std::string>;

std::vector<core::Node> Nodes(int first, int last) {
  std::vector<core::Node> nodes;
  for (int i = first; i <= last; ++i) nodes.push_back(NodeAt(StrCat("n", 100 + i), StrCat(i)));
  return nodes;
}

class PagerOracle : public ReflectorFixture {
 protected:
  // Answers a list of `count` items in pages of ten, then a watch.
  void AnswerPages(int count) {
    for (int first = 1, page = 1; first <= std::max(count, 1); first += 10, ++page) {
      const int last = std::min(first + 9, count);
      transport_.Answer(testing::ProtobufList<core::Node>(StrCat("rv:", page), Nodes(first, last),
                                                          last < count ? StrCat("C", page) : ""));
    }
    transport_.AnswerStream();
  }
};

struct PageEntry {
  const char* row;
  int items;
  Requests lists;
};

class PagesOracle : public PagerOracle, public ::testing::WithParamInterface<PageEntry> {};

TEST_P(PagesOracle, AreFollowed) {
  const oracle::Row row(GetParam().row);
  AnswerPages(GetParam().items);
  StartWithLists({.page_size = 10});
  Requests expected = GetParam().lists;
  expected.push_back(WatchAt("rv:1"));  // the version is the first page's
  EXPECT_EQ(Lines(), expected);
  EXPECT_THAT(sink_.current, SizeIs(GetParam().items));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PagesOracle,
    ::testing::Values(
        PageEntry{"kube-client/24.8/1", 0, {"limit=10&resourceVersion=0"}},
        PageEntry{"kube-client/24.8/1", 9, {"limit=10&resourceVersion=0"}},
        PageEntry{"kube-client/24.8/1", 10, {"limit=10&resourceVersion=0"}},
        PageEntry{"kube-client/24.8/2", 11, {"limit=10&resourceVersion=0", "continue=C1&limit=10"}},
        PageEntry{"kube-client/24.8/2",
                  21,
                  {"limit=10&resourceVersion=0", "continue=C1&limit=10", "continue=C2&limit=10"}}),
    [](const auto& info) { return StrCat(info.param.items, "Items"); });

TEST_F(PagerOracle, ExpiresOnTheSecondPage) {
  // Without a full list in its place nobody goes through pages here.
  const oracle::Row row("kube-client/24.8/3");
  transport_.Answer(testing::ProtobufList<core::Node>("rv:1", Nodes(1, 10), "C1"));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "the continue token is too old"));
  transport_.Answer(testing::ProtobufList<core::Node>("rv:2", Nodes(1, 21)));
  transport_.AnswerStream();
  StartWithLists({.page_size = 10});
  EXPECT_THAT(sink_.current, SizeIs(21));
  EXPECT_EQ(reflector_->resource_version(), "rv:2");
}

TEST_F(PagerOracle, VersionOfTheCaller) {
  // The match is only for streamed lists here.
  const oracle::Row row("kube-client/24.8/4");
  transport_.Answer(testing::ProtobufList<core::Node>("rv:10", {}));
  transport_.Answer(testing::ProtobufFailure(403, "Forbidden", "no watch"));
  transport_.Answer(testing::ProtobufList<core::Node>("rv:11", Nodes(1, 10), "C1"));
  transport_.Answer(testing::ProtobufList<core::Node>("rv:12", Nodes(11, 11)));
  transport_.AnswerStream();
  StartWithLists({.page_size = 10});
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre("limit=10&resourceVersion=0", WatchAt("rv:10"),
                                   "limit=10&resourceVersion=rv:10", "continue=C1&limit=10",
                                   WatchAt("rv:11")));
}

TEST_F(PagerOracle, FailingConsumer) {
  {
    const oracle::Row row("kube-client/24.8/5");
    sink_.fail_stage_at = 12;
    AnswerPages(21);
    StartWithLists({.page_size = 10});
    EXPECT_THAT(output_->Last(), HasSubstr("the sink is full"));
    EXPECT_THAT(Lines(), SizeIs(2)) << "the third page is not asked for";
    EXPECT_EQ(sink_.replaces, 0);
  }
}

TEST_F(PagerOracle, CancelledConsumer) {
  const oracle::Row row("kube-client/24.8/5");
  transport_.Answer(testing::ProtobufList<core::Node>("rv:1", Nodes(1, 10), "C1"));
  transport_.Hang();
  StartWithLists({.page_size = 10});
  EXPECT_EQ(sink_.staged_calls, 10);
  scope_.Cancel();
  scheduler_.Settle();
  EXPECT_TRUE(scope_.empty());
  EXPECT_EQ(sink_.replaces, 0);
}

// --- list and watch ------------------------------------------------------------------------------

class ReflectorOracle : public ReflectorFixture {
 protected:
  // The versions that lists asked for, "" for none.
  std::vector<std::string> ListVersions() const {
    std::vector<std::string> versions;
    for (const ApiRequest& request : transport_.requests()) {
      std::string version;
      bool watch = false;
      for (const auto& [key, value] : request.query) {
        watch = watch || key == "watch";
        if (key == "resourceVersion") version = value;
      }
      if (!watch) versions.push_back(version);
    }
    return versions;
  }
  void AnswerListThenEndedWatch(const std::string& version) {
    transport_.Answer(testing::ProtobufList<core::Node>(version, {}));
    transport_.Answer(testing::ProtobufFailure(403, "Forbidden", "lists again"));
  }
};

struct GateEntry {
  const char* name;
  bool option;
  bool client;
  bool used;
};

class WatchListGateOracle : public ReflectorFixture,
                            public ::testing::WithParamInterface<GateEntry> {};

TEST_P(WatchListGateOracle, DecidesOnStreaming) {
  const oracle::Row row("kube-client/24.9/3");
  transport_.AnswerStream();
  Start({.watch_list = GetParam().option}, 0, {.qps = -1, .watch_list = GetParam().client});
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_EQ(Lines()[0] == kWatchList, GetParam().used);
}

INSTANTIATE_TEST_SUITE_P(Rows, WatchListGateOracle,
                         ::testing::Values(GateEntry{"off", false, true, false},
                                           GateEntry{"unsupported", true, false, false},
                                           GateEntry{"unknown", true, true, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(ReflectorOracle, VersionsOverRelists) {
  const oracle::Row row("kube-client/24.9/13");
  AnswerListThenEndedWatch("10");
  AnswerListThenEndedWatch("10");
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  AnswerListThenEndedWatch("11");
  StartWithLists();
  scheduler_.Advance(seconds(30));
  EXPECT_THAT(ListVersions(), ElementsAre("0", "10", "10", "", "11"));
}

TEST_F(ReflectorOracle, VersionsWhenAPageExpired) {
  const oracle::Row row("kube-client/24.9/13");
  AnswerListThenEndedWatch("10");
  transport_.Answer(testing::ProtobufList<core::Node>("11", Nodes(1, 4), "C1"));
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  AnswerListThenEndedWatch("12");
  StartWithLists({.page_size = 4});
  scheduler_.Advance(seconds(30));
  // A later page has no version; the full list in its place has the first page's.
  EXPECT_THAT(ListVersions(), ElementsAre("0", "10", "", "10", "12"));
}

struct DialectEntry {
  const char* name;
  meta::Status (*failure)();
};

class TooLargeOracle : public ReflectorOracle,
                       public ::testing::WithParamInterface<DialectEntry> {};

TEST_P(TooLargeOracle, VersionIsLeftOut) {
  const oracle::Row row("kube-client/24.9/13");
  const meta::Status failure = GetParam().failure();
  AnswerListThenEndedWatch("20");
  transport_.Answer({.code = failure.code(),
                     .content_type = std::string(testing::kProtobuf),
                     .body = apis::Wrap("v1", "Status", failure)});
  AnswerListThenEndedWatch("30");
  StartWithLists();
  scheduler_.Advance(seconds(30));
  EXPECT_THAT(ListVersions(), ElementsAre("0", "20", "", "30"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TooLargeOracle,
    ::testing::Values(DialectEntry{"cause",
                                   [] {
                                     meta::Status status =
                                         testing::FailureStatus(504, "Timeout", "m");
                                     status.mutable_details()->add_causes()->set_reason(
                                         "ResourceVersionTooLarge");
                                     return status;
                                   }},
                      DialectEntry{"cause_message",
                                   [] {
                                     meta::Status status =
                                         testing::FailureStatus(504, "Timeout", "m");
                                     status.mutable_details()->add_causes()->set_message(
                                         "Too large resource version");
                                     return status;
                                   }},
                      DialectEntry{"message",
                                   [] {
                                     return testing::FailureStatus(
                                         504, "Timeout",
                                         "Too large resource version: 40, current: 20");
                                   }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(ReflectorOracle, RelistWithoutAPageSizeIsWhole) {
  const oracle::Row row("kube-client/24.9/15");
  AnswerListThenEndedWatch("10");
  transport_.Answer(testing::ProtobufList<core::Node>("11", Nodes(1, 10)));
  transport_.AnswerStream();
  StartWithLists();
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(Lines()[2], "resourceVersion=10");
}

TEST_F(ReflectorOracle, BackoffOfAnotherSize) {
  const oracle::Row row("kube-client/24.9/17");
  for (int i = 0; i < 5; ++i) transport_.Fail(testing::RefusedConnection());
  AnswerWatchList({}, "1");
  Start({.backoff = {.base = milliseconds(10), .cap = milliseconds(100), .jitter = 0}});
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(transport_.times(), SizeIs(6));
  EXPECT_EQ(transport_.times()[5] - transport_.times()[0], milliseconds(10 + 20 + 40 + 80 + 100));
}

TEST_F(ReflectorOracle, InternalErrorOfAWatchListsAgain) {
  // The window in which such a watch would be opened again without a list is zero, always.
  const oracle::Row row("kube-client/24.9/19");
  testing::FakeStream stream = AnswerWatchList({}, "5");
  AnswerWatchList({}, "6");
  Start();
  Send(stream, testing::ErrorFrame(testing::FailureStatus(500, "InternalError", "oops")));
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(Lines(), ElementsAre(kWatchList, WatchListAt("5")));
  EXPECT_EQ(sink_.replaces, 2);
}

TEST_F(ReflectorOracle, TimeoutsOfWatchesAreSpread) {
  // The minimum cannot be set.
  const oracle::Row row("kube-client/24.9/20");
  AnswerWatchList({}, "1");
  Start();
  for (int i = 0; i < 200; ++i) transport_.AnswerStream().Fail(testing::BrokenConnection());
  // Lines() checks that each is at least 300 and below 600.
  scheduler_.Advance(std::chrono::hours(1));
  EXPECT_THAT(Lines(), SizeIs(::testing::Ge(20u)));
}

TEST_F(ReflectorOracle, TypesInTheLog) {
  struct Entry {
    const ResourceInfo& resource;
    const char* text;
  };
  // Untyped reflectors do not exist.
  const Entry kEntries[] = {{ResourceOf<core::Pod>(), "*v1.Pod"},
                            {ResourceOf<core::PersistentVolume>(), "*v1.PersistentVolume"}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.9/30");
    EXPECT_EQ(entry.resource.TypeText(), entry.text);
  }
}

}  // namespace
}  // namespace csinative::kube
