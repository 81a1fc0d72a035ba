// SPDX-License-Identifier: Apache-2.0
//
// Rows of common/20.7.
#include "lib/csi/identity.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "test/support/fake_channel.h"
#include "test/support/oracle.h"

namespace csinative::csi {
namespace {

using std::chrono::seconds;

class IdentityTest : public ::testing::Test {
 protected:
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  testing::FakeChannel channel_;
};

TEST_F(IdentityTest, DriverNameIsReturnedAsItIs) {  // R1
  const oracle::Row row("registrar/12.5/1");
  ::csi::v1::GetPluginInfoResponse response;
  response.set_name("csi/example");
  channel_.Answer("/csi.v1.Identity/GetPluginInfo", response);
  EXPECT_EQ(*async::RunTask(scheduler_, loop_, GetDriverName(channel_)), "csi/example");
}

TEST_F(IdentityTest, EmptyDriverNameIsAnError) {  // R2
  const oracle::Row row("registrar/12.5/3");
  channel_.Answer("/csi.v1.Identity/GetPluginInfo", ::csi::v1::GetPluginInfoResponse());
  EXPECT_EQ(async::RunTask(scheduler_, loop_, GetDriverName(channel_)).status().message(),
            "driver name is empty");
}

TEST_F(IdentityTest, DriverNameFailurePassesThrough) {  // R2
  const oracle::Row row("registrar/12.5/2");
  channel_.Fail("/csi.v1.Identity/GetPluginInfo", RpcStatus(12, "unknown service csi.v1.Identity"));
  EXPECT_EQ(async::RunTask(scheduler_, loop_, GetDriverName(channel_)).status().message(),
            "rpc error: code = Unimplemented desc = unknown service csi.v1.Identity");
}

TEST_F(IdentityTest, PluginCapabilitiesKeepUnknownAndSkipOtherKinds) {  // R3, R4, R5
  const oracle::Row row("registrar/12.5/11");
  using ::csi::v1::PluginCapability;
  ::csi::v1::GetPluginCapabilitiesResponse response;
  response.add_capabilities()->mutable_service()->set_type(
      PluginCapability::Service::CONTROLLER_SERVICE);
  response.add_capabilities()->mutable_service()->set_type(PluginCapability::Service::UNKNOWN);
  response.add_capabilities()->mutable_volume_expansion();
  response.add_capabilities();
  channel_.Answer("/csi.v1.Identity/GetPluginCapabilities", response);
  auto set = async::RunTask(scheduler_, loop_, GetPluginCapabilities(channel_));
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->Has(PluginCapability::Service::CONTROLLER_SERVICE));
  EXPECT_TRUE(set->Has(PluginCapability::Service::UNKNOWN));
  EXPECT_FALSE(set->Has(PluginCapability::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS));
}

TEST_F(IdentityTest, PluginCapabilitiesMayBeNoneAndFailuresPassThrough) {  // R3
  const oracle::Row row("registrar/12.5/11");
  const std::string method = "/csi.v1.Identity/GetPluginCapabilities";
  using ::csi::v1::PluginCapability;
  ::csi::v1::GetPluginCapabilitiesResponse unknown;
  unknown.add_capabilities()->mutable_service()->set_type(PluginCapability::Service::UNKNOWN);
  ::csi::v1::GetPluginCapabilitiesResponse untyped;
  untyped.add_capabilities();
  for (const auto& response : {unknown, untyped, ::csi::v1::GetPluginCapabilitiesResponse()}) {
    channel_.Answer(method, response);
    auto set = async::RunTask(scheduler_, loop_, GetPluginCapabilities(channel_));
    ASSERT_TRUE(set.ok());
    const bool has_type =
        response.capabilities_size() > 0 && response.capabilities(0).has_service();
    EXPECT_EQ(set->Has(PluginCapability::Service::UNKNOWN), has_type);
    EXPECT_FALSE(set->Has(PluginCapability::Service::CONTROLLER_SERVICE));
  }
  channel_.Fail(method, RpcStatus(14, "gone"));
  EXPECT_FALSE(async::RunTask(scheduler_, loop_, GetPluginCapabilities(channel_)).ok());
}

TEST_F(IdentityTest, ControllerCapabilitiesAreExactlyTheAnnouncedOnes) {  // R7, R9
  using RPC = ::csi::v1::ControllerServiceCapability::RPC;
  ::csi::v1::ControllerGetCapabilitiesResponse response;
  response.add_capabilities()->mutable_rpc()->set_type(RPC::CREATE_DELETE_VOLUME);
  response.add_capabilities()->mutable_rpc()->set_type(RPC::PUBLISH_UNPUBLISH_VOLUME);
  response.add_capabilities();
  channel_.Answer("/csi.v1.Controller/ControllerGetCapabilities", response);
  auto set = async::RunTask(scheduler_, loop_, GetControllerCapabilities(channel_));
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->Has(RPC::CREATE_DELETE_VOLUME));
  EXPECT_TRUE(set->Has(RPC::PUBLISH_UNPUBLISH_VOLUME));
  EXPECT_FALSE(set->Has(RPC::CLONE_VOLUME));
  EXPECT_FALSE(async::RunTask(scheduler_, loop_, GetGroupControllerCapabilities(channel_)).ok());
}

struct ProbeRow {
  const char* name;
  // Answers in order: "ready", "absent", "not", or a gRPC code name by number.
  std::vector<std::string> answers;
  size_t calls;
  const char* error = "";
  const char* row = "";  // of the oracle
};

class WaitUntilReadyTest : public ::testing::TestWithParam<ProbeRow> {};

TEST_P(WaitUntilReadyTest, FollowsTheProbeTable) {
  std::optional<oracle::Row> oracle_row;
  if (*GetParam().row != '\0') oracle_row.emplace(GetParam().row);
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  testing::FakeChannel channel;
  for (const std::string& answer : GetParam().answers) {
    const std::string method = "/csi.v1.Identity/Probe";
    ::csi::v1::ProbeResponse response;
    if (answer == "ready" || answer == "not") {
      response.mutable_ready()->set_value(answer == "ready");
      channel.AnswerOnce(method, response);
    } else if (answer == "absent") {
      channel.AnswerOnce(method, response);
    } else {
      channel.FailOnce(method, RpcStatus(answer == "DeadlineExceeded" ? 4
                                         : answer == "Unimplemented"  ? 12
                                                                      : 2,
                                         "mock"));
    }
  }
  const MonotonicTime start = loop.Now();
  Status status =
      async::RunTask(scheduler, loop, WaitUntilReady(channel, seconds(10), log::Logger()));
  EXPECT_EQ(status.message(), GetParam().error);
  EXPECT_EQ(channel.calls().size(), GetParam().calls);
  EXPECT_EQ(loop.Now() - start, seconds(GetParam().calls - 1));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WaitUntilReadyTest,
    ::testing::Values(
        ProbeRow{"P1_ready", {"ready"}, 1, "", "registrar/12.5/4"},
        ProbeRow{"P1_absent", {"absent"}, 1, "", "registrar/12.5/5"},
        ProbeRow{"P2_error",
                 {"Unknown"},
                 1,
                 "CSI driver probe failed: rpc error: code = Unknown desc = mock",
                 "registrar/12.5/6"},
        ProbeRow{"P3_timeout_then_error",
                 {"DeadlineExceeded", "Unknown"},
                 2,
                 "CSI driver probe failed: rpc error: code = Unknown desc = mock",
                 "registrar/12.5/7"},
        ProbeRow{"P4_timeouts_then_ready",
                 {"DeadlineExceeded", "DeadlineExceeded", "ready"},
                 3,
                 "",
                 "registrar/12.5/8"},
        ProbeRow{"P5_not_ready_then_error",
                 {"not", "Unknown"},
                 2,
                 "CSI driver probe failed: rpc error: code = Unknown desc = mock",
                 "registrar/12.5/9"},
        ProbeRow{"P6_not_ready_then_ready", {"not", "not", "ready"}, 3, "", "registrar/12.5/10"},
        ProbeRow{"P7_unimplemented",
                 {"Unimplemented"},
                 1,
                 "CSI driver probe failed: rpc error: code = Unimplemented desc = mock"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(IdentityTest, HangingProbeIsRepeatedWithoutLimit) {
  channel_.On("/csi.v1.Identity/Probe", [](auto, auto) -> async::Task<Status> {
    co_return co_await async::Sleep(std::chrono::hours(1));
  });
  async::Scope scope(loop_);
  bool done = false;
  auto run = [](rpc::Channel* channel, bool* flag) -> async::Task<void> {
    (void)co_await WaitUntilReady(*channel, seconds(10), log::Logger());
    *flag = true;
  };
  scope.Spawn(run(&channel_, &done));
  scheduler_.Advance(seconds(95));
  EXPECT_FALSE(done);
  EXPECT_EQ(channel_.calls().size(), 10u);
  scope.Cancel();
  scheduler_.Settle();
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace csinative::csi
