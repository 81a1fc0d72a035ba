// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/command_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/async/blocking.h"
#include "lib/base/unique_fd.h"

extern char** environ;

// glibc 2.36 declares these without C linkage.
extern "C" {
#include <sys/pidfd.h>
}

namespace csinative::kube {
namespace {

// More is no credential.
constexpr size_t kMaxOutput = size_t{1} << 20;

// The program in progress, shared by the loop, which may kill it, and the thread that waits for it.
class Child {
 public:
  // The thread's side; the descriptor stays open until nobody can use it.
  void Started(int pidfd) {
    pidfd_ = pidfd;
    if (killed_) Signal();
  }
  // The loop's side. Any time.
  void Kill() {
    killed_ = true;
    Signal();
  }
  ~Child() {
    if (pidfd_ >= 0) ::close(pidfd_);
  }

 private:
  void Signal() {
    if (pidfd_ >= 0) ::pidfd_send_signal(pidfd_, SIGKILL, nullptr, 0);
  }

  std::atomic<int> pidfd_{-1};
  std::atomic<bool> killed_{false};
};

// Our environment with the command's variables in it.
std::vector<std::string> Merge(const std::vector<std::string>& ours) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name =
        std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    bool replaced = false;
    for (const std::string& variable : ours) {
      replaced = replaced || std::string_view(variable).substr(0, variable.find('=')) == name;
    }
    if (!replaced) all.emplace_back(*entry);
  }
  all.insert(all.end(), ours.begin(), ours.end());
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What was written to the pipe, until it is closed or the program has ended: a program of its own
// may keep the pipe.
std::string ReadOutput(int pipe, int pidfd) {
  std::string output;
  bool ended = false;
  for (;;) {
    pollfd waits[2] = {{pipe, POLLIN, 0}, {pidfd, POLLIN, 0}};
    const int ready = ::poll(waits, ended || pidfd < 0 ? 1 : 2, ended ? 0 : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return output;
    if (waits[0].revents == 0) {
      ended = true;
      continue;
    }
    char buffer[4096];
    const ssize_t n = ::read(pipe, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return output;
    if (output.size() < kMaxOutput) output.append(buffer, static_cast<size_t>(n));
  }
}

int ExitCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// On the runner's thread.
Result<CommandOutput> Execute(Child* child, Command command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return OsStatus(errno, "pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  if (!command.inherit_stdin) {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  // Signals that our threads block or ignore must reach the program.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> env = Merge(command.env);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, command.argv[0].c_str(), &actions, &attributes,
                                   Pointers(command.argv).data(), Pointers(env).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return NotFoundError(OsStatus(error, command.argv[0]).message());
  write_end.reset();
  const int pidfd = ::pidfd_open(pid, 0);
  child->Started(pidfd);
  CommandOutput output{.text = ReadOutput(read_end.get(), pidfd)};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return OsStatus(errno, "waitpid");
  }
  output.exit_code = ExitCode(status);
  return output;
}

class ProcessRunner final : public CommandRunner {
 public:
  ~ProcessRunner() override {
    if (const std::shared_ptr<Child> child = current_.lock()) child->Kill();
  }

  async::Task<Result<CommandOutput>> Run(Command command) override {
    auto child = std::make_shared<Child>();
    current_ = child;
    Result<CommandOutput> output =
        co_await async::Blocking(pool_, [child, command = std::move(command)]() mutable {
          return Execute(child.get(), std::move(command));
        });
    const Status cancelled = co_await async::CancellationStatus();
    if (!cancelled.ok()) child->Kill();
    co_return output;
  }

 private:
  std::weak_ptr<Child> current_;  // the one that was started last
  async::ThreadPool pool_{1};
};

}  // namespace

std::unique_ptr<CommandRunner> NewCommandRunner() { return std::make_unique<ProcessRunner>(); }

}  // namespace csinative::kube
