// SPDX-License-Identifier: Apache-2.0
//
// A program started for a test or a demo. It dies with its owner, and with the whole parent process
// even if that is killed. One thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative::test {

struct ChildOptions {
  std::vector<std::string> command;        // path and arguments; argv[0] is the path
  std::map<std::string, std::string> env;  // added to the parent's
  std::string stdout_file;                 // empty: inherited
  std::string stderr_file;                 // empty: inherited
  // Not empty: the child sees this name of the machine, in a namespace of its own. Without the
  // right to that (root, or user namespaces) it ends at once with 127.
  std::string host_name;
};

class ChildProcess {
 public:
  static Result<ChildProcess> Start(ChildOptions options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  // Kills with SIGKILL and waits.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  void Signal(int signal);
  // The wait status once the child has ended; nullopt while it runs. Does not block.
  std::optional<int> Poll();
  // Blocks up to `limit`; nullopt if the child still runs. Not for the loop's thread.
  std::optional<int> Wait(Duration limit);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  void Kill();

  pid_t pid_ = -1;
  std::optional<int> status_;
};

// TCP ports on which the process listens, in ascending order.
std::vector<int> ListeningPorts(pid_t pid);

// Folder that is removed with its content.
class TempDir {
 public:
  // Below $TMPDIR or /tmp. Aborts the program if that is impossible.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  // Leaves the folder behind, e.g. for its logs.
  void Keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace csinative::test
