// SPDX-License-Identifier: Apache-2.0
//
// csi-node-driver-registrar as a program between the sample driver and a kubelet: registration,
// refusal, restarts of either side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "lib/base/strings.h"
#include "test/integration/registrar/fixture.h"
#include "test/integration/registrar/kubelet_wire.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class RegistrationTest : public RegistrarFixture {};

TEST_F(RegistrationTest, KubeletLearnsDriverAndEndpointAndTellsTheOutcome) {
  StartAll();
  const auto registration = Register();
  ASSERT_TRUE(registration.ok()) << registration.status().ToString();
  EXPECT_EQ(registration->info.type(), "CSIPlugin");
  EXPECT_EQ(registration->info.name(), kDriver);
  EXPECT_EQ(registration->info.endpoint(), driver_socket());
  EXPECT_THAT(registration->info.supported_versions(), ElementsAre("1.0.0"));
  EXPECT_EQ(registration->node_id, "node-1");
  EXPECT_TRUE(registration->notified.ok()) << registration->notified.ToString();
  EXPECT_TRUE(Until([this] { return Logged(R"(status="plugin_registered:true")"); }));
  EXPECT_TRUE(Running());
}

TEST_F(RegistrationTest, RestartedKubeletIsAnsweredAgain) {
  StartAll();
  for (int i = 0; i < 3; ++i) {
    const auto registration = Register();
    ASSERT_TRUE(registration.ok()) << registration.status().ToString();
    EXPECT_TRUE(registration->notified.ok());
  }
  EXPECT_TRUE(Running());
}

// registrar 2: the authority of the kubelet's client, and others (D2).
TEST_F(RegistrationTest, AnyAuthorityIsAnswered) {
  StartAll();
  for (const std::string& authority :
       {ReplaceAll(socket(), "/", "%2F"), std::string("localhost"), std::string("weird host")}) {
    const auto answer =
        CallWithAuthority(socket(), authority, "/pluginregistration.Registration/GetInfo");
    ASSERT_TRUE(answer.ok()) << authority << ": " << answer.status().ToString();
    ::pluginregistration::PluginInfo info;
    ASSERT_TRUE(info.ParseFromString(*answer));
    EXPECT_EQ(info.name(), kDriver);
  }
}

TEST_F(RegistrationTest, PathForTheKubeletIsPassedOnUnseen) {
  StartDriver();
  StartProgram({"--csi-address=" + driver_socket(),
                "--kubelet-registration-path=C:\\nowhere\\csi.sock",
                "--plugin-registration-path=" + folder(), "-v=5"});
  WaitForSocket();
  EXPECT_EQ(GetInfo()->endpoint(), "C:\\nowhere\\csi.sock");
}

// C1, B19.
TEST_F(RegistrationTest, SocketIsForItsOwnerOnly) {
  StartAll();
  struct stat info = {};
  ASSERT_EQ(::lstat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0700));
}

// D4, 12.13 row 13, and registrar 10: the next process replaces the socket.
TEST_F(RegistrationTest, RefusalEndsTheProcessWithoutAnAnswerAndTheNextOneRegisters) {
  const oracle::Row row("registrar/12.13/13");
  StartAll();
  const auto registration = Register("no such luck");
  ASSERT_TRUE(registration.ok()) << registration.status().ToString();
  EXPECT_THAT(registration->notified.message(), HasSubstr("code = Unavailable"));
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(
      Logged(R"("Received NotifyRegistrationStatus call" status="error:\"no such luck\"")"));
  EXPECT_TRUE(
      Logged("\"Registration process failed with error, restarting registration "
             "container\" err=\"no such luck\""));
  EXPECT_TRUE(IsSocket(socket()));

  fs::remove(log_path());
  StartProgram(UsualArguments());
  WaitForSocket();
  EXPECT_TRUE(Register()->notified.ok());
}

// F8, registrar 10.
TEST_F(RegistrationTest, KilledItLeavesASocketThatTheNextOneReplaces) {
  StartAll();
  struct stat before = {};
  ASSERT_EQ(::lstat(socket().c_str(), &before), 0);
  program_->Signal(SIGKILL);
  EXPECT_EQ(ExitCode(), -SIGKILL);
  EXPECT_TRUE(IsSocket(socket()));
  fs::remove(log_path());
  StartProgram(UsualArguments());
  WaitForSocket();
  EXPECT_TRUE(Register()->notified.ok());
}

// B12.
TEST_F(RegistrationTest, DriverThatComesLateIsRegisteredWithinTwoSeconds) {
  StartProgram(UsualArguments());
  ASSERT_TRUE(Until([this] { return Logged("\"Connecting\" address="); }));
  EXPECT_FALSE(Exists(socket()));
  StartDriver();
  EXPECT_TRUE(Until([this] { return IsSocket(socket()); }, seconds(3)));
}

// B18: the same driver at the same place is no news.
TEST_F(RegistrationTest, DriverThatRestartsChangesNothing) {
  StartAll();
  struct stat before = {};
  ASSERT_EQ(::lstat(socket().c_str(), &before), 0);
  StopDriver();
  EXPECT_EQ(GetInfo()->name(), kDriver);
  StartDriver();
  const auto registration = Register();
  ASSERT_TRUE(registration.ok()) << registration.status().ToString();
  EXPECT_TRUE(registration->notified.ok());
  struct stat after = {};
  ASSERT_EQ(::lstat(socket().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_FALSE(Logged("Lost connection")) << Stderr();
}

// A registration under the old name would stay wrong for ever.
TEST_F(RegistrationTest, DriverThatComesBackUnderAnotherNameIsRegisteredAnew) {
  StartAll();
  StopDriver();
  StartDriver({"--driver-name=other.csi-native.io"});
  EXPECT_EQ(ExitCode(seconds(20)), 1);
  EXPECT_TRUE(
      Logged("\"CSI driver has another name now, restarting registration container\" "
             "csiDriverName=\"sample.csi-native.io\" newName=\"other.csi-native.io\""))
      << Stderr();
  EXPECT_FALSE(Exists(socket()));
  fs::remove(log_path());
  StartProgram(UsualArguments());
  WaitForSocket();
  EXPECT_TRUE(IsSocket(folder() + "/other.csi-native.io-reg.sock"));
}

// W7. Off by default: AnswerFollowsWhatIsAtTheSocketPath in http_test.cc.
TEST_F(RegistrationTest, RemovedSocketIsMadeAgainOnRequest) {
  StartAll({"--recreate-socket", "--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; }));
  fs::remove(socket());
  ASSERT_TRUE(Answers(seconds(20)));
  struct stat info = {};
  ASSERT_EQ(::lstat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0700));
  EXPECT_TRUE(Register()->notified.ok());
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
  program_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_FALSE(Exists(socket()));
}

TEST_F(RegistrationTest, SocketIsMadeAgainOnceItsFolderIsBack) {
  StartAll({"--recreate-socket"});
  fs::remove_all(folder());
  ASSERT_TRUE(Until([this] { return Logged("\"Failed to listen on socket\""); }, seconds(20)));
  EXPECT_TRUE(Running());
  fs::create_directory(folder());
  ASSERT_TRUE(Answers(seconds(20)));
}

TEST_F(RegistrationTest, NameIsAskedForOnce) {
  StartAll();
  (void)Register();
  (void)GetInfo();
  const std::string calls = DriverLog();
  const size_t first = calls.find("GetPluginInfo");
  ASSERT_NE(first, npos) << calls;
  EXPECT_EQ(calls.find("GetPluginInfo", calls.find('\n', first)), npos) << calls;
}

// B6: address forms that published manifests use.
TEST_F(RegistrationTest, AddressFormsReachTheDriver) {
  StartDriver();
  for (const std::string& address :
       {"unix://" + driver_socket(), "unix:" + driver_socket(), "/tmp/.." + driver_socket()}) {
    StartProgram({"--csi-address=" + address, "--kubelet-registration-path=/x",
                  "--plugin-registration-path=" + folder() + "/", "-v=5"});
    EXPECT_TRUE(Answers(seconds(5))) << address;
    program_->Signal(SIGTERM);
    EXPECT_EQ(ExitCode(), 0);
    EXPECT_FALSE(Exists(socket()));
  }
}

// A17.
TEST_F(RegistrationTest, LevelsOfTheLogAreThoseOfUpstream) {
  StartAll();
  (void)Register();
  const std::vector<std::string> in_order = {
      "\"Version\" version=\"v",
      "\"Running node-driver-registrar\" mode=\"\"",
      StrCat("\"Attempting to open a gRPC connection\" csiAddress=\"", driver_socket(), "\""),
      StrCat("\"Connecting\" address=\"", driver_socket(), "\""),
      "\"Calling CSI driver to discover driver name\"",
      "\"GRPC call\" method=\"/csi.v1.Identity/GetPluginInfo\" request=\"{}\"",
      "\"GRPC response\" response=\"{\\\"name\\\":\\\"sample.csi-native.io\\\"",
      "\"CSI driver name\" csiDriverName=\"sample.csi-native.io\"",
      StrCat("\"Starting Registration Server\" socketPath=\"", socket(), "\""),
      StrCat("\"Registration Server started\" socketPath=\"", socket(), "\""),
      "\"Skipping HTTP server\"",
      "\"Received GetInfo call\" request=\"\"",
      "\"Received NotifyRegistrationStatus call\" status=\"plugin_registered:true\""};
  const std::string text = Stderr();
  size_t at = 0;
  for (const std::string& record : in_order) {
    const size_t found = text.find(record, at);
    ASSERT_NE(found, npos) << record << "\n" << text;
    at = found;
  }
}

TEST_F(RegistrationTest, QuietLogHasOnlyWhatUpstreamWrites) {
  StartAll({"-v=0"});
  (void)Register();
  ASSERT_TRUE(Until([this] { return Logged("Received NotifyRegistrationStatus"); }));
  const std::string text = Stderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
}

// A18.
TEST_F(RegistrationTest, JsonLogIsOneObjectALine) {
  StartDriver();
  StartProgram(UsualArguments({"--logging-format=json"}));
  ASSERT_TRUE(Until([this] { return Logged(R"("msg":"Registration Server started")"); }));
  EXPECT_TRUE(Logged(R"("msg":"CSI driver name","v":2,"csiDriverName":"sample.csi-native.io")"))
      << Stderr();
}

}  // namespace
}  // namespace csinative
