// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/signals.h"

#include <unistd.h>
#include <csignal>
#include <initializer_list>

namespace csinative::sidecar {
namespace {

// Async-signal-safe only.
void EndBySignal(int signal) {
  if (::getpid() == 1) ::_exit(2);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void QuitWithDump(int signal) {
  static constexpr char kQuit[] = "SIGQUIT: quit\n";
  static constexpr char kAbort[] = "SIGABRT: abort\n";
  if (signal == SIGQUIT) {
    (void)!::write(2, kQuit, sizeof kQuit - 1);
  } else {
    (void)!::write(2, kAbort, sizeof kAbort - 1);
  }
  ::_exit(2);
}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void InstallDefaultSignalHandling() {
  for (int signal : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGIO, SIGXCPU}) {
    ::signal(signal, SIG_IGN);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_IGN);
  for (int signal : {SIGINT, SIGHUP}) {
    struct sigaction before = {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) Handle(signal, EndBySignal);
  }
  Handle(SIGTERM, EndBySignal);
  Handle(SIGQUIT, QuitWithDump);
  Handle(SIGABRT, QuitWithDump);
}

}  // namespace csinative::sidecar
