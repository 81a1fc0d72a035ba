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

void QuitWithDump(int) {
  static constexpr char kText[] = "SIGQUIT: quit\n";
  (void)!::write(2, kText, sizeof kText - 1);
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
  for (int signal : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGIO}) ::signal(signal, SIG_IGN);
  struct sigaction interrupt = {};
  ::sigaction(SIGINT, nullptr, &interrupt);
  if (interrupt.sa_handler != SIG_IGN) Handle(SIGINT, EndBySignal);
  Handle(SIGTERM, EndBySignal);
  Handle(SIGHUP, EndBySignal);
  Handle(SIGQUIT, QuitWithDump);
}

}  // namespace csinative::sidecar
