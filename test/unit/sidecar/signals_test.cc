// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace csinative::sidecar {
namespace {

// The wait status of a child that installs the handling and then gets the signal.
int StatusAfter(int signal, bool ignored_before = false) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (ignored_before) ::signal(signal, SIG_IGN);
    InstallDefaultSignalHandling();
    ::raise(signal);
    ::_exit(77);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

TEST(SignalsTest, TermIntAndHupEndTheProcessByTheSignal) {
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const int status = StatusAfter(signal);
    ASSERT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal);
  }
}

TEST(SignalsTest, QuitAndAbortExitWithTwo) {
  for (int signal : {SIGQUIT, SIGABRT}) {
    const int status = StatusAfter(signal);
    ASSERT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), 2) << signal;
  }
}

TEST(SignalsTest, SignalsWithoutMeaningAreIgnored) {
  for (int signal : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGIO, SIGXCPU, SIGRTMIN, SIGRTMAX}) {
    const int status = StatusAfter(signal);
    ASSERT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), 77);
  }
}

TEST(SignalsTest, IntAndHupThatWereIgnoredStayIgnoredAndTermDoesNot) {
  for (int signal : {SIGINT, SIGHUP}) {
    const int status = StatusAfter(signal, true);
    ASSERT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), 77) << signal;
  }
  EXPECT_TRUE(WIFSIGNALED(StatusAfter(SIGTERM, true)));
}

}  // namespace
}  // namespace csinative::sidecar
