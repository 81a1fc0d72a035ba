// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/csi/identity.h"
#include "lib/log/backend.h"
#include "lib/log/output.h"
#include "lib/metrics/exposition.h"
#include "lib/metrics/registry.h"
#include "lib/rpc/server.h"
#include "test/support/child_process.h"
#include "test/support/oracle.h"

namespace csinative::csi {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

async::Task<Status> Answer(::csi::v1::GetPluginInfoRequest,
                           ::csi::v1::GetPluginInfoResponse* response) {
  response->set_name("fake.csi.driver.io");
  co_return Status();
}

// A server with the one method, or with none.
class ConnectTest : public ::testing::Test {
 protected:
  ConnectTest() { backend_->SetVerbosity(5); }
  ~ConnectTest() override {
    if (server_) async::RunTask(loop_, server_->Close());
  }
  void StartServer() {
    server_ = rpc::NewServer(loop_);
    if (named_) {
      rpc::Handle<::csi::v1::GetPluginInfoRequest, ::csi::v1::GetPluginInfoResponse>(
          *server_, "/csi.v1.Identity/GetPluginInfo", Answer);
    }
    ASSERT_TRUE(server_->Start("unix:" + path_).ok());
  }
  static async::Task<void> StartAfter(Duration delay, ConnectTest* test) {
    (void)co_await async::Sleep(delay);
    test->StartServer();
  }
  ConnectConfig Config() {
    ConnectConfig config{.loop = &loop_, .random = random_.get()};
    config.observed.log = log_;
    return config;
  }
  Result<std::unique_ptr<ObservedChannel>> Dial(ConnectConfig config) {
    return async::RunTask(loop_, Connect(std::move(config), path_));
  }
  Result<std::string> Name(rpc::Channel& channel) {
    return async::RunTask(loop_, GetDriverName(channel));
  }

  async::RealLoop loop_;
  test::TempDir dir_;
  const std::string path_ = dir_.path() + "/csi.sock";
  bool named_ = true;
  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::shared_ptr<log::Backend> backend_ = std::make_shared<log::Backend>(output_);
  log::Logger log_{backend_};
  std::unique_ptr<rpc::Server> server_;
};

TEST_F(ConnectTest, AbsolutePathWithoutMeasurementIsReady) {
  const oracle::Row path("registrar/12.3/1");
  const oracle::Row unmeasured("registrar/12.3/3");
  const oracle::Row common("common/20.6/1");
  StartServer();
  auto channel = Dial(Config());
  ASSERT_TRUE(channel.ok()) << channel.status().ToString();
  EXPECT_EQ(Name(**channel).value(), "fake.csi.driver.io");
  EXPECT_THAT(output_->Records().front(), HasSubstr("\"Connecting\" address=\"" + path_ + "\""));
}

// The wait between attempts is a second at most, so that nobody who comes is left waiting.
TEST_F(ConnectTest, ServerThatComesLateIsFoundWithinTwoSeconds) {
  const oracle::Row row("registrar/12.3/5");
  async::Scope scope(loop_);
  scope.Spawn(StartAfter(milliseconds(2500), this));
  const MonotonicTime start = loop_.Now();
  auto channel = Dial(Config());
  ASSERT_TRUE(channel.ok()) << channel.status().ToString();
  EXPECT_GE(loop_.Now() - start, milliseconds(2500));
  EXPECT_LE(loop_.Now() - start, milliseconds(2500) + seconds(6));
  EXPECT_TRUE(Name(**channel).ok());
}

TEST_F(ConnectTest, LimitIsKeptAndToldAlone) {
  const oracle::Row row("registrar/12.3/6");
  const oracle::Row common("common/20.6/3");
  ConnectConfig config = Config();
  config.limit = milliseconds(300);
  const MonotonicTime start = loop_.Now();
  const auto channel = Dial(std::move(config));
  EXPECT_EQ(channel.status().message(), "context deadline exceeded");
  EXPECT_GE(loop_.Now() - start, milliseconds(300));
}

TEST_F(ConnectTest, CallsAreMeasured) {
  const oracle::Row row("registrar/12.3/10");
  const oracle::Row measured("common/20.6/1");
  const oracle::Row common("common/20.6/7");
  named_ = false;
  StartServer();
  metrics::Registry registry;
  auto operations = std::make_shared<metrics::CsiOperations>(registry);
  operations->SetDriverName("fake.csi.driver.io");
  ConnectConfig config = Config();
  config.observed.operations = operations;
  auto channel = Dial(std::move(config));
  ASSERT_TRUE(channel.ok()) << channel.status().ToString();
  EXPECT_FALSE(Name(**channel).ok());
  const std::string labels =
      "{driver_name=\"fake.csi.driver.io\",grpc_status_code=\"Unimplemented\",method_name=\"/"
      "csi.v1.Identity/GetPluginInfo\"";
  const std::string text = metrics::ExposeText(registry);
  // The quickest bucket, and so all of them.
  EXPECT_THAT(text,
              HasSubstr("csi_sidecar_operations_seconds_bucket" + labels + ",le=\"0.1\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("csi_sidecar_operations_seconds_bucket" + labels + ",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("csi_sidecar_operations_seconds_count" + labels + "} 1\n"));
}

}  // namespace
}  // namespace csinative::csi
