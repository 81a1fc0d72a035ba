// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/node_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/node.pb.h"
#include "apis/json/parse.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/async/run.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/in_process_api.h"

namespace csinative::volumemanager {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "com.example.csi.driver1";
constexpr char kId[] = "com.example.csi/csi-node1";
constexpr char kZone[] = "com.example.csi/zone";

class NodeInfoTest : public ::testing::Test {
 protected:
  NodeInfoTest() {
    kube::ClientOptions options;
    options.qps = -1;
    client_ = *kube::Client::Create(loop_, *random_, transport_, log::Logger(), options);
    info_ = std::make_unique<NodeInfo>(*client_, *random_, log::Logger(), "node1");
  }
  ~NodeInfoTest() override { Wait(transport_.Close()); }

  template <typename T>
  T Wait(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }
  void AddNode(const std::string& metadata = "") {
    Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node1")", metadata, "}}"));
  }
  void Add(const std::string& json) { ASSERT_TRUE(api_.CreateObject(json).ok()) << json; }
  void Initialize() { ASSERT_TRUE(Wait(info_->Initialize()).ok()); }
  Status Install(const std::string& driver, DriverNodeInfo info) {
    return Wait(info_->Install(driver, std::move(info)));
  }
  std::string Node() { return api_.GetObject("", "nodes", "", "node1")->json; }
  std::string CsiNode() {
    const auto object = api_.GetObject("storage.k8s.io", "csinodes", "", "node1");
    return object ? object->json : "";
  }
  size_t Writes() {
    size_t count = 0;
    for (const auto& request : api_.log()) {
      if (request.method != "GET" && request.user == "manager") ++count;
    }
    return count;
  }

  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  apiserver::ApiHandler api_{loop_, *random_};
  testing::InProcessApi transport_{loop_, api_, "manager"};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<NodeInfo> info_;
};

TEST_F(NodeInfoTest, CsiNodeBelongsToTheNode) {
  AddNode();
  Initialize();
  EXPECT_THAT(CsiNode(), HasSubstr(R"("kind":"Node","name":"node1")"));
  EXPECT_THAT(CsiNode(), HasSubstr("kubernetes.io/vsphere-volume"));
  EXPECT_THAT(Node(),
              HasSubstr(R"("volumes.kubernetes.io/controller-managed-attach-detach":"true")"));
}

TEST_F(NodeInfoTest, NodeThatComesLateIsWaitedFor) {
  async::Scope scope(loop_);
  scope.Spawn(
      [](NodeInfo* info) -> async::Task<void> { (void)co_await info->Initialize(); }(info_.get()));
  scheduler_.Advance(std::chrono::seconds(30));
  EXPECT_EQ(CsiNode(), "");
  AddNode();
  scheduler_.Advance(std::chrono::seconds(11));
  EXPECT_NE(CsiNode(), "");
  EXPECT_TRUE(scope.empty());
}

TEST_F(NodeInfoTest, InstallWritesAnnotationLabelsAndEntry) {
  AddNode();
  Initialize();
  ASSERT_TRUE(Install(kName, {kId, 10, {{kZone, "zoneA"}}}).ok());
  EXPECT_THAT(
      Node(),
      HasSubstr(
          R"("csi.volume.kubernetes.io/nodeid":"{\"com.example.csi.driver1\":\"com.example.csi/csi-node1\"}")"));
  EXPECT_THAT(Node(), HasSubstr(R"("com.example.csi/zone":"zoneA")"));
  EXPECT_THAT(CsiNode(), HasSubstr(R"("topologyKeys":["com.example.csi/zone"])"));
  EXPECT_THAT(CsiNode(), HasSubstr(R"("allocatable":{"count":10})"));
  EXPECT_THAT(CsiNode(), HasSubstr(R"("nodeID":"com.example.csi/csi-node1")"));
}

TEST_F(NodeInfoTest, InstallOfTheSameWritesNothing) {
  AddNode();
  Initialize();
  ASSERT_TRUE(Install(kName, {kId, 0, {{kZone, "zoneA"}}}).ok());
  const size_t before = Writes();
  ASSERT_TRUE(Install(kName, {kId, 0, {{kZone, "zoneA"}}}).ok());
  EXPECT_EQ(Writes(), before);
}

TEST_F(NodeInfoTest, OtherDriversKeepTheirEntries) {
  AddNode();
  Initialize();
  ASSERT_TRUE(Install("other", {"other-id", 0, {}}).ok());
  ASSERT_TRUE(Install(kName, {kId, 0, {}}).ok());
  const std::string node = CsiNode();
  EXPECT_LT(node.find(R"("name":"other")"), node.find(StrCat(R"("name":")", kName)));
  EXPECT_THAT(Node(), HasSubstr(R"(\"other\":\"other-id\")"));
}

TEST_F(NodeInfoTest, LabelWithAnotherValueIsACollision) {
  AddNode(R"(,"labels":{"com.example.csi/zone":"zoneA"})");
  Initialize();
  Status installed = Install(kName, {kId, 0, {{kZone, "other-zone"}}});
  EXPECT_THAT(installed.message(),
              HasSubstr("detected topology value collision: driver reported "
                        "\"com.example.csi/zone\":\"other-zone\" but existing label is "
                        "\"com.example.csi/zone\":\"zoneA\""));
  EXPECT_THAT(Node(), Not(HasSubstr(kName)));
}

TEST_F(NodeInfoTest, DriverWithoutNodeIdIsRefused) {
  AddNode();
  Initialize();
  EXPECT_FALSE(Install(kName, {"", 0, {}}).ok());
}

struct LimitRow {
  const char* name;
  int64_t limit;
  std::string count;  // empty: no allocatable
};
class Limits : public NodeInfoTest, public ::testing::WithParamInterface<LimitRow> {};

TEST_P(Limits, AreWrittenAsTheApiTakesThem) {
  AddNode();
  Initialize();
  ASSERT_TRUE(Install(kName, {kId, GetParam().limit, {}}).ok());
  if (GetParam().count.empty()) {
    EXPECT_THAT(CsiNode(), Not(HasSubstr("allocatable")));
  } else {
    EXPECT_THAT(CsiNode(), HasSubstr(StrCat(R"("count":)", GetParam().count, "}")));
  }
}

INSTANTIATE_TEST_SUITE_P(NodeInfoTest, Limits,
                         ::testing::Values(LimitRow{"Ten", 10, "10"},
                                           LimitRow{"Largest", 2147483647, "2147483647"},
                                           LimitRow{"TooLarge", 2147483648, "2147483647"},
                                           LimitRow{"None", 0, ""}, LimitRow{"Negative", -1, ""}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(NodeInfoTest, CsiNodeOfAnEarlierNodeIsReplaced) {
  AddNode();
  Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node1",)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node1","uid":"old"}]},)"
      R"("spec":{"drivers":[{"name":"old-driver","nodeID":"x","topologyKeys":null}]}})");
  Initialize();
  EXPECT_THAT(CsiNode(), Not(HasSubstr("old-driver")));
  ASSERT_TRUE(Install(kName, {kId, 0, {}}).ok());
  EXPECT_THAT(CsiNode(), HasSubstr(kName));
}

TEST_F(NodeInfoTest, UninstallRemovesEntryAndAnnotationButNotLabels) {
  AddNode();
  Initialize();
  ASSERT_TRUE(Install(kName, {kId, 0, {{kZone, "zoneA"}}}).ok());
  ASSERT_TRUE(Wait(info_->Uninstall(kName)).ok());
  EXPECT_THAT(CsiNode(), Not(HasSubstr(kName)));
  EXPECT_NE(CsiNode(), "");
  EXPECT_THAT(Node(), Not(HasSubstr("csi.volume.kubernetes.io/nodeid")));
  EXPECT_THAT(Node(), HasSubstr(R"("com.example.csi/zone":"zoneA")"));
}

TEST_F(NodeInfoTest, UninstallOfAnUnknownDriverWritesNothing) {
  AddNode();
  Initialize();
  ASSERT_TRUE(Install("other", {"x", 0, {}}).ok());
  const size_t before = Writes();
  ASSERT_TRUE(Wait(info_->Uninstall(kName)).ok());
  EXPECT_EQ(Writes(), before);
}

TEST_F(NodeInfoTest, ConflictIsTriedAgain) {
  AddNode();
  Initialize();
  int failures = 2;
  api_.set_fault_hook([&](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.verb == "update" && failures-- > 0) fault.code = 409;
    return fault;
  });
  EXPECT_TRUE(Install(kName, {kId, 0, {}}).ok());
}

// The process goes on while others delete what it has written.
class NodeInfoRestoreTest : public NodeInfoTest {
 protected:
  NodeInfoRestoreTest() {
    AddNode();
    scope_.Spawn(info_->Run());
    EXPECT_TRUE(Install(kName, {kId, 10, {{kZone, "zoneA"}}}).ok());
    EXPECT_TRUE(Install("other", {"other-id", 0, {}}).ok());
  }
  ~NodeInfoRestoreTest() override { Wait(scope_.Close()); }

  template <typename T>
  void Delete() {
    ASSERT_TRUE(Wait(client_->Delete<T>({"", "node1"})).ok());
  }
  std::string UidOfNode() {
    rapidjson::Document node;
    EXPECT_TRUE(apis::ParseJson(Node(), &node).ok());
    return node["metadata"]["uid"].GetString();
  }
  void ReplaceNode() {
    Delete<core::Node>();
    AddNode();
  }
  void ExpectAllThere() {
    EXPECT_THAT(CsiNode(), HasSubstr(StrCat(R"("uid":")", UidOfNode(), "\"")));
    EXPECT_THAT(CsiNode(), HasSubstr(kName));
    EXPECT_THAT(CsiNode(), HasSubstr(R"("name":"other")"));
    EXPECT_THAT(Node(), HasSubstr(kId));
    EXPECT_THAT(Node(), HasSubstr(R"(\"other\":\"other-id\")"));
    EXPECT_THAT(Node(), HasSubstr(R"("com.example.csi/zone":"zoneA")"));
    EXPECT_THAT(Node(), HasSubstr("controller-managed-attach-detach"));
  }

  async::Scope scope_{loop_};
};

TEST_F(NodeInfoRestoreTest, CsiNodeThatSomebodyDeletesIsMadeAgain) {
  Delete<storage::CSINode>();
  scheduler_.Advance(std::chrono::seconds(91));
  ExpectAllThere();
}

TEST_F(NodeInfoRestoreTest, NodeThatIsMadeAgainGetsAllOfItAtOnce) {
  ReplaceNode();
  info_->OnNode(UidOfNode());
  scheduler_.Advance(std::chrono::seconds(1));
  ExpectAllThere();
}

TEST_F(NodeInfoRestoreTest, DriverThatRegistersAtANewNodeBringsTheOthersBack) {
  ReplaceNode();
  ASSERT_TRUE(Install(kName, {kId, 10, {{kZone, "zoneA"}}}).ok());
  scheduler_.Advance(std::chrono::seconds(1));
  ExpectAllThere();
}

TEST_F(NodeInfoRestoreTest, FailedAttemptIsRepeated) {
  Delete<storage::CSINode>();
  api_.set_fault_hook([](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.verb == "create") fault.code = 500;
    return fault;
  });
  scheduler_.Advance(std::chrono::seconds(91));
  EXPECT_EQ(CsiNode(), "");
  api_.set_fault_hook(nullptr);
  scheduler_.Advance(std::chrono::seconds(16));
  ExpectAllThere();
}

TEST_F(NodeInfoRestoreTest, DriverThatHasGoneStaysAway) {
  ASSERT_TRUE(Wait(info_->Uninstall("other")).ok());
  Delete<storage::CSINode>();
  scheduler_.Advance(std::chrono::seconds(91));
  EXPECT_THAT(CsiNode(), HasSubstr(kName));
  EXPECT_THAT(CsiNode(), Not(HasSubstr(R"("name":"other")")));
}

TEST_F(NodeInfoRestoreTest, WhatIsThereIsReadOnceInAMinuteAndNotWritten) {
  info_->OnNode(UidOfNode());
  const size_t writes = Writes(), before = api_.log().size();
  scheduler_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(Writes(), writes);
  EXPECT_LE(api_.log().size(), before + 10);
  EXPECT_GE(api_.log().size(), before + 6);
}

}  // namespace
}  // namespace csinative::volumemanager
