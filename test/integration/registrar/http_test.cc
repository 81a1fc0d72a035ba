// SPDX-License-Identifier: Apache-2.0
//
// The HTTP server of csi-node-driver-registrar from outside (registrar 3.6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "lib/base/strings.h"
#include "test/integration/registrar/fixture.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HttpTest : public RegistrarFixture {
 protected:
  void Serve(std::vector<std::string> more = {"--http-endpoint=127.0.0.1:"}) {
    StartAll(std::move(more));
    ASSERT_TRUE(Until([this] { return HttpPort() != 0; }));
  }
};

// E1, E16.
TEST_F(HttpTest, AnyMethodOnHealthzGetsTheSameAnswer) {
  Serve();
  ExpectHealthyForAnyMethod();
  EXPECT_THAT(Http("GET http://h/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              EndsWith("\r\n\r\nok"));
}

// E3.
TEST_F(HttpTest, OtherPathsAreNotFound) {
  Serve();
  for (const char* path : {"/", "/metrics", "/healthz/", "/HEALTHZ", "/debug/pprof/"}) {
    const std::string answer = Get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\n404 page not found\n"));
  }
}

// E4.
TEST_F(HttpTest, UncleanPathIsRedirected) {
  Serve();
  for (const char* path : {"//healthz", "/./healthz", "/a/../healthz"}) {
    const std::string answer = Get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 307 Temporary Redirect\r\n")) << path;
    EXPECT_THAT(answer, HasSubstr("\r\nLocation: /healthz\r\n")) << path;
  }
}

// E5 to E7.
TEST_F(HttpTest, AnswerFollowsWhatIsAtTheSocketPath) {
  const oracle::Row row("registrar/12.13/20");
  const oracle::Row row2("registrar/12.13/21");
  Serve();
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
  fs::remove(socket());
  std::string answer = Get("/healthz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nregistration socket does not exist"));
  EXPECT_FALSE(Exists(socket()));
  std::ofstream(socket()) << "text";
  answer = Get("/healthz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, HasSubstr("but it's not a socket"));
}

// E12.
TEST_F(HttpTest, GarbageIsABadRequestAndTheServerGoesOn) {
  Serve();
  EXPECT_THAT(Http("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Http("GET /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Http("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
}

TEST_F(HttpTest, HealthPortListensOnAllAddresses) {
  // A free port; another program could take it in between, which the retry covers.
  for (int attempt = 0;; ++attempt) {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
    socklen_t size = sizeof where;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&where), &size);
    const int port = ntohs(where.sin_port);
    StartDriver();
    const_cast<UniqueFd&>(fd).reset();
    StartProgram(UsualArguments({StrCat("--health-port=", port)}));
    const bool settled = Until([this] { return HttpPort() != 0 || !Running(); });
    ASSERT_TRUE(settled);
    if (!Running() && attempt < 5) {
      StopDriver();
      continue;
    }
    EXPECT_EQ(HttpPort(), port);
    EXPECT_TRUE(Logged(StrCat("\"Starting HTTP server\" endpoint=\":", port, "\"")));
    EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
    break;
  }
}

// E14.
TEST_F(HttpTest, NegativeHealthPortLeavesTheEndpoint) {
  const oracle::Row row("registrar/12.13/8");
  Serve({"--health-port=-1", "--http-endpoint=127.0.0.1:0"});
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
}

// E15.
TEST_F(HttpTest, PortInUseEndsTheProcessAndLeavesTheSocket) {
  const oracle::Row row("registrar/12.13/10");
  Serve();
  const int port = HttpPort();
  auto first = std::move(program_);
  fs::create_directory(dir_.path() + "/second");
  fs::remove(log_path());
  StartProgram({"--csi-address=" + driver_socket(), "--kubelet-registration-path=/x",
                "--plugin-registration-path=" + dir_.path() + "/second",
                StrCat("--http-endpoint=127.0.0.1:", port)});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(
      StrCat("] \"\" err=\"listen tcp 127.0.0.1:", port, ": bind: address already in use\"")))
      << Stderr();
  EXPECT_TRUE(IsSocket(StrCat(dir_.path(), "/second/", kDriver, "-reg.sock")));
}

// E8: the check is of the driver, not of the process.
TEST_F(HttpTest, AnotherProcessOfTheSameDriverBehindTheSocketIsFine) {
  Serve();
  auto first = std::move(program_);
  fs::remove(log_path());
  StartProgram(UsualArguments());
  WaitForSocket();
  auto second = std::move(program_);
  program_ = std::move(first);
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
}

// E17.
TEST_F(HttpTest, ProfilesAreServedOnRequest) {
  Serve({"--http-endpoint=127.0.0.1:0", "--enable-pprof"});
  EXPECT_TRUE(Logged("\"Starting profiling\" endpoint=\"127.0.0.1:0\""));
  const std::string index = Get("/debug/pprof/");
  EXPECT_THAT(index, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(index, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(Get("/debug/pprof/cmdline"), HasSubstr(std::string("--enable-pprof")));
  EXPECT_THAT(Get("/debug/pprof/nope"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/metrics"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpTest, ProfilesWithoutAnAddressOpenNothing) {
  StartAll({"--enable-pprof"});
  ASSERT_TRUE(Until([this] { return Logged("\"Skipping HTTP server\""); }));
  EXPECT_EQ(HttpPort(), 0);
}

// F11.
TEST_F(HttpTest, CheckInFlightDoesNotKeepTheProcess) {
  Serve();
  fs::remove(socket());
  {
    auto stale = test::ListenMute(socket());
  }
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(HttpPort()));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::write(fd.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  ASSERT_TRUE(Until([this] { return Logged("socketfile="); }));
  fs::remove(socket());
  program_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(seconds(5)), 0);
  char byte = 0;
  EXPECT_LE(::read(fd.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace csinative
