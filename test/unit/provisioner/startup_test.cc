// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/startup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/async/virtual_loop.h"
#include "lib/csi/identity.h"
#include "lib/kube/client.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/support/fake_api_transport.h"
#include "test/support/fake_channel.h"
#include "test/support/kube_wire.h"
#include "test/support/oracle.h"

namespace csinative::provisioner {
namespace {

using Service = ::csi::v1::PluginCapability::Service;
using Rpc = ::csi::v1::ControllerServiceCapability::RPC;

class StartupTest : public ::testing::Test {
 protected:
  Result<DriverFeatures> Read() {
    return async::RunTask(scheduler_, loop_,
                          ReadDriverFeatures(&channel_, "drv", std::chrono::seconds(1)));
  }
  // Whether the API server with this answer lacks the kind.
  bool Lacks(kube::ApiResponse answer) {
    csinative::testing::FakeApiTransport transport(loop_);
    transport.Answer(std::move(answer));
    auto random = NewSeededRandom(1);
    auto client = kube::Client::Create(loop_, *random, transport, log::Logger(), {});
    return async::RunTask(scheduler_, loop_, LacksAttributesClass(client->get()));
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  testing::FakeChannel channel_;
};

TEST_F(StartupTest, CapabilitiesBecomeFeatures) {
  ::csi::v1::GetPluginCapabilitiesResponse plugin;
  plugin.add_capabilities()->mutable_service()->set_type(Service::CONTROLLER_SERVICE);
  plugin.add_capabilities()->mutable_service()->set_type(Service::VOLUME_ACCESSIBILITY_CONSTRAINTS);
  channel_.Answer("/csi.v1.Identity/GetPluginCapabilities", plugin);
  ::csi::v1::ControllerGetCapabilitiesResponse controller;
  for (const auto type : {Rpc::CREATE_DELETE_VOLUME, Rpc::CLONE_VOLUME,
                          Rpc::PUBLISH_UNPUBLISH_VOLUME, Rpc::SINGLE_NODE_MULTI_WRITER}) {
    controller.add_capabilities()->mutable_rpc()->set_type(type);
  }
  channel_.Answer("/csi.v1.Controller/ControllerGetCapabilities", controller);
  const auto features = Read();
  ASSERT_TRUE(features.ok());
  EXPECT_EQ(features->name, "drv");
  EXPECT_TRUE(features->controller_service);
  EXPECT_TRUE(features->accessibility_constraints);
  EXPECT_TRUE(features->create_delete_volume);
  EXPECT_TRUE(features->clone_volume);
  EXPECT_TRUE(features->publish_unpublish_volume);
  EXPECT_TRUE(features->single_node_multi_writer);
  EXPECT_FALSE(features->create_delete_snapshot);
  EXPECT_FALSE(features->modify_volume);
}

TEST_F(StartupTest, NameOfTheDriverIsWhatItSays) {
  constexpr char kInfo[] = "/csi.v1.Identity/GetPluginInfo";
  const auto ask = [this] {
    return async::RunTask(scheduler_, loop_, csi::GetDriverName(channel_));
  };
  ::csi::v1::GetPluginInfoResponse info;
  {
    const oracle::Row row("provisioner/22.1/1");
    info.set_name("csi/example-1");
    channel_.Answer(kInfo, info);
    EXPECT_EQ(*ask(), "csi/example-1");
    info.set_name("csi/example-2");
    channel_.Answer(kInfo, info);
    EXPECT_EQ(*ask(), "csi/example-2");
  }
  {
    const oracle::Row row("provisioner/22.1/2");
    info.set_name("csi/example");
    channel_.Answer(kInfo, info);
    EXPECT_EQ(*ask(), "csi/example");
  }
  {
    const oracle::Row row("provisioner/22.1/3");
    channel_.Fail(kInfo, RpcStatus(13, "mock error"));
    EXPECT_FALSE(ask().ok());
  }
  {
    const oracle::Row row("provisioner/22.1/4");
    channel_.Answer(kInfo, ::csi::v1::GetPluginInfoResponse());
    EXPECT_FALSE(ask().ok());
  }
}

TEST_F(StartupTest, ControllerIsAskedEvenWhenItIsNotReported) {
  channel_.Answer("/csi.v1.Identity/GetPluginCapabilities",
                  ::csi::v1::GetPluginCapabilitiesResponse());
  channel_.Fail("/csi.v1.Controller/ControllerGetCapabilities", RpcStatus(12, "no such service"));
  EXPECT_FALSE(Read().ok());
  EXPECT_THAT(channel_.MethodNames(),
              ::testing::ElementsAre("GetPluginCapabilities", "ControllerGetCapabilities"));
}

TEST_F(StartupTest, OnlyAClearNoSwitchesTheAttributesClassOff) {
  EXPECT_TRUE(Lacks(csinative::testing::JsonAnswer(R"({"resources":[{"kind":"StorageClass"}]})")));
  EXPECT_FALSE(Lacks(csinative::testing::JsonAnswer(
      R"({"resources":[{"kind":"StorageClass"},{"kind":"VolumeAttributesClass"}]})")));
  EXPECT_TRUE(Lacks(
      csinative::testing::JsonAnswer(R"({"kind":"Status","reason":"NotFound","code":404})", 404)));
  EXPECT_FALSE(Lacks(
      csinative::testing::JsonAnswer(R"({"kind":"Status","reason":"Forbidden","code":403})", 403)));
}

TEST_F(StartupTest, IdentityIsTimeChanceAndDriver) {
  auto random = NewSeededRandom(1);
  const std::string identity = ProcessIdentity(loop_, *random, "drv");
  EXPECT_TRUE(identity.starts_with("1704067200000-")) << identity;
  EXPECT_TRUE(identity.ends_with("-drv")) << identity;
}

}  // namespace
}  // namespace csinative::provisioner
