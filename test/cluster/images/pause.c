// SPDX-License-Identifier: Apache-2.0
//
// The first process of a pod's sandbox, and of a node's process namespace: it waits, and takes the exit codes of processes that lost their
// parent, so that no zombies are left. Linked statically, because the image holds nothing else.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void finish(int signal_number) { _exit(signal_number == SIGINT ? 130 : 0); }

static void reap(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(void) {
  // As process 1 it gets only the signals that it handles.
  struct sigaction on_end = {.sa_handler = finish};
  struct sigaction on_child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  if (sigaction(SIGINT, &on_end, 0) != 0 || sigaction(SIGTERM, &on_end, 0) != 0 || sigaction(SIGCHLD, &on_child, 0) != 0) return 1;
  reap(SIGCHLD);  // what ended before the handler was there
  for (;;) pause();
}
