// SPDX-License-Identifier: Apache-2.0
//
// A sidecar without an API client as a program, and the sample driver beside it, in a folder of
// their own. Does not model the kubelet.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/real_loop.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "test/support/child_process.h"

namespace csinative::test {

// Sends the text to a port of this machine and reads until the peer closes; at most 10 s.
std::string HttpExchange(int port, const std::string& request);
// The text of /metrics; the test fails unless the answer is a good one.
std::string ScrapeMetrics(int port);

class SidecarFixture : public ::testing::Test {
 protected:
  static constexpr size_t npos = std::string::npos;
  static constexpr char kDriver[] = "sample.csi-native.io";

  // Both are paths of executables.
  SidecarFixture(std::string program, std::string driver)
      : program_path_(std::move(program)), driver_path_(std::move(driver)) {}
  ~SidecarFixture() override;

  // Starts the sample driver with further arguments and waits for its socket.
  void StartDriver(std::vector<std::string> arguments = {});
  void StopDriver();
  // Starts the program with exactly these arguments, its log empty. `wrapper` goes in front of its
  // path.
  void StartProgram(std::vector<std::string> arguments, std::vector<std::string> wrapper = {});
  // In front of the program: it becomes PID 1 of a namespace; its exit code is passed on.
  static std::vector<std::string> AsFirstProcess();
  // The program that the wrapper started, 0 while there is none.
  pid_t Inner() const { return InnerOf(program_->pid()); }
  static pid_t InnerOf(pid_t wrapper);

  // Runs the loop until `done`; false after the limit.
  bool Until(std::function<bool()> done, Duration limit = std::chrono::seconds(20));
  // The exit code of the program; -1 if it still runs after the limit, -signal if one ended it.
  int ExitCode(Duration limit = std::chrono::seconds(20));
  bool Running() { return !program_->Poll().has_value(); }

  // Whether its stderr has this text by now.
  bool Logged(const std::string& text) const { return Stderr().find(text) != npos; }
  std::string Stderr() const { return Read(log_path()); }
  std::string Stdout() const { return Read(dir_.path() + "/program.out"); }
  // One JSON line for each call.
  std::string DriverLog() const { return Read(dir_.path() + "/calls.json"); }
  static std::string Read(const std::string& path);
  std::string log_path() const { return dir_.path() + "/program.log"; }
  std::string driver_socket() const { return dir_.path() + "/csi.sock"; }

  // TCP ports on which the program listens, in ascending order.
  std::vector<int> Ports() const { return ListeningPorts(program_->pid()); }
  // The only one; 0 while there is none.
  int HttpPort() const;
  // HttpExchange with the port, 0: HttpPort().
  std::string Http(const std::string& request, int port = 0) const {
    return HttpExchange(port == 0 ? HttpPort() : port, request);
  }
  std::string Get(const std::string& path, int port = 0) const {
    return Http("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port);
  }

  // /healthz answers 200 with "ok" and its usual headers, whatever the method.
  void ExpectHealthyForAnyMethod() const;

  // Whether something, perhaps a dangling link, is there.
  static bool Exists(const std::string& path);
  static bool IsSocket(const std::string& path);

  TempDir dir_;
  async::RealLoop loop_;
  std::optional<ChildProcess> driver_;
  std::optional<ChildProcess> program_;

 private:
  const std::string program_path_;
  const std::string driver_path_;
};

// A listening unix socket whose owner never accepts.
Result<UniqueFd> ListenMute(const std::string& path);

// A connection to a port of this machine; not valid when it is refused.
UniqueFd ConnectTo(int port);

// A TCP port of the loopback address that was free a moment ago.
int FreePort();

}  // namespace csinative::test
