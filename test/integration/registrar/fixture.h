// SPDX-License-Identifier: Apache-2.0
//
// csi-node-driver-registrar and the sample driver as programs, and a kubelet made of calls. All in
// a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "lib/base/unique_fd.h"
#include "lib/rpc/channel.h"
#include "proto/pluginregistration/v1/api.pb.h"
#include "test/support/child_process.h"

namespace csinative {

// What a kubelet does with a socket that it finds.
struct Registration {
  ::pluginregistration::PluginInfo info;
  std::string node_id;     // of the driver at info.endpoint
  Status notified;         // the answer to the notification
  bool registered = true;  // what the plugin was told
};

class RegistrarFixture : public ::testing::Test {
 protected:
  static constexpr size_t npos = std::string::npos;
  static constexpr char kDriver[] = "sample.csi-native.io";

  RegistrarFixture();
  ~RegistrarFixture() override;

  // Starts the sample driver with further arguments and waits for its socket.
  void StartDriver(std::vector<std::string> arguments = {});
  void StopDriver();
  // Starts the program with exactly these arguments. `wrapper` goes in front of its path.
  void StartRegistrar(std::vector<std::string> arguments, std::vector<std::string> wrapper = {});
  // Sockets, folders, -v=5, and more.
  std::vector<std::string> UsualArguments(std::vector<std::string> more = {}) const;
  // Starts driver and registrar, and waits until the registration socket is there.
  void StartAll(std::vector<std::string> more = {});
  void WaitForSocket();

  // As the kubelet: GetInfo, NodeGetInfo at the endpoint it gave, and a notification, by default
  // of success. An error of a call before the notification ends it.
  Result<Registration> Register(std::string refusal = "");
  Result<::pluginregistration::PluginInfo> GetInfo();

  // Runs the loop until `done`; false after the limit.
  bool Until(std::function<bool()> done, Duration limit = std::chrono::seconds(20));
  // The exit code of the program; -1 if it still runs after the limit, -signal if one ended it.
  int ExitCode(Duration limit = std::chrono::seconds(20));
  bool Running() { return !registrar_->Poll().has_value(); }

  // Whether its stderr has this text by now.
  bool Logged(const std::string& text) const { return Stderr().find(text) != npos; }
  std::string Stderr() const { return Read(dir_.path() + "/registrar.log"); }
  std::string Stdout() const { return Read(dir_.path() + "/registrar.out"); }
  std::string DriverLog() const { return Read(dir_.path() + "/calls.json"); }
  std::string Read(const std::string& path) const;

  // TCP port on which the program listens; 0 while there is none.
  int HttpPort() const;
  // Sends the text and reads until the peer closes; at most 10 s.
  std::string Http(const std::string& request) const;
  std::string Get(const std::string& path) const {
    return Http("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  std::string folder() const { return dir_.path() + "/registration"; }
  // The registration socket.
  std::string socket() const { return folder() + "/" + kDriver + "-reg.sock"; }
  std::string driver_socket() const { return dir_.path() + "/csi.sock"; }
  // Whether something, perhaps a dangling link, is there.
  static bool Exists(const std::string& path);
  static bool IsSocket(const std::string& path);

  test::TempDir dir_;
  async::RealLoop loop_;
  std::optional<test::ChildProcess> driver_;
  std::optional<test::ChildProcess> registrar_;
};

// A listening unix socket whose owner never accepts.
Result<UniqueFd> ListenMute(const std::string& path);

}  // namespace csinative
