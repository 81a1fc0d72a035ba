// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/health.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "lib/base/unique_fd.h"
#include "test/support/oracle.h"
#include "test/unit/registrar/registrar_fixture.h"

namespace csinative::registrar {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class HealthTest : public RegistrarFixture {
 protected:
  ~HealthTest() override {
    if (check_) Run(check_->Close());
  }
  HealthCheck& Check(Duration timeout = seconds(1), Duration connect_limit = milliseconds(100)) {
    check_.emplace(HealthCheck::Config{.loop = &loop_,
                                       .random = random_.get(),
                                       .log = log_,
                                       .socket_path = path_,
                                       .driver = "test.csi.drv",
                                       .timeout = timeout,
                                       .connect_limit = connect_limit});
    return *check_;
  }
  void Expect(int status, const std::string& body) {
    const HealthReport report = Run(check_->Report());
    EXPECT_EQ(report.status, status) << report.body;
    EXPECT_EQ(report.body, body);
  }
  // Accepts connections and never says a word.
  void Mute() {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::strncpy(where.sun_path, path_.c_str(), sizeof where.sun_path - 1);
    mute_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(mute_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    ASSERT_EQ(::listen(mute_.get(), 100), 0);
  }
  // Connections that wait to be accepted.
  int Pending() {
    int count = 0;
    ::fcntl(mute_.get(), F_SETFL, O_NONBLOCK);
    while (true) {
      const UniqueFd peer(::accept4(mute_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return count;
      ++count;
    }
  }

  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::optional<HealthCheck> check_;
  UniqueFd mute_;
};

TEST_F(HealthTest, AnswerForThisDriverIsOkAgainAndAgain) {
  Serve("test.csi.drv");
  Check();
  Expect(200, "ok");
  Expect(200, "ok");
  EXPECT_EQ(LastMessage(), R"("Health check succeeded")");
}

TEST_F(HealthTest, StepsAreLoggedAsUpstreamDoes) {
  Serve("test.csi.drv");
  Check();
  Expect(200, "ok");
  for (const std::string& text :
       {StrCat("\"Attempting to open a gRPC connection\" socketfile=\"", path_, "\""),
        StrCat("\"Connecting\" address=\"", path_, "\""),
        std::string("\"Calling node registrar to check if it still responds\""),
        std::string("\"GRPC call\" method=\"/pluginregistration.Registration/GetInfo\""),
        std::string("\"GRPC response\" response=")}) {
    EXPECT_THAT(Logged(), HasSubstr(text));
  }
}

// E5 and 12.13, row 20.
TEST_F(HealthTest, MissingSocketIsNotFound) {
  Check();
  Expect(404, "registration socket does not exist");
  EXPECT_EQ(LastMessage(), R"("Health check failed, registration socket does not exist")");
  fs::create_symlink(dir_.path() + "/nowhere", path_);
  Expect(404, "registration socket does not exist");
}

// E6 and 12.13, row 21.
TEST_F(HealthTest, WhatIsNoSocketIsAnError) {
  Check();
  std::ofstream(path_) << "text";
  const HealthReport report = Run(check_->Report());
  EXPECT_EQ(report.status, 500);
  EXPECT_THAT(report.body, HasSubstr("but it's not a socket.: &{"));
  fs::remove(path_);
  fs::create_symlink(path_, path_);
  Expect(500, StrCat("failed to stat the socket ", path_, " with error: stat ", path_,
                     ": too many levels of symbolic links"));
}

// E7 and 12.13, row 22.
TEST_F(HealthTest, AnotherDriverBehindTheSocketIsAnError) {
  const oracle::Row row("registrar/12.13/22");
  Serve("other.drv");
  Check();
  Expect(500, "invalid driver name other.drv");
  EXPECT_EQ(LastMessage(), R"("Health check failed" err="invalid driver name other.drv")");
}

// E9.
TEST_F(HealthTest, ServerWithoutTheServiceIsAnError) {
  server_ = rpc::NewServer(loop_);
  Start();
  Check();
  Expect(500,
         "error getting info from node-registrar socket: rpc error: code = Unimplemented desc = "
         "unknown service pluginregistration.Registration");
}

async::Task<Status> NeverAnswer(::pluginregistration::InfoRequest,
                                ::pluginregistration::PluginInfo*) {
  co_return co_await async::Sleep(std::chrono::hours(1));
}

// E10.
TEST_F(HealthTest, ServerThatNeverAnswersIsAnErrorAfterTheTimeout) {
  server_ = rpc::NewServer(loop_);
  rpc::Handle<::pluginregistration::InfoRequest, ::pluginregistration::PluginInfo>(
      *server_, kGetInfo, NeverAnswer);
  Start();
  Check(milliseconds(100));
  const MonotonicTime start = loop_.Now();
  Expect(500,
         "error getting info from node-registrar socket: rpc error: code = DeadlineExceeded desc = "
         "context deadline exceeded");
  EXPECT_GE(loop_.Now() - start, milliseconds(100));
}

// E11.
TEST_F(HealthTest, SocketWithoutListenerIsAnErrorAfterTheConnectLimit) {
  Mute();
  mute_.reset();
  Check();
  Expect(500, StrCat("error connecting to node-registrar socket ", path_,
                     ": context deadline exceeded"));
}

async::Task<void> Store(HealthCheck* check, std::vector<int>* statuses) {
  const HealthReport report = co_await check->Report();
  statuses->push_back(report.status);
}

TEST_F(HealthTest, RequestsThatComeDuringACheckShareIt) {
  Mute();
  Check();
  std::vector<int> statuses;
  async::Scope scope(loop_);
  for (int i = 0; i < 20; ++i) scope.Spawn(Store(&*check_, &statuses));
  Run(scope.Join());
  EXPECT_EQ(statuses, std::vector<int>(20, 500));
  EXPECT_EQ(Pending(), 1);
}

async::Task<HealthReport> ReportFor(HealthCheck* check, Duration limit) {
  co_return co_await async::WithTimeout(limit, check->Report());
}

// E10: the inner call goes on.
TEST_F(HealthTest, ClientThatLeavesDoesNotEndTheCheck) {
  Mute();
  Check(seconds(1), milliseconds(200));
  EXPECT_EQ(Run(ReportFor(&*check_, milliseconds(20))).status, 0);
  EXPECT_EQ(Run(check_->Report()).status, 500);
  EXPECT_EQ(Pending(), 1);
}

}  // namespace
}  // namespace csinative::registrar
