// SPDX-License-Identifier: Apache-2.0
//
// Drivers come and go by their sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "proto/pluginregistration/v1/api.pb.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGetInfo[] = "/pluginregistration.Registration/GetInfo";
constexpr char kNotify[] = "/pluginregistration.Registration/NotifyRegistrationStatus";

class RegistrationTest : public ::testing::Test {
 protected:
  std::string CsiNode() {
    const auto object = world_.api().GetObject("storage.k8s.io", "csinodes", "", kNode);
    return object ? object->json : "";
  }
  // What the plugin was told, in order: "" for success.
  std::vector<std::string> Told() {
    std::vector<std::string> out;
    for (const auto& call : world_.plugin().calls()) {
      if (call.method != kNotify) continue;
      const auto& status =
          static_cast<const ::pluginregistration::RegistrationStatus&>(*call.request);
      EXPECT_EQ(status.plugin_registered(), status.error().empty());
      out.push_back(status.error());
    }
    return out;
  }
  static ::pluginregistration::PluginInfo Info(const std::string& type = "CSIPlugin",
                                               const std::string& version = "1.0.0") {
    ::pluginregistration::PluginInfo info;
    info.set_type(type);
    info.set_name(kDriver);
    info.set_endpoint("/csi.sock");
    info.add_supported_versions(version);
    return info;
  }
  World world_;
};

TEST_F(RegistrationTest, DriverIsAskedWrittenAndTold) {
  world_.Start();
  EXPECT_THAT(world_.plugin().MethodNames(),
              ::testing::ElementsAre("GetInfo", "NotifyRegistrationStatus"));
  EXPECT_THAT(Told(), ::testing::ElementsAre(""));
  EXPECT_THAT(CsiNode(), HasSubstr(StrCat(R"("name":")", kDriver, R"(","nodeID":"id-1")")));
}

TEST_F(RegistrationTest, SocketThatGoesTakesItsDriverAlong) {
  world_.Start();
  world_.RemoveSocket();
  world_.Settle();
  EXPECT_THAT(CsiNode(), Not(HasSubstr(kDriver)));
  world_.AddSocket();
  world_.Settle();
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
}

TEST_F(RegistrationTest, SocketThatWasReplacedIsRegisteredAgain) {
  world_.Start();
  world_.AddSocket();  // the same name, another inode
  world_.Settle();
  EXPECT_THAT(Told(), ::testing::ElementsAre("", ""));
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
}

TEST_F(RegistrationTest, SocketIsFoundWithoutANotice) {
  world_.Start();
  world_.RemoveSocket();
  world_.Settle();
  world_.fs().MakeSpecial(world_.At("plugins_registry/x.sock"), mount::FileType::kSocket);
  world_.Advance(seconds(11));
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
}

TEST_F(RegistrationTest, SocketInASubfolderIsFoundAndHiddenOnesAreNot) {
  world_.Start();
  world_.RemoveSocket();
  world_.Settle();
  world_.AddSocket(".hidden.sock");
  world_.Settle();
  EXPECT_THAT(CsiNode(), Not(HasSubstr(kDriver)));
  ASSERT_TRUE(world_.fs().MakeDirectories(world_.At("plugins_registry/sub"), 0750).ok());
  world_.AddSocket("sub/x.sock");
  world_.Settle();
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
}

TEST_F(RegistrationTest, FailureIsToldAndTriedAgainWithGrowingDelays) {
  world_.driver().Fail("/csi.v1.Node/NodeGetInfo", RpcStatus(14, "starting"));
  world_.Start();
  ASSERT_EQ(Told().size(), 1u);
  EXPECT_EQ(Told()[0],
            "RegisterPlugin error -- plugin registration failed with err: rpc error: code = "
            "Unavailable desc = starting");
  world_.Advance(seconds(1));
  EXPECT_EQ(Told().size(), 2u);
  world_.Advance(seconds(1));
  EXPECT_EQ(Told().size(), 3u);
  ::csi::v1::NodeGetInfoResponse info;
  info.set_node_id("id-1");
  world_.driver().Answer("/csi.v1.Node/NodeGetInfo", info);
  world_.Advance(seconds(3));
  EXPECT_EQ(Told().back(), "");
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
}

TEST_F(RegistrationTest, VersionThatIsNotSupportedIsRefused) {
  world_.plugin().Answer(kGetInfo, Info("CSIPlugin", "0.3.0"));
  world_.Start();
  ASSERT_EQ(Told().size(), 1u);
  EXPECT_THAT(Told()[0], HasSubstr("plugin validation failed with err: kubernetes.io/csi: "
                                   "validation failed for CSI Driver test.csi.example at endpoint "
                                   "/csi.sock: None of the versions specified"));
}

TEST_F(RegistrationTest, SecondSocketOfTheSameDriverIsRefused) {
  world_.Start();
  world_.AddSocket("second.sock");
  world_.Settle();
  ASSERT_EQ(Told().size(), 2u);
  EXPECT_THAT(Told()[1], HasSubstr("Another driver with the same name is already registered"));
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
}

TEST_F(RegistrationTest, PluginsOfOtherKindsBelongToTheContainerAgent) {
  world_.plugin().Answer(kGetInfo, Info("DevicePlugin"));
  world_.Start();
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.plugin().MethodNames(), ::testing::ElementsAre("GetInfo"));
}

TEST_F(RegistrationTest, DriversOfTheLastRunStayInTheApi) {
  world_.Start();
  world_.Kill();
  EXPECT_THAT(CsiNode(), HasSubstr(kDriver));
  world_.Start();
  EXPECT_THAT(Told(), ::testing::ElementsAre("", ""));
}

}  // namespace
}  // namespace csinative::volumemanager
