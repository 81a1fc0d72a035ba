// SPDX-License-Identifier: Apache-2.0
//
// csi-provisioner and the sample driver as programs, beside an embedded API server in the test's
// own process. All in a folder of their own, on free ports.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "test/support/apiserver/api_server.h"
#include "test/support/child_process.h"

namespace csinative {

class ProvisionerFixture : public ::testing::Test {
 protected:
  ProvisionerFixture();
  ~ProvisionerFixture() override;

  // Starts the server and writes its kubeconfig; returns the path.
  std::string StartApi(apiserver::EmbeddedApiServerOptions options = {});
  // Starts the sample driver with further arguments and waits for its socket.
  void StartDriver(std::vector<std::string> arguments = {});
  // Starts csi-provisioner with exactly these arguments.
  void StartProvisioner(std::vector<std::string> arguments,
                        std::map<std::string, std::string> env = {});
  // The usual ones: socket, kubeconfig, -v=5.
  std::vector<std::string> UsualArguments(const std::string& kubeconfig) const;

  // Runs the loop until `done`; false after the limit.
  bool Until(std::function<bool()> done, Duration limit = std::chrono::seconds(20));
  // The exit code of csi-provisioner; -1 if it still runs after the limit, -2 if a signal ended it.
  int ExitCode(Duration limit = std::chrono::seconds(20));
  // Whether its stderr has this text by now.
  bool Logged(const std::string& text) const { return Read(log_path()).find(text) != npos; }
  std::string Read(const std::string& path) const;
  std::string log_path() const { return dir_.path() + "/provisioner.log"; }
  std::string socket() const { return dir_.path() + "/csi.sock"; }
  std::string WriteFile(const std::string& name, const std::string& text) const;

  static constexpr size_t npos = std::string::npos;
  test::TempDir dir_;
  async::RealLoop loop_;
  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::unique_ptr<apiserver::EmbeddedApiServer> api_;
  std::optional<test::ChildProcess> driver_;
  std::optional<test::ChildProcess> provisioner_;
};

}  // namespace csinative
