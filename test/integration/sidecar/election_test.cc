// SPDX-License-Identifier: Apache-2.0
//
// Leaders that are told to end, lose their Lease or stand still (common 10, 11, 17). Not built yet
// and so not here: csi-resizer, csi-snapshotter and snapshot-controller.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/sidecar/leader_fixture.h"
#include "test/support/oracle_rows.h"

namespace csinative {
namespace {

using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SidecarElectionTest : public LeaderFixture {};

TEST_F(SidecarElectionTest, TermAsFirstProcessEndsItAndLeavesTheLease) {
  const oracle::Row row("common/20.11/4");
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    Program& program = StartLeader(controller, {"--leader-election-retry-period=1500ms"},
                                   {.wrapper = AsFirstProcess()});
    const std::string before = Lease(controller);
    api_->api().ClearLog();
    const MonotonicTime start = loop_.Now();
    ::kill(InnerOf(program.child().pid()), SIGTERM);
    EXPECT_EQ(ExitCode(program), 2);
    EXPECT_LE(loop_.Now() - start, seconds(1));
    EXPECT_EQ(LeaseWrites(), 0);
    EXPECT_EQ(Lease(controller), before);
    EXPECT_THAT(before, Not(HasSubstr(R"("holderIdentity":"")")));
  }
}

TEST_F(SidecarElectionTest, TermWithTheGateReleasesTheLease) {
  const oracle::Row row("common/20.11/5");
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    for (const int signal : {SIGTERM, SIGINT}) {
      Program& program = StartLeader(controller, {kGate});
      program.child().Signal(signal);
      EXPECT_EQ(ExitCode(program), 1);
      EXPECT_TRUE(program.Logged("\"Stopped leading\""));
      EXPECT_THAT(Lease(controller), HasSubstr(R"("leaseDurationSeconds":1)"));
      EXPECT_THAT(Lease(controller), Not(HasSubstr(R"("holderIdentity":")" + HostName())));
    }
  }
}

TEST_F(SidecarElectionTest, TermWithTheGateAndWithoutAnElectionIsSuccess) {
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    Program& program = Start(controller.program, ControllerArguments({kGate}));
    ASSERT_TRUE(Until([&] { return program.Logged("Start"); }));
    ASSERT_TRUE(Until([&] { return api_->api().open_watches() > 0; }));
    program.child().Signal(SIGTERM);
    EXPECT_EQ(ExitCode(program), 0);
    ASSERT_TRUE(Until([&] { return api_->api().open_watches() == 0; }));
  }
}

// Better than upstream, whose standby waits for a second signal (docs/compatibility.md).
TEST_F(SidecarElectionTest, StandbyEndsAtTheFirstSignal) {
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    Program& leader = StartLeader(controller);
    TakeOver(controller);
    leader.child().Signal(SIGKILL);
    Program& standby = Start(
        controller.program,
        ControllerArguments({kGate, "--leader-election", "--leader-election-namespace=default"}));
    ASSERT_TRUE(Until([&] { return standby.Logged("Lease is held by and has not yet expired"); }));
    const std::string before = Lease(controller);
    standby.child().Signal(SIGTERM);
    EXPECT_EQ(ExitCode(standby), 1);
    EXPECT_EQ(Lease(controller), before);
  }
}

// Better than upstream, whose leader goes on until the renew deadline (docs/compatibility.md).
TEST_F(SidecarElectionTest, LeaseThatWasTakenOverEndsTheLeaderAtItsNextRenewal) {
  StartWorld();
  for (const Controller& controller : {kAttacher, kProvisioner}) {
    Program& program = StartLeader(controller);
    const MonotonicTime start = loop_.Now();
    TakeOver(controller);
    EXPECT_EQ(ExitCode(program), 1);
    // The retry period is one second; and something for a busy machine.
    EXPECT_LE(loop_.Now() - start, seconds(4));
    EXPECT_TRUE(program.Logged("\"Failed to renew lease\""));
    EXPECT_TRUE(program.Logged("\"Stopped leading\""));
    EXPECT_THAT(Lease(controller), HasSubstr(R"("holderIdentity":"other")"));
  }
}

// The slack of the check is 20 seconds, whatever the flags say.
TEST_F(SidecarElectionTest, FrozenLeaderIsUnhealthyAndEndsWhenItGoesOn) {
  const oracle::Row row("common/20.11/9");
  StartWorld();
  Program& program = StartLeader(kAttacher, {"--http-endpoint=127.0.0.1:0"});
  const int port = program.Port();
  EXPECT_THAT(Get("/healthz/leader-election", port), EndsWith("\r\n\r\nok"));
  program.child().Signal(SIGSTOP);
  EXPECT_FALSE(Until([&] { return !program.Running(); }, seconds(3 + 22)));
  TakeOver(kAttacher);
  const UniqueFd connection = test::ConnectTo(port);
  ASSERT_TRUE(connection.valid());
  const std::string request =
      "GET /healthz/leader-election HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(::write(connection.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  const timeval limit{10, 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  program.child().Signal(SIGCONT);
  // Reading blocks this process and with it the API server: the leader learns only afterwards that
  // somebody else leads.
  std::string answer;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(connection.get(), buffer, sizeof buffer)) > 0) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\ninternal server error: failed election to renew leadership "
                               "on lease \n"));
  EXPECT_EQ(ExitCode(program), 1);
  EXPECT_TRUE(program.Logged("\"Stopped leading\""));
}

}  // namespace
}  // namespace csinative
