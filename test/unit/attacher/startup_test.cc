// SPDX-License-Identifier: Apache-2.0
//
// What the driver is asked before anything starts (attacher 3, 15.11).
#include "cmd/attacher/startup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/virtual_loop.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/support/fake_channel.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

using ::testing::ElementsAre;
using Rpc = ::csi::v1::ControllerServiceCapability::RPC;
using Service = ::csi::v1::PluginCapability::Service;

constexpr char kPlugin[] = "/csi.v1.Identity/GetPluginCapabilities";
constexpr char kController[] = "/csi.v1.Controller/ControllerGetCapabilities";

class StartupTest : public ::testing::Test {
 protected:
  void HasController() {
    ::csi::v1::GetPluginCapabilitiesResponse response;
    response.add_capabilities()->mutable_service()->set_type(Service::CONTROLLER_SERVICE);
    driver_.Answer(kPlugin, response);
  }
  void Can(std::initializer_list<Rpc::Type> types) {
    ::csi::v1::ControllerGetCapabilitiesResponse response;
    response.add_capabilities();  // one without a type
    for (const Rpc::Type type : types) {
      response.add_capabilities()->mutable_rpc()->set_type(type);
    }
    driver_.Answer(kController, response);
  }
  Result<DriverFeatures> Ask() {
    return async::RunTask(scheduler_, loop_, ReadDriverFeatures(&driver_, "d", &failure_));
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  testing::FakeChannel driver_;
  std::string failure_;
};

TEST_F(StartupTest, DriverWithoutControllerServiceIsNotAskedFurther) {
  const oracle::Row row("attacher/15.11/11");
  driver_.Answer(kPlugin, ::csi::v1::GetPluginCapabilitiesResponse());
  const auto features = Ask();
  ASSERT_TRUE(features.ok());
  EXPECT_EQ(features->name, "d");
  EXPECT_FALSE(features->publish_unpublish_volume);
  EXPECT_THAT(driver_.MethodNames(), ElementsAre("GetPluginCapabilities"));
}

TEST_F(StartupTest, CapabilitiesAreRead) {
  HasController();
  Can({Rpc::PUBLISH_UNPUBLISH_VOLUME, Rpc::PUBLISH_READONLY, Rpc::SINGLE_NODE_MULTI_WRITER,
       Rpc::LIST_VOLUMES});
  const auto features = Ask();
  ASSERT_TRUE(features.ok());
  EXPECT_TRUE(features->publish_unpublish_volume);
  EXPECT_TRUE(features->publish_readonly);
  EXPECT_TRUE(features->single_node_multi_writer);
  EXPECT_FALSE(features->lists_published_nodes);
}

TEST_F(StartupTest, ListOfPublishedNodesNeedsBothCapabilities) {
  HasController();
  Can({Rpc::LIST_VOLUMES, Rpc::LIST_VOLUMES_PUBLISHED_NODES});
  EXPECT_TRUE(Ask()->lists_published_nodes);
}

TEST_F(StartupTest, BothCallsShareOneSecond) {
  driver_.Handle<::csi::v1::GetPluginCapabilitiesRequest, ::csi::v1::GetPluginCapabilitiesResponse>(
      kPlugin,
      [](::csi::v1::GetPluginCapabilitiesRequest,
         ::csi::v1::GetPluginCapabilitiesResponse* response) -> async::Task<Status> {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::milliseconds(600)));
        response->add_capabilities()->mutable_service()->set_type(Service::CONTROLLER_SERVICE);
        co_return Status();
      });
  driver_.Handle<::csi::v1::ControllerGetCapabilitiesRequest,
                 ::csi::v1::ControllerGetCapabilitiesResponse>(
      kController,
      [](::csi::v1::ControllerGetCapabilitiesRequest,
         ::csi::v1::ControllerGetCapabilitiesResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(std::chrono::milliseconds(600));
      });
  const auto features = Ask();
  EXPECT_EQ(features.status().message(),
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
  EXPECT_EQ(failure_, "Failed to controller capability check");
}

TEST_F(StartupTest, FailureIsPassedOn) {
  driver_.Fail(kPlugin, RpcStatus(12, "no"));
  EXPECT_EQ(Ask().status().message(), "rpc error: code = Unimplemented desc = no");
  EXPECT_EQ(failure_, "Failed to check if the CSI Driver supports the CONTROLLER_SERVICE");
}

}  // namespace
}  // namespace csinative::attacher
