// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.10, and 24.9 A27: what a store and its handlers are told. There is no queue
// between the watch and the store here: rows about the queue are held to what comes out of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>
#include <vector>

#include "apis/k8s.h"
#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/base/strings.h"
#include "lib/kube/informer.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"
#include "test/support/oracle.h"

namespace csinative::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Calls = std::vector<std::string>;

core::Pod PodAt(const std::string& name, int version) {
  core::Pod pod;
  pod.mutable_metadata()->set_namespace_("ns");
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_resourceversion(StrCat(version));
  return pod;
}

std::string Describe(const core::Pod& pod) {
  return StrCat(pod.metadata().name(), "@", pod.metadata().resourceversion());
}

class InformerOracle : public ::testing::Test {
 protected:
  ~InformerOracle() override {
    scope_.Cancel();
    scheduler_.Settle();
    EXPECT_TRUE(scope_.empty());
  }

  // A handler that writes what it hears into `calls`.
  static InformerHandler<core::Pod> Writer(Calls* calls) {
    return {
        .on_add =
            [calls](const core::Pod& pod, AddKind kind) {
              calls->push_back(
                  StrCat(kind == AddKind::kInitialList ? "initial " : "add ", Describe(pod)));
            },
        .on_update =
            [calls](const core::Pod& before, const core::Pod& after) {
              calls->push_back(StrCat("update ", Describe(before), " ", Describe(after)));
            },
        .on_delete =
            [calls](const core::Pod& pod) { calls->push_back(StrCat("delete ", Describe(pod))); }};
  }
  void Make(InformerOptions options = {}) {
    client_ = *Client::Create(loop_, *random_, transport_, {}, {.qps = -1});
    informer_.emplace(loop_, *random_, *client_, log::NewLogger(output_), std::move(options));
  }
  void Start() {
    running_.emplace(loop_, &scope_.cancel_source());
    running_->Spawn(informer_->Run());
    scheduler_.Settle();
  }
  void Stop() {
    running_->Cancel();
    scheduler_.Settle();
    ASSERT_TRUE(running_->empty());
  }
  // An informer that knows these pods, with one handler that writes into calls_.
  void StartWith(const std::vector<core::Pod>& pods, InformerOptions options = {}) {
    AnswerWatchList(pods, 100);
    Make(std::move(options));
    informer_->AddHandler(Writer(&calls_));
    Start();
    calls_.clear();
  }
  void AnswerWatchList(const std::vector<core::Pod>& pods, int version) {
    stream_.emplace(transport_.AnswerStream());
    std::string bytes;
    for (const core::Pod& pod : pods) bytes += testing::Frame("ADDED", pod);
    stream_->Send(bytes + testing::BookmarkFrame<core::Pod>(StrCat(version), "true"));
  }
  void Send(const std::string& type, const core::Pod& pod) {
    stream_->Send(testing::Frame(type, pod));
    scheduler_.Settle();
  }
  // The watch is lost and a new list tells this.
  void Replace(const std::vector<core::Pod>& pods, int version) {
    testing::FakeStream before = *stream_;
    transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
    AnswerWatchList(pods, version);
    before.End();
    scheduler_.Advance(seconds(5));
  }
  Calls Take() { return std::exchange(calls_, {}); }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  testing::FakeApiTransport transport_{loop_};
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::unique_ptr<Client> client_;
  std::optional<Informer<core::Pod>> informer_;
  std::optional<testing::FakeStream> stream_;
  Calls calls_;
  async::Scope scope_{loop_};
  std::optional<async::Scope> running_;
};

// One step of a row: an event of the watch, or a new list.
struct Step {
  std::string type;  // "REPLACE": the list
  std::vector<core::Pod> pods;
  int version = 0;
};

struct QueueEntry {
  const char* row;
  std::vector<core::Pod> known;
  std::vector<Step> steps;
  Calls calls;
};

class QueueOracle : public InformerOracle, public ::testing::WithParamInterface<QueueEntry> {};

TEST_P(QueueOracle, TellsInOrder) {
  const oracle::Row row(GetParam().row);
  StartWith(GetParam().known);
  for (const Step& step : GetParam().steps) {
    if (step.type == "REPLACE") {
      Replace(step.pods, step.version);
    } else if (step.type == "BOOKMARK") {
      stream_->Send(testing::BookmarkFrame<core::Pod>(StrCat(step.version)));
      scheduler_.Settle();
    } else {
      Send(step.type, step.pods[0]);
    }
  }
  EXPECT_EQ(Take(), GetParam().calls);
}

const std::vector<core::Pod>& Known() {
  static const std::vector<core::Pod>& pods =
      *new std::vector<core::Pod>{PodAt("bar", 6), PodAt("baz", 7), PodAt("foo", 5)};
  return pods;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, QueueOracle,
    ::testing::Values(
        QueueEntry{"kube-client/24.10/1",
                   {},
                   {{"ADDED", {PodAt("foo", 10)}},
                    {"MODIFIED", {PodAt("foo", 12)}},
                    {"DELETED", {PodAt("foo", 15)}}},
                   {"add foo@10", "update foo@10 foo@12", "delete foo@15"}},
        QueueEntry{"kube-client/24.10/2",
                   {},
                   {{"DELETED", {PodAt("unknown", 10)}}},
                   {"delete unknown@10"}},
        QueueEntry{"kube-client/24.10/3",
                   {},
                   {{"ADDED", {PodAt("foo", 10)}},
                    {"ADDED", {PodAt("bar", 1)}},
                    {"MODIFIED", {PodAt("foo", 11)}},
                    {"MODIFIED", {PodAt("foo", 13)}},
                    {"ADDED", {PodAt("zab", 30)}},
                    {"MODIFIED", {PodAt("foo", 14)}}},
                   {"add foo@10", "add bar@1", "update foo@10 foo@11", "update foo@11 foo@13",
                    "add zab@30", "update foo@13 foo@14"}},
        QueueEntry{"kube-client/24.10/4",
                   {},
                   {{"ADDED", {PodAt("foo", 1)}}, {"REPLACE", {}, 123}},
                   {"add foo@1", "delete foo@1"}},
        QueueEntry{"kube-client/24.10/5",
                   {},
                   {{"BOOKMARK", {}, 123}, {"REPLACE", {PodAt("foo", 1)}, 1234}},
                   {"add foo@1"}},
        QueueEntry{"kube-client/24.10/7",
                   Known(),
                   {{"DELETED", {PodAt("baz", 10)}}, {"REPLACE", {PodAt("foo", 5)}, 123}},
                   {"delete baz@10", "delete bar@6", "update foo@5 foo@5"}},
        QueueEntry{"kube-client/24.10/8",
                   Known(),
                   {{"ADDED", {PodAt("baz", 10)}}, {"REPLACE", {PodAt("foo", 5)}, 123}},
                   {"update baz@7 baz@10", "delete bar@6", "delete baz@10", "update foo@5 foo@5"}},
        QueueEntry{"kube-client/24.10/9",
                   Known(),
                   {{"DELETED", {PodAt("bar", 6)}},
                    {"ADDED", {PodAt("bar", 100)}},
                    {"REPLACE", {PodAt("foo", 5)}, 123}},
                   {"delete bar@6", "add bar@100", "delete bar@100", "delete baz@7",
                    "update foo@5 foo@5"}},
        QueueEntry{"kube-client/24.10/10",
                   Known(),
                   {{"REPLACE", {PodAt("bar", 100), PodAt("foo", 5)}, 123},
                    {"REPLACE", {PodAt("foo", 5)}, 124}},
                   {"delete baz@7", "update bar@6 bar@100", "update foo@5 foo@5", "delete bar@100",
                    "update foo@5 foo@5"}},
        QueueEntry{"kube-client/24.10/16",
                   {PodAt("pod-1", 1), PodAt("pod-2", 2), PodAt("pod-3", 3)},
                   {{"REPLACE", {PodAt("pod-1", 11), PodAt("pod-2", 12), PodAt("pod-4", 13)}, 13}},
                   {"delete pod-3@3", "update pod-1@1 pod-1@11", "update pod-2@2 pod-2@12",
                    "add pod-4@13"}},
        QueueEntry{"kube-client/24.10/17",
                   {PodAt("pod-1", 1), PodAt("pod-3", 3)},
                   {{"REPLACE", {}, 13}},
                   {"delete pod-1@1", "delete pod-3@3"}},
        QueueEntry{"kube-client/24.10/18",
                   {PodAt("pod-1", 1)},
                   {{"REPLACE", {PodAt("pod-1", 2), PodAt("pod-2", 3)}, 13}},
                   {"update pod-1@1 pod-1@2", "add pod-2@3"}}),
    [](const auto& info) { return StrCat("Row", std::string_view(info.param.row).substr(18)); });

TEST_F(InformerOracle, ResyncTellsEverything) {
  const oracle::Row row("kube-client/24.10/6");
  StartWith({PodAt("foo", 1)}, {.resync = seconds(10)});
  Send("ADDED", PodAt("late", 2));
  EXPECT_THAT(Take(), ElementsAre("add late@2"));
  scheduler_.Advance(seconds(10));
  EXPECT_THAT(Take(), ElementsAre("update foo@1 foo@1", "update late@2 late@2"));
}

// Every state of the initial population.
TEST_F(InformerOracle, SyncedOnceEverythingWasTold) {
  const oracle::Row row("kube-client/24.10/12");
  Make();
  bool synced_inside = false;
  int told = 0;
  InformerHandler<core::Pod> handler;
  handler.on_add = [&](const core::Pod&, AddKind) {
    ++told;
    synced_inside = synced_inside || informer_->synced();
  };
  informer_->AddHandler(std::move(handler));
  EXPECT_FALSE(informer_->synced());
  stream_.emplace(transport_.AnswerStream());
  Start();
  Send("ADDED", PodAt("a", 1));
  // Nothing is told before the list is whole.
  EXPECT_FALSE(informer_->synced());
  EXPECT_EQ(told, 0);
  Send("ADDED", PodAt("b", 2));
  stream_->Send(testing::BookmarkFrame<core::Pod>("2", "true"));
  scheduler_.Settle();
  EXPECT_EQ(told, 2);
  EXPECT_FALSE(synced_inside);
  EXPECT_TRUE(informer_->synced());
}

async::Task<void> WaitForSync(Informer<core::Pod>* informer, int* returned) {
  (void)co_await informer->WaitForSync();
  ++*returned;
}

TEST_F(InformerOracle, EndWakesWhoeverWaits) {
  const oracle::Row row("kube-client/24.10/15");
  transport_.Hang();
  Make();
  Start();
  int returned = 0;
  async::Scope waiting(loop_, &scope_.cancel_source());
  for (int i = 0; i < 10; ++i) waiting.Spawn(WaitForSync(&*informer_, &returned));
  scheduler_.Settle();
  EXPECT_EQ(returned, 0);
  scope_.Cancel();
  scheduler_.Settle();
  EXPECT_EQ(returned, 10);
}

TEST_F(InformerOracle, VersionFollowsEveryEvent) {
  const oracle::Row row("kube-client/24.10/20");
  StartWith({PodAt("foo", 1)});
  // What the next watch asks for is the version that was seen last.
  const auto next_version = [this] {
    testing::FakeStream before = *stream_;
    stream_.emplace(transport_.AnswerStream());
    scheduler_.Advance(seconds(2));
    before.End();
    scheduler_.Settle();
    for (const auto& [key, value] : transport_.requests().back().query) {
      if (key == "resourceVersion") return value;
    }
    return std::string();
  };
  EXPECT_EQ(next_version(), "100");
  Send("ADDED", PodAt("bar", 110));
  EXPECT_EQ(next_version(), "110");
  Send("MODIFIED", PodAt("bar", 120));
  EXPECT_EQ(next_version(), "120");
  stream_->Send(testing::BookmarkFrame<core::Pod>("130"));
  scheduler_.Settle();
  EXPECT_EQ(next_version(), "130");
  Send("DELETED", PodAt("bar", 140));
  EXPECT_EQ(next_version(), "140");
}

TEST_F(InformerOracle, MissedDeletionHasItsKey) {
  const oracle::Row row("kube-client/24.10/21");
  AnswerWatchList({PodAt("gone", 1)}, 100);
  Make();
  std::string key;
  InformerHandler<core::Pod> handler;
  handler.on_delete = [&](const core::Pod& pod) {
    key = ObjectName{pod.metadata().namespace_(), pod.metadata().name()}.Key();
  };
  informer_->AddHandler(std::move(handler));
  Start();
  Replace({}, 200);
  EXPECT_EQ(key, "ns/gone");
}

TEST_F(InformerOracle, ExceptionOfAHandlerLeavesTheInformer) {
  const oracle::Row row("kube-client/24.10/22");
  std::string escaped;
  loop_.set_exception_handler([&](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      escaped = e.what();
    }
  });
  AnswerWatchList({PodAt("foo", 1)}, 100);
  Make();
  InformerHandler<core::Pod> handler;
  handler.on_add = [](const core::Pod&, AddKind) { throw std::runtime_error("the handler's"); };
  informer_->AddHandler(std::move(handler));
  Start();
  EXPECT_EQ(escaped, "the handler's");
}

TEST_F(InformerOracle, ResyncPeriodsOfHandlers) {
  const oracle::Row row("kube-client/24.10/23");
  AnswerWatchList({PodAt("a", 1)}, 100);
  Make({.resync = seconds(1)});
  Calls never;
  Calls two;
  Calls three;
  ASSERT_TRUE(informer_->Register(Writer(&never), Duration::zero()).ok());
  ASSERT_TRUE(informer_->Register(Writer(&two), seconds(2)).ok());
  ASSERT_TRUE(informer_->Register(Writer(&three), seconds(3)).ok());
  Start();
  for (Calls* calls : {&never, &two, &three}) {
    EXPECT_THAT(*calls, ElementsAre("initial a@1"));
    calls->clear();
  }
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(never, IsEmpty());
  EXPECT_THAT(two, ElementsAre("update a@1 a@1"));
  EXPECT_THAT(three, IsEmpty());
  two.clear();
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(never, IsEmpty());
  EXPECT_THAT(two, IsEmpty());
  EXPECT_THAT(three, ElementsAre("update a@1 a@1"));
}

TEST_F(InformerOracle, ShortestPeriodIsLookedAt) {
  const oracle::Row row("kube-client/24.10/24");
  Make({.resync = std::chrono::hours(12)});
  const std::pair<Duration, Duration> kEntries[] = {{Duration::zero(), std::chrono::hours(12)},
                                                    {minutes(1), minutes(1)},
                                                    {seconds(55), seconds(55)},
                                                    {seconds(5), seconds(5)}};
  Calls calls[4];
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(informer_->Register(Writer(&calls[i]), kEntries[i].first).ok());
    EXPECT_EQ(informer_->resync_check_period(), kEntries[i].second);
  }
  // The periods of the others stay.
  AnswerWatchList({PodAt("a", 1)}, 100);
  Start();
  for (Calls& each : calls) each.clear();
  scheduler_.Advance(seconds(60));
  EXPECT_THAT(calls[0], IsEmpty());
  EXPECT_THAT(calls[1], SizeIs(1));
  EXPECT_THAT(calls[2], SizeIs(1));
  EXPECT_THAT(calls[3], SizeIs(12));
}

TEST_F(InformerOracle, LostWatch) {
  const oracle::Row row("kube-client/24.10/25");
  AnswerWatchList({PodAt("pod1", 1), PodAt("pod2", 2)}, 100);
  Make({.resync = seconds(1)});
  Calls without;
  Calls with;
  ASSERT_TRUE(informer_->Register(Writer(&without), Duration::zero()).ok());
  ASSERT_TRUE(informer_->Register(Writer(&with), seconds(1)).ok());
  Start();
  scheduler_.Advance(seconds(1));
  without.clear();
  with.clear();
  testing::FakeStream before = *stream_;
  transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
  AnswerWatchList({PodAt("pod1", 1), PodAt("pod2", 20), PodAt("pod3", 21)}, 121);
  before.End();
  while (informer_->size() < 3 && scheduler_.Step(scheduler_.Now() + seconds(2))) {
  }
  scheduler_.Settle();
  EXPECT_THAT(without, ElementsAre("update pod2@2 pod2@20", "add pod3@21"));
  EXPECT_THAT(with,
              UnorderedElementsAre("update pod1@1 pod1@1", "update pod2@2 pod2@20", "add pod3@21"));
}

TEST_F(InformerOracle, ListFailureIsToldSoon) {
  const oracle::Row row("kube-client/24.10/26");
  transport_.Answer(testing::ProtobufFailure(500, "InternalError", "list error"));
  Make({.watch_list = false});
  Start();
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(output_->Last(), ::testing::HasSubstr("list error"));
}

TEST_F(InformerOracle, HandlersComeAndGo) {
  {
    const oracle::Row row("kube-client/24.10/27");
    StartWith({PodAt("a", 1)});
    Calls twice;
    const auto first = informer_->Register(Writer(&twice));
    const auto second = informer_->Register(Writer(&twice));
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE(*first, *second);
    scheduler_.Settle();
    EXPECT_THAT(twice, ElementsAre("initial a@1", "initial a@1"));
    informer_->Remove(*first);
    Send("ADDED", PodAt("b", 2));
    EXPECT_THAT(twice, ElementsAre("initial a@1", "initial a@1", "add b@2"));
    informer_->Remove(*second);
    Send("ADDED", PodAt("c", 3));
    EXPECT_THAT(twice, SizeIs(3));
  }
  {
    const oracle::Row row("kube-client/24.10/28");
    const auto id = informer_->Register(Writer(&calls_));
    informer_->Remove(*id + 1000);  // of somebody else
    informer_->Remove(*id);
    informer_->Remove(*id);
    const auto last = informer_->Register(Writer(&calls_));
    Stop();
    informer_->Remove(*last);
  }
  {
    const oracle::Row row("kube-client/24.10/29");
    EXPECT_TRUE(informer_->Register(Writer(&calls_))
                    .status()
                    .message()
                    .ends_with("was not added to shared informer because it has stopped already"));
  }
}

TEST_F(InformerOracle, LateHandler) {
  const oracle::Row row("kube-client/24.10/30");
  std::vector<core::Pod> pods;
  for (int i = 0; i < 250; ++i) pods.push_back(PodAt(StrCat("pod", 100 + i), 1));
  StartWith(pods);
  Calls late;
  const auto id = informer_->Register(Writer(&late));
  EXPECT_FALSE(informer_->HandlerSynced(*id));
  // While it is told what is there, one pod changes that it knows and one that it does not.
  while (late.size() < 100) ASSERT_TRUE(scheduler_.Step(scheduler_.Now()));
  EXPECT_FALSE(informer_->HandlerSynced(*id));
  stream_->Send(testing::Frame("MODIFIED", PodAt("pod100", 2)) +
                testing::Frame("DELETED", PodAt("pod349", 3)) +
                testing::Frame("ADDED", PodAt("pod350", 4)));
  scheduler_.Settle();
  EXPECT_TRUE(informer_->HandlerSynced(*id));
  EXPECT_THAT(late, SizeIs(251));
  EXPECT_EQ(std::count(late.begin(), late.end(), "update pod100@1 pod100@2"), 1);
  EXPECT_EQ(std::count(late.begin(), late.end(), "initial pod350@4"), 1);
  EXPECT_EQ(std::count(late.begin(), late.end(), "initial pod349@1"), 0);
  late.clear();
  Send("ADDED", PodAt("live", 5));
  EXPECT_THAT(late, ElementsAre("add live@5"));
}

TEST_F(InformerOracle, TransformedObjectsOnly) {
  for (const char* id : {"kube-client/24.10/31", "kube-client/24.9/27"}) {
    const oracle::Row row(id);
    AnswerWatchList({PodAt("a", 1), PodAt("b", 2)}, 100);
    Make();
    int transformed = 0;
    // Differs: the originals transform each object of a streamed list twice.
    informer_->set_prune([&](core::Pod* pod) {
      ++transformed;
      std::string name = pod->metadata().name();
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      pod->mutable_metadata()->set_name(name);
    });
    informer_->AddHandler(Writer(&calls_));
    Start();
    Send("ADDED", PodAt("c", 3));
    EXPECT_THAT(Take(), ElementsAre("initial A@1", "initial B@2", "add C@3"));
    EXPECT_EQ(transformed, 3);
    EXPECT_TRUE(informer_->Contains("ns/A"));
    EXPECT_FALSE(informer_->Contains("ns/a"));
    Stop();
  }
}

TEST_F(InformerOracle, IndicesOfManyValues) {
  const oracle::Row row("kube-client/24.10/32");
  const auto with_users = [](const std::string& name, const std::string& users, int version) {
    core::Pod pod = PodAt(name, version);
    auto* annotation = pod.mutable_metadata()->add_annotations();
    annotation->set_key("users");
    annotation->set_value(users);
    return pod;
  };
  AnswerWatchList({with_users("one", "ernie,bert", 1), with_users("two", "bert,oscar", 2),
                   with_users("tre", "ernie,elmo", 3)},
                  100);
  Make();
  informer_->AddIndex("by_user", [](const core::Pod& pod) {
    std::vector<std::string> users;
    for (std::string_view user : Split(pod.metadata().annotations(0).value(), ',')) {
      users.emplace_back(user);
    }
    return users;
  });
  Start();
  EXPECT_THAT(informer_->KeysByIndex("by_user", "ernie"), ElementsAre("ns/one", "ns/tre"));
  EXPECT_THAT(informer_->KeysByIndex("by_user", "bert"), ElementsAre("ns/one", "ns/two"));
  EXPECT_THAT(informer_->KeysByIndex("by_user", "elmo"), ElementsAre("ns/tre"));
  const size_t before = informer_->bytes();
  Send("DELETED", with_users("tre", "ernie,elmo", 4));
  EXPECT_THAT(informer_->KeysByIndex("by_user", "elmo"), IsEmpty());
  EXPECT_THAT(informer_->KeysByIndex("by_user", "ernie"), ElementsAre("ns/one"));
  EXPECT_LT(informer_->bytes(), before);
}

TEST(ObjectNameOracle, Keys) {
  const oracle::Row row("kube-client/24.10/33");
  EXPECT_EQ((ObjectName{"ns", "name"}.Key()), "ns/name");
  EXPECT_EQ((ObjectName{"", "name"}.Key()), "name");
  EXPECT_EQ(*ParseObjectKey("ns/name"), (ObjectName{"ns", "name"}));
  EXPECT_EQ(*ParseObjectKey("name"), (ObjectName{"", "name"}));
  EXPECT_EQ(ParseObjectKey("a/b/c").status().message(), "unexpected key format: \"a/b/c\"");
}

}  // namespace
}  // namespace csinative::kube
