// SPDX-License-Identifier: Apache-2.0
#include "apis/envelope.h"
#include "apis/k8s.h"
#include "test/unit/apiserver/handler_fixture.h"

namespace csinative::apiserver {
namespace {

constexpr char kMaps[] = "/api/v1/namespaces/default/configmaps";

class ApiWatchTest : public HandlerTest {
 protected:
  // "ADDED a" for each event so far, one a line; bookmarks as "BOOKMARK" or "BOOKMARK end".
  static std::string Events(const Exchange& exchange) {
    std::string out;
    for (std::string_view line : Split(exchange->body, '\n')) {
      if (line.empty()) continue;
      JsonDocument event = *ParseJson(line);
      std::string_view type = TextAt(event, "type");
      out += StrCat(out.empty() ? "" : "\n", type);
      if (type == "BOOKMARK") {
        const Json* annotations = Find(event, "object", "metadata", "annotations");
        if (Text(Find(annotations, "k8s.io/initial-events-end")) == "true") out += " end";
      } else if (type == "ERROR") {
        out += StrCat(" ", TextAt(event, "object", "reason"));
      } else {
        out += StrCat(" ", TextAt(event, "object", "metadata", "name"));
      }
    }
    return out;
  }
  std::string Now() { return std::to_string(api_.store().resource_version()); }
};

TEST_F(ApiWatchTest, StartsWithWhatThereIs) {
  CreateConfigMap("a");
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true"));
  EXPECT_EQ(watch->headers.Get("Content-Type"), "application/json");
  CreateConfigMap("b");
  EXPECT_EQ(Events(watch), "ADDED a\nADDED b");
}

TEST_F(ApiWatchTest, VersionSkipsWhatIsOlder) {
  CreateConfigMap("a");
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true&resourceVersion=", Now()));
  EXPECT_EQ(Events(watch), "");
  Do("DELETE", StrCat(kMaps, "/a"));
  EXPECT_EQ(Events(watch), "DELETED a");
}

TEST_F(ApiWatchTest, SelectorTurnsChangesIntoComingAndGoing) {
  CreateConfigMap("a", "no");
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true&labelSelector=l%3Dyes"));
  auto label = [&](std::string_view value) {
    Do("PATCH", StrCat(kMaps, "/a"), StrCat(R"({"metadata":{"labels":{"l":")", value, R"("}}})"),
       "application/merge-patch+json");
  };
  label("yes");
  Do("PATCH", StrCat(kMaps, "/a"), R"({"data":{"k":"v"}})", "application/merge-patch+json");
  label("no");
  Do("DELETE", StrCat(kMaps, "/a"));
  EXPECT_EQ(Events(watch), "ADDED a\nMODIFIED a\nDELETED a");
}

TEST_F(ApiWatchTest, InitialEventsEndWithABookmark) {
  CreateConfigMap("a");
  Exchange watch =
      Start("GET", StrCat(kMaps, "?watch=true&sendInitialEvents=true&",
                          "resourceVersionMatch=NotOlderThan&", "allowWatchBookmarks=true"));
  EXPECT_EQ(Events(watch), "ADDED a\nBOOKMARK end");
}

TEST_F(ApiWatchTest, BookmarksComeWhileNothingHappens) {
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true&allowWatchBookmarks=true"));
  scheduler_.Advance(std::chrono::seconds(121));
  EXPECT_EQ(Events(watch), "BOOKMARK\nBOOKMARK");
}

TEST_F(ApiWatchTest, EndsAtItsTimeLimit) {
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true&timeoutSeconds=5"));
  scheduler_.Advance(std::chrono::seconds(4));
  EXPECT_FALSE(watch->ended);
  scheduler_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(watch->ended);
  EXPECT_FALSE(watch->aborted);
}

TEST_F(ApiWatchTest, VersionBeforeCompactionIsExpired) {
  std::string old = Now();
  CreateConfigMap("a");
  api_.Compact();
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true&resourceVersion=", old));
  EXPECT_EQ(Events(watch), "ERROR Expired");
  EXPECT_TRUE(watch->ended);
}

TEST_F(ApiWatchTest, OpenWatchSurvivesCompaction) {
  Exchange watch = Start("GET", StrCat(kMaps, "?watch=true"));
  CreateConfigMap("a");
  api_.Compact();
  CreateConfigMap("b");
  EXPECT_EQ(Events(watch), "ADDED a\nADDED b");
}

TEST_F(ApiWatchTest, CutWatchesBreakAndEndedOnesDoNot) {
  Exchange cut = Start("GET", StrCat(kMaps, "?watch=true"));
  EXPECT_EQ(api_.open_watches(), 1u);
  api_.CutWatches();
  scheduler_.Settle();
  EXPECT_TRUE(cut->ended);
  EXPECT_TRUE(cut->aborted);
  Exchange ended = Start("GET", StrCat(kMaps, "?watch=true"));
  api_.EndWatches();
  scheduler_.Settle();
  EXPECT_TRUE(ended->ended);
  EXPECT_FALSE(ended->aborted);
  EXPECT_EQ(api_.open_watches(), 0u);
}

TEST_F(ApiWatchTest, ProtobufStreamIsFramed) {
  CreateConfigMap("a");
  Exchange watch =
      Start("GET", StrCat(kMaps, "?watch=true"), "", "", "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(watch->headers.Get("Content-Type"), apis::kProtobufWatchContentType);
  apis::WatchFrameReader reader;
  reader.Feed(watch->body);
  Result<std::optional<apis::WatchFrame>> frame = reader.Next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->type, "ADDED");
  core::ConfigMap map;
  ASSERT_TRUE(apis::UnwrapInto((*frame)->object, &map).ok());
  EXPECT_EQ(map.metadata().name(), "a");
}

}  // namespace
}  // namespace csinative::apiserver
