// SPDX-License-Identifier: Apache-2.0
//
// Rows of common/20.7.
#include "lib/csi/identity.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "test/support/fake_channel.h"
#include "test/support/oracle_rows.h"

namespace csinative::csi {
namespace {

using std::chrono::seconds;

class IdentityTest : public ::testing::Test {
 protected:
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  testing::FakeChannel channel_;
};

TEST_F(IdentityTest, DriverNameIsReturnedAsItIs) {
  const oracle::Row row("registrar/12.5/1");
  const oracle::Row common("common/20.7/1");
  ::csi::v1::GetPluginInfoResponse response;
  response.set_name("csi/example");
  channel_.Answer("/csi.v1.Identity/GetPluginInfo", response);
  EXPECT_EQ(*async::RunTask(scheduler_, loop_, GetDriverName(channel_)), "csi/example");
}

TEST_F(IdentityTest, EmptyDriverNameIsAnError) {
  const oracle::Row row("registrar/12.5/3");
  const oracle::Row common("common/20.7/2");
  channel_.Answer("/csi.v1.Identity/GetPluginInfo", ::csi::v1::GetPluginInfoResponse());
  EXPECT_EQ(async::RunTask(scheduler_, loop_, GetDriverName(channel_)).status().message(),
            "driver name is empty");
}

TEST_F(IdentityTest, DriverNameFailurePassesThrough) {
  const oracle::Row row("registrar/12.5/2");
  const oracle::Row common("common/20.7/2");
  channel_.Fail("/csi.v1.Identity/GetPluginInfo", RpcStatus(12, "unknown service csi.v1.Identity"));
  EXPECT_EQ(async::RunTask(scheduler_, loop_, GetDriverName(channel_)).status().message(),
            "rpc error: code = Unimplemented desc = unknown service csi.v1.Identity");
}

constexpr char kPluginCapabilities[] = "/csi.v1.Identity/GetPluginCapabilities";
constexpr char kControllerCapabilities[] = "/csi.v1.Controller/ControllerGetCapabilities";
constexpr char kGroupCapabilities[] = "/csi.v1.GroupController/GroupControllerGetCapabilities";

using Service = ::csi::v1::PluginCapability::Service;
using Rpc = ::csi::v1::ControllerServiceCapability::RPC;
using GroupRpc = ::csi::v1::GroupControllerServiceCapability::RPC;

// All values of the enum that the set has, in ascending order.
template <typename Enum>
std::vector<int> Members(const CapabilitySet<Enum>& set,
                         const google::protobuf::EnumDescriptor* type) {
  std::vector<int> members;
  for (int i = 0; i < type->value_count(); ++i) {
    const int value = type->value(i)->number();
    if (set.Has(static_cast<Enum>(value))) members.push_back(value);
  }
  return members;
}

struct PluginEntry {
  const char* rows;
  ::csi::v1::GetPluginCapabilitiesResponse answer;
  std::vector<int> types;
};

::csi::v1::GetPluginCapabilitiesResponse PluginAnswer(const std::vector<Service::Type>& types) {
  ::csi::v1::GetPluginCapabilitiesResponse answer;
  for (const auto type : types) answer.add_capabilities()->mutable_service()->set_type(type);
  return answer;
}

TEST_F(IdentityTest, PluginCapabilitiesAreTheServicesThatAreNamed) {
  ::csi::v1::GetPluginCapabilitiesResponse untyped;
  untyped.add_capabilities();
  auto other_kinds = PluginAnswer({Service::CONTROLLER_SERVICE});
  other_kinds.add_capabilities()->mutable_volume_expansion();
  const PluginEntry entries[] = {
      {"common/20.7/3",
       PluginAnswer({Service::CONTROLLER_SERVICE, Service::UNKNOWN}),
       {Service::UNKNOWN, Service::CONTROLLER_SERVICE}},
      {"common/20.7/4 registrar/12.5/11", PluginAnswer({Service::UNKNOWN}), {Service::UNKNOWN}},
      {"common/20.7/5", untyped, {}},
      {"common/20.7/5 registrar/12.5/11", {}, {}},
      {"", other_kinds, {Service::CONTROLLER_SERVICE}},
  };
  for (const PluginEntry& entry : entries) {
    const oracle::Rows rows(entry.rows);
    channel_.Answer(kPluginCapabilities, entry.answer);
    auto set = async::RunTask(scheduler_, loop_, GetPluginCapabilities(channel_));
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(Members(*set, Service::Type_descriptor()), entry.types);
  }
  const oracle::Rows rows("common/20.7/6 registrar/12.5/11");
  channel_.Fail(kPluginCapabilities, RpcStatus(14, "gone"));
  EXPECT_EQ(async::RunTask(scheduler_, loop_, GetPluginCapabilities(channel_)).status().message(),
            "rpc error: code = Unavailable desc = gone");
}

TEST_F(IdentityTest, ControllerCapabilitiesAreExactlyTheAnnouncedOnes) {
  struct Entry {
    const char* row;
    std::vector<int> types;  // -1: an entry without a type
    std::vector<int> members;
  };
  const Entry entries[] = {
      {"common/20.7/7",
       {Rpc::CREATE_DELETE_VOLUME, Rpc::PUBLISH_UNPUBLISH_VOLUME},
       {Rpc::CREATE_DELETE_VOLUME, Rpc::PUBLISH_UNPUBLISH_VOLUME}},
      {"common/20.7/7",
       {Rpc::PUBLISH_READONLY, Rpc::PUBLISH_UNPUBLISH_VOLUME},
       {Rpc::PUBLISH_UNPUBLISH_VOLUME, Rpc::PUBLISH_READONLY}},
      {"common/20.7/9", {-1}, {}},
      {"common/20.7/9", {-1, Rpc::CLONE_VOLUME}, {Rpc::CLONE_VOLUME}},
      {"common/20.7/9", {}, {}},
  };
  for (const Entry& entry : entries) {
    const oracle::Row row(entry.row);
    ::csi::v1::ControllerGetCapabilitiesResponse answer;
    for (const int type : entry.types) {
      auto* capability = answer.add_capabilities();
      if (type >= 0) capability->mutable_rpc()->set_type(static_cast<Rpc::Type>(type));
    }
    channel_.Answer(kControllerCapabilities, answer);
    auto set = async::RunTask(scheduler_, loop_, GetControllerCapabilities(channel_));
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(Members(*set, Rpc::Type_descriptor()), entry.members);
  }
  const oracle::Row row("common/20.7/9");
  channel_.Fail(kControllerCapabilities, RpcStatus(14, "gone"));
  EXPECT_FALSE(async::RunTask(scheduler_, loop_, GetControllerCapabilities(channel_)).ok());
}

TEST_F(IdentityTest, GroupControllerCapabilitiesAreExactlyTheAnnouncedOnes) {
  {
    const oracle::Row row("common/20.7/8");
    ::csi::v1::GroupControllerGetCapabilitiesResponse answer;
    answer.add_capabilities()->mutable_rpc()->set_type(
        GroupRpc::CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT);
    channel_.Answer(kGroupCapabilities, answer);
    auto set = async::RunTask(scheduler_, loop_, GetGroupControllerCapabilities(channel_));
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(Members(*set, GroupRpc::Type_descriptor()),
              std::vector<int>{GroupRpc::CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT});
  }
  const oracle::Row row("common/20.7/9");
  ::csi::v1::GroupControllerGetCapabilitiesResponse untyped;
  untyped.add_capabilities();
  for (const auto& answer : {untyped, ::csi::v1::GroupControllerGetCapabilitiesResponse()}) {
    channel_.Answer(kGroupCapabilities, answer);
    auto set = async::RunTask(scheduler_, loop_, GetGroupControllerCapabilities(channel_));
    ASSERT_TRUE(set.ok());
    EXPECT_TRUE(Members(*set, GroupRpc::Type_descriptor()).empty());
  }
  channel_.Fail(kGroupCapabilities, RpcStatus(14, "gone"));
  EXPECT_FALSE(async::RunTask(scheduler_, loop_, GetGroupControllerCapabilities(channel_)).ok());
}

struct ProbeRow {
  const char* name;
  // Answers in order: "ready", "absent", "not", or a gRPC code name by number.
  std::vector<std::string> answers;
  size_t calls;
  const char* error = "";
  const char* rows;  // of the oracle
};

class WaitUntilReadyTest : public ::testing::TestWithParam<ProbeRow> {};

TEST_P(WaitUntilReadyTest, FollowsTheProbeTable) {
  const oracle::Rows rows(GetParam().rows);
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
    ::testing::Values(ProbeRow{"P1_ready", {"ready"}, 1, "", "common/20.7/10 registrar/12.5/4"},
                      ProbeRow{"P1_absent", {"absent"}, 1, "", "common/20.7/10 registrar/12.5/5"},
                      ProbeRow{"P2_error",
                               {"Unknown"},
                               1,
                               "CSI driver probe failed: rpc error: code = Unknown desc = mock",
                               "common/20.7/11 registrar/12.5/6"},
                      ProbeRow{"P3_timeout_then_error",
                               {"DeadlineExceeded", "Unknown"},
                               2,
                               "CSI driver probe failed: rpc error: code = Unknown desc = mock",
                               "common/20.7/12 registrar/12.5/7"},
                      ProbeRow{"P4_timeouts_then_ready",
                               {"DeadlineExceeded", "DeadlineExceeded", "ready"},
                               3,
                               "",
                               "common/20.7/13 registrar/12.5/8"},
                      ProbeRow{"P5_not_ready_then_error",
                               {"not", "Unknown"},
                               2,
                               "CSI driver probe failed: rpc error: code = Unknown desc = mock",
                               "common/20.7/14 registrar/12.5/9"},
                      ProbeRow{"P6_not_ready_then_ready",
                               {"not", "not", "ready"},
                               3,
                               "",
                               "common/20.7/15 registrar/12.5/10"},
                      ProbeRow{
                          "P7_unimplemented",
                          {"Unimplemented"},
                          1,
                          "CSI driver probe failed: rpc error: code = Unimplemented desc = mock",
                          "common/20.7/16"}),
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
