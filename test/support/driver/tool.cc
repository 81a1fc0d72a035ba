// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/tool.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"

extern char** environ;

namespace csinative::driver {

Status RunTool(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return OsStatus(errno, "pipe");
  UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, input.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, input.get(), 2);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  input.reset();
  if (failure != 0) return OsStatus(failure, "run " + arguments[0]);
  std::string text;
  char buffer[1024];
  ssize_t n;
  while ((n = read(output.get(), buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status();
  return InternalError(Join(arguments, " ") + ": " + std::string(TrimSpace(text)));
}

}  // namespace csinative::driver
