// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/informer.h"

#include <gmock/gmock.h>

#include "apis/k8s.h"
#include "lib/base/strings.h"
#include "test/integration/kube/api_fixture.h"

namespace csinative::kube {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

core::ConfigMap MapNamed(std::string name) {
  core::ConfigMap map;
  map.mutable_metadata()->set_namespace_("default");
  map.mutable_metadata()->set_name(std::move(name));
  return map;
}

struct Mode {
  const char* name;
  bool protobuf;
  bool watch_list;
};

class InformerIntegrationTest : public ApiFixture, public ::testing::WithParamInterface<Mode> {
 protected:
  InformerIntegrationTest() {
    informer_.AddHandler(
        {.on_add = [this](const core::ConfigMap& map,
                          AddKind) { calls_.push_back("add " + map.metadata().name()); },
         .on_update =
             [this](const core::ConfigMap&, const core::ConfigMap& map) {
               calls_.push_back("update " + map.metadata().name());
             },
         .on_delete =
             [this](const core::ConfigMap& map) {
               calls_.push_back("delete " + map.metadata().name());
             }});
  }
  ~InformerIntegrationTest() override { Run(scope_.Close()); }

  void Start() {
    scope_.Spawn(informer_.Run());
    RunUntil([this] { return informer_.synced(); }, "sync");
  }
  // Start, until the watch has brought something: one that ends at once without is listed again.
  void StartAndSeeAnEvent() {
    Start();
    Create("seed");
    RunUntil([this] { return informer_.Contains("default/seed"); }, "the first event");
    TakeCalls();
  }
  void Create(std::string name) {
    const auto made = Run(writer_.Create(MapNamed(std::move(name))));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
  }
  void RunUntilCalls(size_t count) {
    RunUntil([this, count] { return calls_.size() >= count; }, "handler calls");
  }
  std::vector<std::string> TakeCalls() { return std::exchange(calls_, {}); }
  // What the informer has asked for since the log was cleared.
  std::vector<std::string> Requests() {
    std::vector<std::string> out;
    for (const apiserver::LoggedRequest& request : api().log()) {
      if (!request.target.starts_with("/api/v1/namespaces/default/configmaps?")) continue;
      const auto has = [&](const char* text) {
        return request.target.find(text) != std::string::npos;
      };
      out.push_back(has("sendInitialEvents") ? "streamed list" : has("watch=") ? "watch" : "list");
    }
    return out;
  }

  Client& client_ = NewClient({.qps = -1, .protobuf = GetParam().protobuf});
  Client& writer_ = NewClient();
  Informer<core::ConfigMap> informer_{
      loop_, *random_, client_, log_, {.ns = "default", .watch_list = GetParam().watch_list}};
  std::vector<std::string> calls_;
  async::Scope scope_{loop_};
};

TEST_P(InformerIntegrationTest, FollowsTheServer) {
  Create("a");
  Create("b");
  Start();
  EXPECT_THAT(TakeCalls(), ElementsAre("add a", "add b"));
  Create("c");
  ASSERT_TRUE(Run(writer_.Patch<core::ConfigMap>({"default", "a"}, PatchType::kMerge,
                                                 R"({"data":{"k":"v"}})"))
                  .ok());
  ASSERT_TRUE(Run(writer_.Delete<core::ConfigMap>({"default", "b"})).ok());
  RunUntilCalls(3);
  EXPECT_THAT(TakeCalls(), ElementsAre("add c", "update a", "delete b"));
  EXPECT_EQ(informer_.Get("default/a")->data(0).value(), "v");
}

TEST_P(InformerIntegrationTest, CutWatchContinuesWithoutAList) {
  StartAndSeeAnEvent();
  api().ClearLog();
  api().CutWatches();
  Create("b");
  RunUntilCalls(1);
  EXPECT_THAT(TakeCalls(), ElementsAre("add b"));
  EXPECT_THAT(Requests(), Each("watch"));
}

TEST_P(InformerIntegrationTest, EndedWatchContinuesWithoutAList) {
  StartAndSeeAnEvent();
  api().ClearLog();
  api().EndWatches();
  RunUntil([this] { return api().open_watches() == 0; }, "the end of the watch");
  Create("b");
  RunUntilCalls(1);
  EXPECT_THAT(TakeCalls(), ElementsAre("add b"));
  EXPECT_THAT(Requests(), Each("watch"));
}

TEST_P(InformerIntegrationTest, CompactedHistoryLeadsToARelist) {
  Create("a");
  Create("b");
  Start();
  TakeCalls();
  // While no watch is open, b goes, a changes, c comes, and the history of it is forgotten.
  api().set_fault_hook([](const apiserver::RequestInfo& request) {
    return request.verb == "watch" ? apiserver::Fault{.code = 429, .retry_after_seconds = 1}
                                   : apiserver::Fault{};
  });
  api().CutWatches();
  RunUntil([this] { return api().open_watches() == 0; }, "the end of the watch");
  ASSERT_TRUE(Run(writer_.Delete<core::ConfigMap>({"default", "b"})).ok());
  ASSERT_TRUE(Run(writer_.Patch<core::ConfigMap>({"default", "a"}, PatchType::kMerge,
                                                 R"({"data":{"k":"v"}})"))
                  .ok());
  Create("c");
  api().Compact();
  api().set_fault_hook(nullptr);
  RunUntilCalls(3);
  EXPECT_THAT(TakeCalls(), ElementsAre("delete b", "update a", "add c"));
}

TEST_P(InformerIntegrationTest, LostConnectionsComeBack) {
  StartAndSeeAnEvent();
  api().ClearLog();
  server_.DropConnections();
  Create("b");
  RunUntilCalls(1);
  EXPECT_THAT(TakeCalls(), ElementsAre("add b"));
  EXPECT_THAT(Requests(), Each("watch"));
}

TEST_P(InformerIntegrationTest, ManyObjectsArriveComplete) {
  constexpr int kCount = 1200;
  for (int i = 0; i < kCount; ++i) {
    const auto made = api().CreateObject(StrCat(
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"m)",
        10000 + i, R"("},"data":{"k":")", std::string(500, 'x'), R"("}})"));
    static_cast<void>(made);
  }
  Start();
  EXPECT_EQ(informer_.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(calls_.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(informer_.Get("default/m10777")->data(0).value(), std::string(500, 'x'));
}

TEST_P(InformerIntegrationTest, ForbiddenListIsReportedAndRetried) {
  api().set_authorizer([](const apiserver::RequestInfo& request) {
    return request.verb != "list" && request.verb != "watch";
  });
  scope_.Spawn(informer_.Run());
  RunUntil([this] { return !output_->Records().empty(); }, "an error record");
  EXPECT_THAT(output_->Records()[0], HasSubstr("\"Failed to watch\""));
  EXPECT_FALSE(informer_.synced());
  api().set_authorizer([](const apiserver::RequestInfo&) { return true; });
  RunUntil([this] { return informer_.synced(); }, "sync");
}

INSTANTIATE_TEST_SUITE_P(Modes, InformerIntegrationTest,
                         ::testing::Values(Mode{"ProtobufStreamed", true, true},
                                           Mode{"ProtobufListed", true, false},
                                           Mode{"JsonStreamed", false, true},
                                           Mode{"JsonListed", false, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace csinative::kube
