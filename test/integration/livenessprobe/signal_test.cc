// SPDX-License-Identifier: Apache-2.0
//
// How livenessprobe ends (registrar 1.7, 4.4).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>

#include "test/integration/livenessprobe/fixture.h"

namespace csinative {
namespace {

using std::chrono::seconds;
using ::testing::EndsWith;

struct SignalRow {
  const char* name;
  int signal;
  bool first;   // as PID 1
  bool driver;  // serving; else waiting for the driver
  int code;
};
void PrintTo(const SignalRow& row, std::ostream* out) { *out << row.name; }

class LivenessprobeSignalTest : public LivenessprobeFixture,
                                public ::testing::WithParamInterface<SignalRow> {};

// F6, F10.
TEST_P(LivenessprobeSignalTest, EndsTheProcess) {
  const SignalRow& row = GetParam();
  if (row.driver) StartDriver();
  StartLivenessprobe({"--http-endpoint=127.0.0.1:0"},
                     row.first ? AsFirstProcess() : std::vector<std::string>{});
  ASSERT_TRUE(Until([&] {
    return Logged(row.driver ? "\"ServeMux listening\"" : "\"Connecting\"") &&
           (!row.first || Inner() != 0);
  })) << Stderr();
  ::kill(row.first ? Inner() : program_->pid(), row.signal);
  EXPECT_EQ(ExitCode(seconds(5)), row.code);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LivenessprobeSignalTest,
    ::testing::Values(SignalRow{"F10_term", SIGTERM, false, true, -SIGTERM},
                      SignalRow{"F10_int", SIGINT, false, true, -SIGINT},
                      SignalRow{"hup", SIGHUP, false, true, -SIGHUP},
                      SignalRow{"F10_term_waiting", SIGTERM, false, false, -SIGTERM},
                      SignalRow{"F10_int_waiting", SIGINT, false, false, -SIGINT},
                      SignalRow{"F6_quit", SIGQUIT, false, true, 2},
                      SignalRow{"F6_abort", SIGABRT, false, true, 2},
                      SignalRow{"F10_term_first", SIGTERM, true, true, 2},
                      SignalRow{"F10_int_first", SIGINT, true, true, 2},
                      SignalRow{"F10_term_first_waiting", SIGTERM, true, false, 2}),
    [](const auto& info) { return std::string(info.param.name); });

class LivenessprobeEndTest : public LivenessprobeFixture {};

// F7.
TEST_F(LivenessprobeEndTest, SignalsWithoutMeaningHaveNoEffect) {
  StartDriver();
  StartServing();
  for (const int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGWINCH, SIGXCPU, SIGPIPE}) {
    program_->Signal(signal);
    EXPECT_THAT(Get("/healthz"), EndsWith("ok")) << signal;
    EXPECT_TRUE(Running()) << signal;
  }
}

// F10: a check in progress is cut without an answer.
TEST_F(LivenessprobeEndTest, TermDoesNotWaitForACheck) {
  StartDriver({"--hang", "Probe"});
  StartServing();
  const UniqueFd client = test::ConnectTo(HttpPort());
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::write(client.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  ASSERT_TRUE(Until([this] { return Logged("Probe\" request="); }));
  program_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(seconds(2)), -SIGTERM);
  char byte = 0;
  EXPECT_LE(::read(client.get(), &byte, 1), 0);
}

// F12.
TEST_F(LivenessprobeEndTest, IgnoredAtStartIntAndHupStayIgnoredAndTermDoesNot) {
  StartDriver();
  StartLivenessprobe({"--http-endpoint=127.0.0.1:0"},
                     {"/usr/bin/env", "--ignore-signal=INT,HUP,TERM"});
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; }));
  for (const int signal : {SIGINT, SIGHUP}) {
    program_->Signal(signal);
    EXPECT_THAT(Get("/healthz"), EndsWith("ok"));
  }
  program_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(seconds(5)), -SIGTERM);
}

// F13.
TEST_F(LivenessprobeEndTest, WithNobodyToReadItsLogItIsKilledAtTheNextRecord) {
  StartDriver();
  ASSERT_EQ(::mkfifo(log_path().c_str(), 0600), 0);
  UniqueFd reader(::open(log_path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  StartLivenessprobe({"--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; }));
  reader.reset();
  (void)Get("/healthz");
  EXPECT_EQ(ExitCode(seconds(5)), -SIGPIPE);
}

}  // namespace
}  // namespace csinative
