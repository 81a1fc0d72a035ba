// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/k8s.h"
#include "lib/async/run.h"
#include "lib/async/timeout.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Claim = core::PersistentVolumeClaim;

Claim ClaimAt(std::string name, std::string version, std::string volume = "") {
  Claim claim;
  claim.mutable_metadata()->set_namespace_("ns");
  claim.mutable_metadata()->set_name(std::move(name));
  claim.mutable_metadata()->set_resourceversion(std::move(version));
  if (!volume.empty()) claim.mutable_spec()->set_volumename(std::move(volume));
  return claim;
}

std::string Describe(const Claim& claim) {
  return StrCat(claim.metadata().name(), "@", claim.metadata().resourceversion());
}

class InformerTest : public ::testing::Test {
 protected:
  ~InformerTest() override {
    scope_.Cancel();
    scheduler_.Settle();
    EXPECT_TRUE(scope_.empty());
  }

  void Make(InformerOptions options = {}) {
    client_ = *Client::Create(loop_, *random_, transport_, {}, {.qps = -1});
    informer_.emplace(loop_, *random_, *client_, log::Logger(), std::move(options));
    informer_->AddIndex("volume", [](const Claim& claim) -> std::vector<std::string> {
      return {claim.spec().volumename()};
    });
    informer_->AddHandler(
        {.on_add =
             [this](const Claim& claim, AddKind kind) {
               const bool initial = kind == AddKind::kInitialList;
               calls_.push_back(StrCat(initial ? "initial " : "add ", Describe(claim)));
               // The store is never behind its handlers.
               EXPECT_TRUE(informer_->Contains("ns/" + claim.metadata().name()));
             },
         .on_update =
             [this](const Claim& before, const Claim& after) {
               calls_.push_back(StrCat("update ", Describe(before), " ", Describe(after)));
             },
         .on_delete =
             [this](const Claim& claim) {
               calls_.push_back(StrCat("delete ", Describe(claim)));
               EXPECT_FALSE(informer_->Contains("ns/" + claim.metadata().name()));
             }});
  }
  void Start() {
    scope_.Spawn(informer_->Run());
    scheduler_.Settle();
  }
  testing::FakeStream AnswerWatchList(std::vector<Claim> claims, std::string version) {
    testing::FakeStream stream = transport_.AnswerStream();
    std::string bytes;
    for (const Claim& claim : claims) bytes += testing::Frame("ADDED", claim);
    stream.Send(bytes + testing::BookmarkFrame<Claim>(std::move(version), "true"));
    return stream;
  }
  // The watch ends, its version is too old, and a new streamed list tells this.
  void Relist(testing::FakeStream& stream, std::vector<Claim> claims, std::string version) {
    transport_.Answer(testing::ProtobufFailure(410, "Expired", "too old"));
    AnswerWatchList(std::move(claims), std::move(version));
    stream.End();
    scheduler_.Advance(seconds(2));
  }
  std::vector<std::string> TakeCalls() { return std::exchange(calls_, {}); }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  testing::FakeApiTransport transport_{loop_};
  std::unique_ptr<Client> client_;
  std::optional<Informer<Claim>> informer_;
  std::vector<std::string> calls_;
  async::Scope scope_{loop_};
};

TEST_F(InformerTest, InitialListThenLiveChanges) {
  testing::FakeStream stream = AnswerWatchList({ClaimAt("b", "2"), ClaimAt("a", "1")}, "2");
  Make();
  EXPECT_FALSE(informer_->synced());
  Start();
  EXPECT_TRUE(informer_->synced());
  EXPECT_THAT(TakeCalls(), ElementsAre("initial a@1", "initial b@2"));
  stream.Send(testing::Frame("ADDED", ClaimAt("c", "3")) +
              testing::Frame("MODIFIED", ClaimAt("a", "4")) +
              testing::Frame("DELETED", ClaimAt("b", "5")));
  scheduler_.Settle();
  EXPECT_THAT(TakeCalls(), ElementsAre("add c@3", "update a@1 a@4", "delete b@5"));
  EXPECT_EQ(informer_->size(), 2u);
  EXPECT_EQ(informer_->Get("ns/a")->metadata().resourceversion(), "4");
  EXPECT_EQ(informer_->Get("ns/b"), std::nullopt);
}

// kube-client 14.2: presence decides, not the type of the event; a deletion is always told.
TEST_F(InformerTest, EventTypesThatDoNotFitTheStore) {
  testing::FakeStream stream = AnswerWatchList({ClaimAt("a", "1")}, "1");
  Make();
  Start();
  TakeCalls();
  stream.Send(testing::Frame("ADDED", ClaimAt("a", "2")) +
              testing::Frame("MODIFIED", ClaimAt("b", "3")) +
              testing::Frame("DELETED", ClaimAt("x", "4")));
  scheduler_.Settle();
  EXPECT_THAT(TakeCalls(), ElementsAre("update a@1 a@2", "add b@3", "delete x@4"));
}

// kube-client 24.10 O1: deletions with the last known object first, then everything in order.
TEST_F(InformerTest, RelistTellsDeletionsUpdatesAndAdditions) {
  testing::FakeStream stream =
      AnswerWatchList({ClaimAt("a", "1"), ClaimAt("b", "2"), ClaimAt("c", "3")}, "3");
  Make();
  Start();
  TakeCalls();
  Relist(stream, {ClaimAt("a", "11"), ClaimAt("b", "2"), ClaimAt("d", "12")}, "12");
  EXPECT_THAT(TakeCalls(),
              ElementsAre("delete c@3", "update a@1 a@11", "update b@2 b@2", "add d@12"));
}

TEST_F(InformerTest, RelistToNothingDeletesEverything) {
  testing::FakeStream stream = AnswerWatchList({ClaimAt("a", "1"), ClaimAt("b", "2")}, "3");
  Make();
  Start();
  TakeCalls();
  Relist(stream, {}, "12");
  EXPECT_THAT(TakeCalls(), ElementsAre("delete a@1", "delete b@2"));
  EXPECT_EQ(informer_->size(), 0u);
}

TEST_F(InformerTest, EmptyFirstListIsASync) {
  AnswerWatchList({}, "1");
  Make();
  Start();
  EXPECT_TRUE(informer_->synced());
}

TEST_F(InformerTest, WaitForSyncEndsWithTheCaller) {
  transport_.Hang();
  Make();
  Start();
  const Status waited =
      async::RunTask(scheduler_, loop_, async::WithTimeout(seconds(5), informer_->WaitForSync()));
  EXPECT_TRUE(IsDeadlineExceeded(waited));
}

TEST_F(InformerTest, LookupsAreInKeyOrder) {
  AnswerWatchList({ClaimAt("c", "3", "v"), ClaimAt("a", "1", "v"), ClaimAt("b", "2", "w")}, "3");
  Make();
  Start();
  EXPECT_THAT(informer_->KeysByIndex("volume", "v"), ElementsAre("ns/a", "ns/c"));
  EXPECT_THAT(informer_->ByIndex("volume", "w"), SizeIs(1));
  EXPECT_THAT(informer_->ByIndex("volume", "none"), IsEmpty());
  std::vector<std::string> seen;
  informer_->ForEach([&](const Claim& claim) {
    seen.push_back(claim.metadata().name());
    return seen.size() < 2;
  });
  EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST_F(InformerTest, PrunedFieldsAreGoneForEverybody) {
  AnswerWatchList({ClaimAt("a", "1", "v")}, "3");
  Make();
  informer_->set_prune([](Claim* claim) { claim->clear_spec(); });
  Start();
  EXPECT_FALSE(informer_->Get("ns/a")->has_spec());
  EXPECT_THAT(informer_->KeysByIndex("volume", "v"), IsEmpty());
}

TEST_F(InformerTest, OverwriteHoldsUntilTheNextEventAndTellsNobody) {
  testing::FakeStream stream = AnswerWatchList({ClaimAt("a", "1")}, "3");
  Make();
  Start();
  TakeCalls();
  informer_->OverwriteForNow(ClaimAt("a", "7", "v"));
  EXPECT_THAT(TakeCalls(), IsEmpty());
  EXPECT_THAT(informer_->KeysByIndex("volume", "v"), ElementsAre("ns/a"));
  stream.Send(testing::Frame("MODIFIED", ClaimAt("a", "8")));
  scheduler_.Settle();
  EXPECT_THAT(TakeCalls(), ElementsAre("update a@7 a@8"));
  EXPECT_THAT(informer_->KeysByIndex("volume", "v"), IsEmpty());
}

// kube-client 13.6.
TEST_F(InformerTest, ResyncRepeatsEverythingAsUpdates) {
  testing::FakeStream stream = AnswerWatchList({ClaimAt("a", "1"), ClaimAt("b", "2")}, "3");
  Make({.resync = seconds(30)});
  Start();
  TakeCalls();
  scheduler_.Advance(seconds(29));
  EXPECT_THAT(TakeCalls(), IsEmpty());
  scheduler_.Advance(seconds(1));
  EXPECT_THAT(TakeCalls(), ElementsAre("update a@1 a@1", "update b@2 b@2"));
  stream.Send(testing::BookmarkFrame<Claim>("5"));
  scheduler_.Advance(seconds(30));
  EXPECT_THAT(TakeCalls(), SizeIs(2));
}

TEST_F(InformerTest, HandlersKeepTheirObjectsWhenOneOverwritesAnother) {
  testing::FakeStream stream =
      AnswerWatchList({ClaimAt("a", "1", "v"), ClaimAt("b", "2", "w")}, "3");
  Make();
  informer_->AddHandler({.on_update = [this](const Claim& before, const Claim& after) {
    informer_->OverwriteForNow(ClaimAt("b", "9", "x"));
    calls_.push_back(StrCat("overwrote ", Describe(before), " ", Describe(after)));
  }});
  informer_->AddHandler({.on_update = [this](const Claim& before, const Claim& after) {
    calls_.push_back(StrCat("still ", Describe(before), " ", Describe(after)));
  }});
  Start();
  TakeCalls();
  stream.Send(testing::Frame("MODIFIED", ClaimAt("a", "4", "u")));
  scheduler_.Settle();
  EXPECT_THAT(TakeCalls(), ElementsAre("update a@1 a@4", "overwrote a@1 a@4", "still a@1 a@4"));
  EXPECT_THAT(informer_->KeysByIndex("volume", "x"), ElementsAre("ns/b"));
  EXPECT_THAT(informer_->KeysByIndex("volume", "w"), IsEmpty());
}

TEST_F(InformerTest, HandlersAreCalledInTheOrderTheyWereAdded) {
  AnswerWatchList({ClaimAt("a", "1")}, "3");
  Make();
  informer_->AddHandler({.on_add = [this](const Claim&, AddKind) { calls_.push_back("second"); }});
  Start();
  EXPECT_THAT(TakeCalls(), ElementsAre("initial a@1", "second"));
}

TEST_F(InformerTest, JsonObjectsBecomeTheSameBytes) {
  transport_.Answer(testing::JsonAnswer(
      StrCat(R"({"kind":"PersistentVolumeClaimList","metadata":{"resourceVersion":"4"},"items":[)",
             testing::JsonOf(ClaimAt("a", "1", "v")), "]}")));
  testing::FakeStream stream = transport_.AnswerStream("application/json");
  Make({.watch_list = false});
  Start();
  stream.Send(
      StrCat(R"({"type":"MODIFIED","object":)", testing::JsonOf(ClaimAt("a", "2", "w")), "}\n"));
  scheduler_.Settle();
  EXPECT_THAT(TakeCalls(), ElementsAre("initial a@1", "update a@1 a@2"));
  EXPECT_EQ(informer_->Get("ns/a")->SerializeAsString(),
            ClaimAt("a", "2", "w").SerializeAsString());
}

// A large first list is handed out in portions: other work of the loop runs in between.
TEST_F(InformerTest, LargeListsLetOtherWorkRun) {
  std::vector<Claim> claims;
  for (int i = 0; i < 1000; ++i) claims.push_back(ClaimAt(StrCat("c", 1000 + i), "1"));
  AnswerWatchList(std::move(claims), "3");
  Make();
  scope_.Spawn(informer_->Run());
  size_t largest = 0;
  size_t before = 0;
  while (scheduler_.Step(scheduler_.Now())) {
    largest = std::max(largest, calls_.size() - before);
    before = calls_.size();
  }
  EXPECT_EQ(calls_.size(), 1000u);
  EXPECT_LE(largest, 100u);
  EXPECT_TRUE(informer_->synced());
}

}  // namespace
}  // namespace csinative::kube
