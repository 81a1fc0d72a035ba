// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.13: what is written of recorded events. Keys and sinks cannot be replaced here, so
// rows that do that are held to the parts that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/base/strings.h"
#include "lib/kube/event_correlator.h"
#include "lib/kube/event_recorder.h"
#include "test/support/oracle.h"
#include "test/unit/kube/fake_lease_client.h"

namespace csinative::kube {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

ObjectReference Pod(const std::string& name = "foo", const std::string& uid = "bar") {
  return {"v1", "Pod", "baz", name, uid, "1", "spec.containers[2]"};
}

class EventOracle : public ::testing::Test {
 protected:
  ~EventOracle() override { loop_.Discard(); }
  void Restart() {
    if (scope_ != nullptr) scope_->Cancel();
    scheduler_.Settle();
    broadcaster_ =
        std::make_unique<EventBroadcaster>(loop_, *random_, client_, log::NewLogger(output_));
    scope_ = std::make_unique<async::Scope>(loop_);
    scope_->Spawn(broadcaster_->Run());
    recorder_.emplace(*broadcaster_, "eventTest");
    client_.calls.clear();
    client_.posted.clear();
  }
  EventOracle() { Restart(); }
  void Record(const ObjectReference& about,
              const std::string& message = "some verbose message: 1") {
    recorder_->Record(about, EventType::kNormal, "Started", message);
    scheduler_.Settle();
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(3);
  FakeLeaseServer server_;
  FakeLeaseClient client_{&server_};
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::unique_ptr<EventBroadcaster> broadcaster_;
  std::optional<EventRecorder> recorder_;
  std::unique_ptr<async::Scope> scope_;
};

TEST_F(EventOracle, FirstAndRepeatedEvents) {
  {
    const oracle::Row row("kube-client/24.13/1");
    Record(Pod());
    ASSERT_THAT(client_.posted, SizeIs(1));
    const core::Event& event = client_.posted[0];
    EXPECT_THAT(event.metadata().name(), ::testing::MatchesRegex("foo\\.[0-9a-f]+"));
    EXPECT_EQ(event.metadata().namespace_(), "baz");
    EXPECT_EQ(event.involvedobject().uid(), "bar");
    EXPECT_EQ(event.involvedobject().fieldpath(), "spec.containers[2]");
    EXPECT_EQ(event.reason(), "Started");
    EXPECT_EQ(event.count(), 1);
    EXPECT_EQ(event.type(), "Normal");
    EXPECT_EQ(event.reportingcomponent(), "eventTest");
    EXPECT_THAT(
        output_->Records()[0],
        HasSubstr("\"Event occurred\" object=\"baz/foo\" "
                  "fieldPath=\"spec.containers[2]\" kind=\"Pod\" apiVersion=\"v1\" "
                  "type=\"Normal\" reason=\"Started\" message=\"some verbose message: 1\""));
  }
  {
    const oracle::Row row("kube-client/24.13/2");
    Record(Pod());
    EXPECT_THAT(client_.calls.back(), HasSubstr("\"count\":2"));
    Record(Pod(), "another");
    EXPECT_EQ(client_.calls.back(), "POST event");
    Record(Pod());
    EXPECT_THAT(client_.calls.back(), HasSubstr("\"count\":3"));
    Record(Pod("foo", "differentUid"));
    EXPECT_EQ(client_.calls.back(), "POST event");
    EXPECT_EQ(client_.posted.back().count(), 1);
  }
  {
    const oracle::Row row("kube-client/24.13/3");
    Record({"v1", "PersistentVolume", "", "pv", "uid", "1"});
    EXPECT_EQ(client_.posted.back().metadata().namespace_(), "default");
    EXPECT_EQ(client_.posted.back().involvedobject().namespace_(), "");
  }
  {
    const oracle::Row row("kube-client/24.13/4");
    Restart();
    Record(Pod());
    EXPECT_THAT(client_.calls, ElementsAre("POST event"));
  }
  {
    const oracle::Row row("kube-client/24.13/6");
    server_.events.clear();
    Record(Pod());
    ASSERT_THAT(client_.calls, SizeIs(3));
    EXPECT_THAT(client_.calls[1], StartsWith("PATCH event"));
    EXPECT_EQ(client_.calls[2], "POST event");
    EXPECT_EQ(client_.posted.back().metadata().resourceversion(), "");
    EXPECT_EQ(client_.posted.back().count(), 2);
  }
  {
    const oracle::Row row("kube-client/24.13/16");
    Record({"v1", "Pod", "baz", "Not_A_Name", "u", "1"});
    EXPECT_THAT(client_.posted.back().metadata().name(),
                ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4.*"));
  }
}

TEST_F(EventOracle, WriteErrors) {
  struct Entry {
    const char* name;
    Status failure;
    int times;
    size_t attempts;
  };
  const Entry kEntries[] = {{"construction", InvalidArgumentError("an empty namespace"), 1000, 1},
                            {"status", ApiFailure(403, "Forbidden", "no"), 1000, 1},
                            {"unexpected object", UnknownError("unexpected object: Pod"), 1000, 12},
                            {"plain", UnavailableError("A weird error"), 1000, 12},
                            {"plain once", UnavailableError("A weird error"), 1, 2}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.13/5");
    Restart();
    int left = entry.times;
    client_.fail_call = [&](const std::string&) { return left-- > 0 ? entry.failure : Status(); };
    Record(Pod());
    scheduler_.Advance(minutes(10));
    EXPECT_THAT(client_.calls, SizeIs(entry.attempts)) << entry.name;
    client_.fail_call = nullptr;
  }
  {
    const oracle::Row row("kube-client/24.13/7");
    Restart();
    client_.failure = UnavailableError("down");
    client_.delay = seconds(1);
    Record(Pod());
    client_.delay = Duration::zero();
    scope_->Cancel();
    scheduler_.Advance(minutes(10));
    EXPECT_THAT(client_.calls, SizeIs(1));
    EXPECT_TRUE(scope_->empty());
    client_.failure = Status();
  }
  {
    const oracle::Row row("kube-client/24.13/8");
    Restart();
    server_.events.clear();
    int calls = 0;
    client_.fail_call = [&](const std::string&) {
      return ++calls % 5 == 0 ? Status() : UnavailableError("down");
    };
    for (int i = 0; i < 1000; ++i) {
      recorder_->Record(Pod(StrCat("pod-", i)), EventType::kNormal, "Started", "m");
    }
    scheduler_.Advance(hours(24));
    EXPECT_THAT(server_.events, SizeIs(1000));
    client_.fail_call = nullptr;
  }
}

// --- correlation ---------------------------------------------------------------------------------

struct Like {
  std::string object = "pod";
  std::string message = "message";
  std::string reason = "reason";
  std::string field_path = {};
};

core::Event Make(const Like& like) {
  core::Event event;
  event.mutable_metadata()->set_name("e");
  event.mutable_involvedobject()->set_kind("Pod");
  event.mutable_involvedobject()->set_name(like.object);
  if (!like.field_path.empty()) event.mutable_involvedobject()->set_fieldpath(like.field_path);
  event.set_reason(like.reason);
  event.set_message(like.message);
  event.set_type("Normal");
  event.set_count(1);
  return event;
}

std::vector<Like> Same(int count) { return std::vector<Like>(static_cast<size_t>(count)); }
std::vector<Like> Similar(int count) {
  std::vector<Like> events;
  for (int i = 0; i < count; ++i) events.push_back({.message = StrCat("message ", i)});
  return events;
}
std::vector<Like> Unique(int count) {
  std::vector<Like> events;
  for (int i = 0; i < count; ++i) events.push_back({.object = StrCat("pod-", i)});
  return events;
}

struct CorrelationEntry {
  const char* row;
  std::vector<Like> before;
  Duration pause;  // before each event
  Like last;
  int count;  // 0: the filter keeps it
  const char* prefix;
};

TEST(CorrelationOracle, LastEvent) {
  const char* const kCombined = "(combined from similar events): ";
  const Like kNew{.message = "the new one"};
  const CorrelationEntry kEntries[] = {
      {"kube-client/24.13/9", {}, seconds(5), {}, 1, ""},
      {"kube-client/24.13/9", Same(1), seconds(5), {}, 2, ""},
      {"kube-client/24.13/9", Same(10), seconds(30), {}, 11, ""},
      {"kube-client/24.13/10", Same(26), seconds(1), {}, 0, ""},
      {"kube-client/24.13/11", Unique(30), seconds(1), {.object = "another"}, 1, ""},
      {"kube-client/24.13/12", Similar(9), seconds(5), kNew, 1, kCombined},
      {"kube-client/24.13/12", Similar(10), seconds(5), kNew, 2, kCombined},
      {"kube-client/24.13/13",
       {{.field_path = "spec.containers{container1}"}},
       seconds(5),
       {.field_path = "spec.containers{container2}"},
       1,
       ""},
      // More than ten minutes apart, as the clock of the originals is by then.
      {"kube-client/24.13/14", Similar(9), seconds(601), kNew, 1, ""},
      {"kube-client/24.13/15", Same(25), seconds(1), {.reason = "another"}, 0, ""},
  };
  for (const CorrelationEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    async::VirtualScheduler scheduler;
    async::VirtualLoop loop(scheduler);
    EventCorrelator correlator(loop);
    for (const Like& like : entry.before) {
      scheduler.Advance(entry.pause);
      (void)correlator.Correlate(Make(like));
    }
    scheduler.Advance(entry.pause);
    const std::optional<CorrelatedEvent> last = correlator.Correlate(Make(entry.last));
    ASSERT_EQ(last.has_value(), entry.count > 0);
    if (!last) continue;
    EXPECT_EQ(last->event.count(), entry.count);
    EXPECT_EQ(last->event.message(), entry.prefix + entry.last.message);
  }
}

}  // namespace
}  // namespace csinative::kube
