// SPDX-License-Identifier: Apache-2.0
//
// Running a program and taking its standard output: the seam below credential plugins. Loop only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/async/task.h"
#include "lib/base/result.h"

namespace csinative::kube {

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked for in PATH if it holds no slash
  std::vector<std::string> env;   // "NAME=value", beside our own environment, which they replace
  // Standard input is ours, else it is empty. Standard error always is ours.
  bool inherit_stdin = false;
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal for a program that was killed
  std::string text;   // what it wrote to standard output
};

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // kNotFound when the program cannot be started. A cancelled call kills the program.
  virtual async::Task<Result<CommandOutput>> Run(Command command) = 0;
};

// Starts processes and waits for them on a thread of its own, one at a time. Its destruction kills
// a program that still runs.
std::unique_ptr<CommandRunner> NewCommandRunner();

}  // namespace csinative::kube
