// SPDX-License-Identifier: Apache-2.0
//
// How csi-node-driver-registrar ends (registrar 1.7, 3.7).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/base/strings.h"
#include "test/integration/registrar/fixture.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

class SignalTest : public RegistrarFixture {
 protected:
  void EndAndExpectGone(int code) {
    program_->Signal(SIGTERM);
    EXPECT_EQ(ExitCode(seconds(5)), code);
  }
};

// F1, 12.13 row 14.
TEST_F(SignalTest, TermTakesTheRegistrationBack) {
  const oracle::Row row("registrar/12.13/14");
  StartAll();
  (void)Register();
  const std::string before = Stderr();
  EndAndExpectGone(0);
  EXPECT_FALSE(Exists(socket()));
  EXPECT_EQ(Stderr(), before);
}

// F2, 12.13 row 15.
TEST_F(SignalTest, TermRemovesWhateverReplacedTheSocket) {
  const oracle::Row row("registrar/12.13/15");
  const std::string target = dir_.path() + "/target";
  std::ofstream(target) << "text";
  const std::vector<std::function<void()>> states = {
      [] {}, [this] { std::ofstream(socket()) << "text"; },
      [this] { fs::create_directory(socket()); }, [&] { fs::create_symlink(target, socket()); },
      [this] { fs::remove_all(folder()); }};
  StartDriver();
  for (const auto& replace : states) {
    fs::remove(log_path());
    StartProgram(UsualArguments());
    WaitForSocket();
    fs::remove(socket());
    replace();
    EndAndExpectGone(0);
    EXPECT_FALSE(Exists(socket()));
  }
  EXPECT_TRUE(Exists(target));
}

// F3, 12.13 row 16.
TEST_F(SignalTest, TermLeavesAFolderWithContentAndFails) {
  const oracle::Row row("registrar/12.13/16");
  StartAll();
  fs::remove(socket());
  fs::create_directories(socket() + "/more");
  EndAndExpectGone(1);
  EXPECT_TRUE(Exists(socket() + "/more"));
  EXPECT_TRUE(Logged(StrCat("\"Failed to remove socket with error\" err=\"remove ", socket(),
                            ": directory not empty\" socket=\"", socket(), "\"")))
      << Stderr();
}

// F4, where upstream deregisters the driver.
TEST_F(SignalTest, TermOfAReplacedProcessLeavesTheSocketOfItsSuccessor) {
  StartAll();
  auto older = std::move(program_);
  fs::remove(log_path());
  StartProgram(UsualArguments());
  WaitForSocket();
  auto newer = std::move(program_);
  program_ = std::move(older);
  EndAndExpectGone(0);
  EXPECT_TRUE(IsSocket(socket()));
  EXPECT_TRUE(GetInfo().ok());
  program_ = std::move(newer);
  EndAndExpectGone(0);
  EXPECT_FALSE(Exists(socket()));
}

// F5.
TEST_F(SignalTest, OtherSignalsEndItAndLeaveTheSocket) {
  StartDriver();
  for (const int signal : {SIGINT, SIGHUP}) {
    fs::remove(log_path());
    StartProgram(UsualArguments());
    WaitForSocket();
    program_->Signal(signal);
    EXPECT_EQ(ExitCode(seconds(5)), -signal);
    EXPECT_TRUE(IsSocket(socket()));
  }
}

// F6.
TEST_F(SignalTest, QuitAndAbortExitWithTwo) {
  StartDriver();
  for (const int signal : {SIGQUIT, SIGABRT}) {
    fs::remove(log_path());
    StartProgram(UsualArguments());
    WaitForSocket();
    program_->Signal(signal);
    EXPECT_EQ(ExitCode(seconds(5)), 2);
    EXPECT_TRUE(IsSocket(socket()));
  }
}

// F7, 12.13 row 17.
TEST_F(SignalTest, SignalsWithoutMeaningHaveNoEffect) {
  const oracle::Row row("registrar/12.13/17");
  StartAll();
  for (const int signal :
       {SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGWINCH, SIGXCPU, SIGPIPE, SIGIO, SIGRTMIN + 3}) {
    program_->Signal(signal);
    EXPECT_TRUE(GetInfo().ok()) << signal;
    EXPECT_TRUE(Running()) << signal;
  }
}

// F9.
TEST_F(SignalTest, TermBeforeTheDriverIsThereEndsItByTheSignal) {
  StartProgram(UsualArguments());
  ASSERT_TRUE(Until([this] { return Logged("\"Connecting\""); }));
  program_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(seconds(5)), -SIGTERM);
}

// F1, F5, F9, 12.13 row 19: as a container's first process.
TEST_F(SignalTest, AsFirstProcessSignalsBecomeExitCodes) {
  const oracle::Row row("registrar/12.13/19");
  struct Row {
    int signal;
    bool driver;
    int code;
  };
  for (const Row& row : {Row{SIGTERM, false, 2}, Row{SIGINT, false, 2}, Row{SIGTERM, true, 0},
                         Row{SIGINT, true, 2}, Row{SIGHUP, true, 2}}) {
    if (row.driver && !driver_) StartDriver();
    fs::remove(log_path());
    StartProgram(UsualArguments(), AsFirstProcess());
    ASSERT_TRUE(Until([&] {
      return Logged(row.driver ? "\"Skipping HTTP server\"" : "\"Connecting\"") && Inner() != 0;
    })) << Stderr();
    ::kill(Inner(), row.signal);
    EXPECT_EQ(ExitCode(seconds(5)), row.code) << row.signal;
    EXPECT_EQ(Exists(socket()), row.driver && row.code != 0) << row.signal;
  }
}

// F12.
TEST_F(SignalTest, IgnoredAtStartIntAndHupStayIgnoredAndTermDoesNot) {
  StartDriver();
  StartProgram(UsualArguments(), {"/usr/bin/env", "--ignore-signal=INT,HUP,TERM"});
  WaitForSocket();
  for (const int signal : {SIGINT, SIGHUP}) {
    program_->Signal(signal);
    EXPECT_TRUE(GetInfo().ok());
    EXPECT_TRUE(Running()) << signal;
  }
  EndAndExpectGone(0);
  EXPECT_FALSE(Exists(socket()));
}

// F13, 12.13 row 18.
TEST_F(SignalTest, WithNobodyToReadItsLogItIsKilledAtTheNextRecord) {
  const oracle::Row row("registrar/12.13/18");
  StartDriver();
  // The reader of the pipe ends as soon as the program serves.
  const std::string fifo = log_path();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  UniqueFd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  StartProgram(UsualArguments());
  ASSERT_TRUE(Until([this] { return IsSocket(socket()); }));
  ASSERT_TRUE(Answers(seconds(20)));
  EXPECT_TRUE(Running());
  reader.reset();
  (void)GetInfo();
  EXPECT_EQ(ExitCode(seconds(5)), -SIGPIPE);
  EXPECT_TRUE(IsSocket(socket()));
  fs::remove(fifo);  // reading it would block
}

TEST_F(SignalTest, FullDeviceForItsLogIsIgnored) {
  StartDriver();
  fs::create_symlink("/dev/full", log_path());
  StartProgram(UsualArguments());
  ASSERT_TRUE(Until([this] { return IsSocket(socket()); }));
  EXPECT_TRUE(Answers(seconds(20)));
  EXPECT_TRUE(Running());
  fs::remove(log_path());
}

}  // namespace
}  // namespace csinative
