// SPDX-License-Identifier: Apache-2.0
#include "test/support/sidecar_fixture.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"

namespace csinative::test {
namespace {

namespace fs = std::filesystem;

async::Task<bool> Poll(async::EventLoop* loop, std::function<bool()> done, MonotonicTime end) {
  while (!done()) {
    if (loop->Now() >= end) co_return false;
    (void)co_await async::Sleep(std::chrono::milliseconds(5));
  }
  co_return true;
}

sockaddr_in Loopback(int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return where;
}

}  // namespace

SidecarFixture::~SidecarFixture() {
  program_.reset();
  driver_.reset();
  if (HasFailure()) {
    std::fprintf(stderr, "---- %s\n%s----\n", program_path_.c_str(), Stderr().c_str());
  }
}

void SidecarFixture::StartDriver(std::vector<std::string> arguments) {
  std::vector<std::string> command = {driver_path_,
                                      "--endpoint",
                                      "unix://" + driver_socket(),
                                      "--state-dir",
                                      dir_.path() + "/driver",
                                      "--log",
                                      dir_.path() + "/calls.json"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = ChildProcess::Start(
      {.command = std::move(command), .stderr_file = dir_.path() + "/driver.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  driver_.emplace(std::move(child).value());
  ASSERT_TRUE(Until([this] { return IsSocket(driver_socket()); }))
      << Read(dir_.path() + "/driver.log");
}

void SidecarFixture::StopDriver() {
  driver_.reset();
  fs::remove(driver_socket());
}

void SidecarFixture::StartProgram(std::vector<std::string> arguments,
                                  std::vector<std::string> wrapper) {
  std::vector<std::string> command = std::move(wrapper);
  command.push_back(program_path_);
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = ChildProcess::Start({.command = std::move(command),
                                    .stdout_file = dir_.path() + "/program.out",
                                    .stderr_file = log_path()});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  program_.emplace(std::move(child).value());
}

std::vector<std::string> SidecarFixture::AsFirstProcess() {
  std::vector<std::string> wrapper = {"/usr/bin/unshare"};
  if (::geteuid() != 0) wrapper.insert(wrapper.end(), {"--user", "--map-root-user"});
  wrapper.insert(wrapper.end(), {"--pid", "--fork", "--kill-child"});
  return wrapper;
}

pid_t SidecarFixture::InnerOf(pid_t wrapper) {
  const std::string text = Read(StrCat("/proc/", wrapper, "/task/", wrapper, "/children"));
  return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10));
}

bool SidecarFixture::Until(std::function<bool()> done, Duration limit) {
  return async::RunTask(loop_, Poll(&loop_, std::move(done), loop_.Now() + limit));
}

int SidecarFixture::ExitCode(Duration limit) {
  if (!Until([this] { return !Running(); }, limit)) return -1;
  const int status = *program_->Poll();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string SidecarFixture::Read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int SidecarFixture::HttpPort() const {
  const std::vector<int> ports = Ports();
  return ports.empty() ? 0 : ports.front();
}

void SidecarFixture::ExpectHealthyForAnyMethod() const {
  using ::testing::EndsWith;
  using ::testing::HasSubstr;
  using ::testing::Not;
  using ::testing::StartsWith;
  for (const char* method : {"GET", "POST", "PUT", "DELETE", "BREW"}) {
    const std::string answer =
        Http(StrCat(method, " /healthz?x=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n")) << method;
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Length: 2\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("nosniff")));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nok"));
  }
  EXPECT_THAT(Http("GET /healthz HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\nok"));
  const std::string head = Http("HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

bool SidecarFixture::Exists(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool SidecarFixture::IsSocket(const std::string& path) {
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

UniqueFd ConnectTo(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in where = Loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) fd.reset();
  return fd;
}

std::string HttpExchange(int port, const std::string& request) {
  const UniqueFd fd = ConnectTo(port);
  if (!fd.valid()) return "connection refused";
  const timeval limit{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)!::write(fd.get(), request.data(), request.size());
  std::string answer;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(fd.get(), buffer, sizeof buffer)) > 0) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

std::string ScrapeMetrics(int port) {
  // A client of HTTP/1.0 gets the text in one piece.
  const std::string answer = HttpExchange(port, "GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n");
  const size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) {
    ADD_FAILURE() << answer;
    return "";
  }
  EXPECT_THAT(answer.substr(0, body), ::testing::HasSubstr(" 200 OK\r\n"));
  return answer.substr(body + 4);
}

int FreePort() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where = Loopback(0);
  socklen_t size = sizeof where;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) return 0;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&where), &size);
  return ntohs(where.sin_port);
}

}  // namespace csinative::test
