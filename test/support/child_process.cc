// SPDX-License-Identifier: Apache-2.0
#include "test/support/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

extern char** environ;

namespace csinative::test {
namespace {

// Async-signal-safe: runs between fork and exec.
void Redirect(const char* file, int target) {
  if (file == nullptr) return;
  const int fd = ::open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (fd < 0 || ::dup2(fd, target) < 0) ::_exit(127);
}

// The same. A normal user may give names in a user namespace only.
void SetHostName(const std::string& name) {
  if (name.empty()) return;
  if (::unshare(CLONE_NEWUTS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0) ::_exit(127);
  if (::sethostname(name.data(), name.size()) != 0) ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(ChildOptions options) {
  std::vector<char*> argv;
  for (std::string& word : options.command) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!options.env.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [key, value] : options.env) environment.push_back(key + "=" + value);
  std::vector<char*> envp;
  for (std::string& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);
  const char* out = options.stdout_file.empty() ? nullptr : options.stdout_file.c_str();
  const char* err = options.stderr_file.empty() ? nullptr : options.stderr_file.c_str();

  if (::access(argv[0], X_OK) != 0) return OsStatus(errno, options.command[0]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return OsStatus(errno, "fork");
  if (pid == 0) {
    // First: other credentials would forget the signal below.
    SetHostName(options.host_name);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    // A group of its own: a terminal's Ctrl-C reaches the parent, which then ends its children.
    ::setpgid(0, 0);
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
    Redirect(out, 1);
    Redirect(err, 2);
    ::syscall(SYS_close_range, 3, ~0U, 0);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    status_ = other.status_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { Kill(); }

void ChildProcess::Kill() {
  if (pid_ < 0 || Poll()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

void ChildProcess::Signal(int signal) {
  if (pid_ > 0 && !Poll()) ::kill(pid_, signal);
}

std::optional<int> ChildProcess::Poll() {
  if (status_ || pid_ < 0) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

std::optional<int> ChildProcess::Wait(Duration limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!Poll() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status_;
}

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/csi-native-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    std::fprintf(stderr, "cannot make a folder below %s: %s\n", path_.c_str(),
                 std::strerror(errno));
    std::abort();
  }
}

TempDir::~TempDir() {
  if (keep_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<int> ListeningPorts(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  std::set<std::string> inodes;
  std::error_code error;
  // Until it has become the program, a child has the sockets of this process.
  if (std::filesystem::read_symlink(proc + "/exe", error) ==
      std::filesystem::read_symlink("/proc/self/exe", error)) {
    return {};
  }
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  std::set<int> ports;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream in(proc + table);
    std::string line;
    while (std::getline(in, line)) {
      char local[64] = {};
      char state[8] = {};
      char inode[32] = {};
      if (std::sscanf(line.c_str(), " %*s %63s %*s %7s %*s %*s %*s %*s %*s %31s", local, state,
                      inode) != 3 ||
          std::string_view(state) != "0A" || !inodes.contains(inode)) {
        continue;
      }
      ports.insert(static_cast<int>(std::strtol(std::strrchr(local, ':') + 1, nullptr, 16)));
    }
  }
  return {ports.begin(), ports.end()};
}

}  // namespace csinative::test
