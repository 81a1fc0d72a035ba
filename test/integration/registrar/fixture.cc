// SPDX-License-Identifier: Apache-2.0
#include "test/integration/registrar/fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::RegistrationStatus;
using ::pluginregistration::RegistrationStatusResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

async::Task<bool> Poll(async::EventLoop* loop, std::function<bool()> done, MonotonicTime end) {
  while (!done()) {
    if (loop->Now() >= end) co_return false;
    (void)co_await async::Sleep(milliseconds(5));
  }
  co_return true;
}

async::Task<Result<std::unique_ptr<rpc::Channel>>> Dial(async::EventLoop* loop, std::string path) {
  co_return co_await async::WithTimeout(seconds(10), rpc::Connect(*loop, std::move(path), {}));
}

async::Task<Result<PluginInfo>> AskInfo(rpc::Channel* channel) {
  PluginInfo info;
  // The kubelet's own limits: one second here, five for the notification.
  const Status status = co_await async::WithTimeout(
      seconds(1), channel->Call("/pluginregistration.Registration/GetInfo", InfoRequest(), &info));
  if (!status.ok()) co_return status;
  co_return std::move(info);
}

async::Task<Result<std::string>> AskNodeId(async::EventLoop* loop, std::string endpoint) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await Dial(loop, std::move(endpoint)));
  auto info = co_await csi::Call(*channel, ::csi::v1::NodeGetInfoRequest());
  if (!info.ok()) co_return info.status();
  co_return info->node_id();
}

async::Task<Result<Registration>> RegisterPlugin(async::EventLoop* loop, std::string path,
                                                 std::string refusal) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await Dial(loop, std::move(path)));
  Registration out;
  CSI_CO_ASSIGN_OR_RETURN(out.info, co_await AskInfo(channel.get()));
  CSI_CO_ASSIGN_OR_RETURN(out.node_id, co_await AskNodeId(loop, out.info.endpoint()));
  RegistrationStatus status;
  status.set_plugin_registered(refusal.empty());
  status.set_error(std::move(refusal));
  RegistrationStatusResponse response;
  out.registered = status.plugin_registered();
  out.notified = co_await async::WithTimeout(
      seconds(5), channel->Call("/pluginregistration.Registration/NotifyRegistrationStatus", status,
                                &response));
  co_return std::move(out);
}

async::Task<Result<PluginInfo>> InfoOnly(async::EventLoop* loop, std::string path) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await Dial(loop, std::move(path)));
  co_return co_await AskInfo(channel.get());
}

}  // namespace

RegistrarFixture::RegistrarFixture() { fs::create_directory(folder()); }

RegistrarFixture::~RegistrarFixture() {
  registrar_.reset();
  driver_.reset();
  if (HasFailure()) {
    std::fprintf(stderr, "---- csi-node-driver-registrar\n%s----\n", Stderr().c_str());
  }
}

void RegistrarFixture::StartDriver(std::vector<std::string> arguments) {
  std::vector<std::string> command = {
      SAMPLE_DRIVER_BINARY,    "--endpoint", "unix://" + driver_socket(), "--state-dir",
      dir_.path() + "/driver", "--log",      dir_.path() + "/calls.json"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = test::ChildProcess::Start(
      {.command = std::move(command), .stderr_file = dir_.path() + "/driver.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  driver_.emplace(std::move(child).value());
  ASSERT_TRUE(Until([this] { return IsSocket(driver_socket()); }))
      << Read(dir_.path() + "/driver.log");
}

void RegistrarFixture::StopDriver() {
  driver_.reset();
  fs::remove(driver_socket());
}

std::vector<std::string> RegistrarFixture::UsualArguments(std::vector<std::string> more) const {
  std::vector<std::string> arguments = {"--csi-address=" + driver_socket(),
                                        "--kubelet-registration-path=" + driver_socket(),
                                        "--plugin-registration-path=" + folder(), "-v=5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void RegistrarFixture::StartRegistrar(std::vector<std::string> arguments,
                                      std::vector<std::string> wrapper) {
  std::vector<std::string> command = std::move(wrapper);
  command.push_back(REGISTRAR_BINARY);
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = test::ChildProcess::Start({.command = std::move(command),
                                          .stdout_file = dir_.path() + "/registrar.out",
                                          .stderr_file = dir_.path() + "/registrar.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  registrar_.emplace(std::move(child).value());
}

void RegistrarFixture::StartAll(std::vector<std::string> more) {
  ASSERT_NO_FATAL_FAILURE(StartDriver());
  ASSERT_NO_FATAL_FAILURE(StartRegistrar(UsualArguments(std::move(more))));
  WaitForSocket();
}

void RegistrarFixture::WaitForSocket() {
  ASSERT_TRUE(Until([this] { return Logged("\"Registration Server started\""); }));
}

Result<Registration> RegistrarFixture::Register(std::string refusal) {
  return async::RunTask(loop_, RegisterPlugin(&loop_, socket(), std::move(refusal)));
}

Result<PluginInfo> RegistrarFixture::GetInfo() {
  return async::RunTask(loop_, InfoOnly(&loop_, socket()));
}

bool RegistrarFixture::Until(std::function<bool()> done, Duration limit) {
  return async::RunTask(loop_, Poll(&loop_, std::move(done), loop_.Now() + limit));
}

int RegistrarFixture::ExitCode(Duration limit) {
  if (!Until([this] { return !Running(); }, limit)) return -1;
  const int status = *registrar_->Poll();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string RegistrarFixture::Read(const std::string& path) const {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int RegistrarFixture::HttpPort() const {
  const std::string proc = StrCat("/proc/", registrar_->pid());
  std::set<std::string> inodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(proc + "/fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
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
      return static_cast<int>(std::strtol(std::strrchr(local, ':') + 1, nullptr, 16));
    }
  }
  return 0;
}

std::string RegistrarFixture::Http(const std::string& request) const {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(HttpPort()));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
    return StrCat("connect: ", std::strerror(errno));
  }
  (void)!::write(fd.get(), request.data(), request.size());
  std::string answer;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(fd.get(), buffer, sizeof buffer)) > 0) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

bool RegistrarFixture::Exists(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool RegistrarFixture::IsSocket(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

Result<UniqueFd> ListenMute(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, path.c_str(), sizeof where.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
      ::listen(fd.get(), 100) != 0) {
    return UnknownError(std::strerror(errno));
  }
  return fd;
}

}  // namespace csinative
