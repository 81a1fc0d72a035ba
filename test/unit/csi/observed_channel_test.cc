// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/observed_channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/csi/identity.h"
#include "lib/log/backend.h"
#include "lib/log/output.h"
#include "lib/metrics/exposition.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/support/fake_channel.h"
#include "test/support/oracle.h"

namespace csinative::csi {
namespace {

class ObservedChannelTest : public ::testing::Test {
 protected:
  ObservedChannelTest() {
    auto fake = std::make_unique<testing::FakeChannel>();
    ::csi::v1::GetPluginInfoResponse info;
    info.set_name("driver");
    fake->Answer("/csi.v1.Identity/GetPluginInfo", info);
    backend_->SetVerbosity(5);
    channel_ = std::make_unique<ObservedChannel>(
        std::move(fake),
        ObservedChannel::Options{
            .log = log::Logger(backend_), .operations = operations_, .max_log_length = 10});
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  metrics::Registry registry_;
  std::shared_ptr<metrics::CsiOperations> operations_ =
      std::make_shared<metrics::CsiOperations>(registry_);
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::shared_ptr<log::Backend> backend_ = std::make_shared<log::Backend>(output_);
  std::unique_ptr<ObservedChannel> channel_;
};

TEST_F(ObservedChannelTest, LogsCallAndResponseAndCapsTheResponse) {
  const oracle::Row row("common/20.5/9");
  ASSERT_TRUE(async::RunTask(scheduler_, loop_, GetDriverName(*channel_)).ok());
  auto records = output_->Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0].find(R"("GRPC call" method="/csi.v1.Identity/GetPluginInfo" request="{}")"),
            std::string::npos)
      << records[0];
  EXPECT_NE(records[1].find(
                R"("GRPC response" response="{\"name\":\"d [response body too large, log capped )"
                R"(to 10 chars]" err=null)"),
            std::string::npos)
      << records[1];
}

TEST_F(ObservedChannelTest, FailedCallLogsAnEmptyResponseAndIsMeasured) {  // K7
  ::csi::v1::ProbeResponse response;
  Status status = async::RunTask(
      scheduler_, loop_,
      channel_->Call("/csi.v1.Identity/Probe", ::csi::v1::ProbeRequest(), &response));
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_NE(output_->Last().find(R"(response="{}" err="rpc error: code = Unimplemented desc = )"),
            std::string::npos)
      << output_->Last();
  const std::string text = metrics::ExposeText(registry_);
  EXPECT_NE(
      text.find(R"(csi_sidecar_operations_seconds_count{driver_name="unknown-driver",)"
                R"(grpc_status_code="Unimplemented",method_name="/csi.v1.Identity/Probe"} 1)"),
      std::string::npos)
      << text;
}

TEST_F(ObservedChannelTest, TellsWhichCallsAreRunning) {
  auto fake = std::make_unique<testing::FakeChannel>();
  fake->On("/csi.v1.Controller/DeleteVolume",
           [](const google::protobuf::Message*, google::protobuf::Message*) -> async::Task<Status> {
             co_return co_await async::Sleep(std::chrono::hours(1));
           });
  ObservedChannel channel(std::move(fake), {});
  ::csi::v1::DeleteVolumeRequest request;
  request.set_volume_id("vol-1");
  (*request.mutable_secrets())["key"] = "hidden";
  ::csi::v1::DeleteVolumeResponse response;
  async::Scope scope(loop_);
  const MonotonicTime start = scheduler_.Now();
  scope.Spawn([](ObservedChannel* c, const ::csi::v1::DeleteVolumeRequest* q,
                 ::csi::v1::DeleteVolumeResponse* r) -> async::Task<void> {
    (void)co_await async::WithTimeout(std::chrono::seconds(10),
                                      c->Call("/csi.v1.Controller/DeleteVolume", *q, r));
  }(&channel, &request, &response));
  scheduler_.Settle();
  ASSERT_EQ(channel.running().size(), 1u);
  EXPECT_EQ(channel.running().front().method, "/csi.v1.Controller/DeleteVolume");
  EXPECT_EQ(channel.running().front().subject, "vol-1");
  EXPECT_EQ(channel.running().front().start, start);
  EXPECT_EQ(channel.running().front().deadline, start + std::chrono::seconds(10));
  scheduler_.Advance(std::chrono::seconds(11));
  EXPECT_TRUE(channel.running().empty());
}

TEST_F(ObservedChannelTest, TwoChannelsListTheirCallsInOnePlace) {
  const auto calls = std::make_shared<ObservedChannel::Calls>();
  const auto wait = [](const google::protobuf::Message*,
                       google::protobuf::Message*) -> async::Task<Status> {
    co_return co_await async::Sleep(std::chrono::seconds(1));
  };
  std::vector<std::unique_ptr<ObservedChannel>> channels;
  ::csi::v1::ProbeRequest request;
  ::csi::v1::ProbeResponse response;
  async::Scope scope(loop_);
  for (int i = 0; i < 2; ++i) {
    auto fake = std::make_unique<testing::FakeChannel>();
    fake->On("/csi.v1.Identity/Probe", wait);
    channels.push_back(std::make_unique<ObservedChannel>(
        std::move(fake), ObservedChannel::Options{.running = calls}));
    scope.Spawn([](ObservedChannel* c, const ::csi::v1::ProbeRequest* q,
                   ::csi::v1::ProbeResponse* r) -> async::Task<void> {
      (void)co_await c->Call("/csi.v1.Identity/Probe", *q, r);
    }(channels.back().get(), &request, &response));
  }
  scheduler_.Settle();
  EXPECT_EQ(calls->size(), 2u);
  scheduler_.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(calls->empty());
}

TEST_F(ObservedChannelTest, CallOfAMigratedVolumeIsMeasuredAsSuch) {
  const oracle::Row row("common/20.6/8");
  metrics::Registry registry;
  ObservedChannel channel(
      std::make_unique<testing::FakeChannel>(),
      {.operations = std::make_shared<metrics::CsiOperations>(
           registry, metrics::CsiOperations::Options{.varying_labels = {"migrated"}})});
  ::csi::v1::GetPluginInfoResponse response;
  const Status status =
      async::RunTask(scheduler_, loop_,
                     channel.CallMigrated("/csi.v1.Identity/GetPluginInfo",
                                          ::csi::v1::GetPluginInfoRequest(), &response, true));
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  const std::string text = metrics::ExposeText(registry);
  for (const char* end : {R"(,le="0.1"} 1)", R"(,le="+Inf"} 1)"}) {
    EXPECT_NE(text.find(R"(csi_sidecar_operations_seconds_bucket{driver_name="unknown-driver",)"
                        R"(grpc_status_code="Unimplemented",method_name=)"
                        R"("/csi.v1.Identity/GetPluginInfo",migrated="true")" +
                        std::string(end)),
              std::string::npos)
        << text;
  }
}

TEST_F(ObservedChannelTest, WritesNothingBelowVerbosityFive) {
  backend_->SetVerbosity(4);
  ASSERT_TRUE(async::RunTask(scheduler_, loop_, GetDriverName(*channel_)).ok());
  EXPECT_TRUE(output_->Records().empty());
}

}  // namespace
}  // namespace csinative::csi
