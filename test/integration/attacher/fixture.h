// SPDX-License-Identifier: Apache-2.0
//
// csi-attacher and the sample driver as programs, beside an embedded API server in the test's own
// process. All in a folder of their own, on free ports.
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

class AttacherFixture : public ::testing::Test {
 protected:
  AttacherFixture();
  ~AttacherFixture() override;

  // Starts the server and writes its kubeconfig; returns the path.
  std::string StartApi();
  // Starts the sample driver with further arguments and waits for its socket.
  void StartDriver(std::vector<std::string> arguments = {});
  // Starts csi-attacher with exactly these arguments.
  void StartAttacher(std::vector<std::string> arguments);
  // The usual ones: socket, kubeconfig, short retries, -v=5.
  std::vector<std::string> UsualArguments(const std::string& kubeconfig) const;

  void Add(const std::string& json);
  // The stored object as JSON; empty when there is none.
  std::string Find(const std::string& group, const std::string& resource, const std::string& name);
  // A request of an administrator; the HTTP code.
  int Request(const std::string& method, const std::string& target);

  // Runs the loop until `done`; false after the limit.
  bool Until(std::function<bool()> done, Duration limit = std::chrono::seconds(20));
  // The exit code of csi-attacher; -1 if it still runs after the limit, -2 if a signal ended it.
  int ExitCode(Duration limit = std::chrono::seconds(20));
  // What its only HTTP endpoint answers; empty as long as there is none.
  std::string Get(const std::string& path) const;
  // Whether its stderr has this text by now.
  bool Logged(const std::string& text) const { return Stderr().find(text) != npos; }
  std::string Stderr() const { return Read(log_path()); }
  std::string Stdout() const { return Read(dir_.path() + "/attacher.out"); }
  std::string Read(const std::string& path) const;
  std::string log_path() const { return dir_.path() + "/attacher.log"; }
  std::string socket() const { return dir_.path() + "/csi.sock"; }

  static constexpr size_t npos = std::string::npos;
  test::TempDir dir_;
  async::RealLoop loop_;
  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::unique_ptr<apiserver::EmbeddedApiServer> api_;
  std::optional<test::ChildProcess> driver_;
  std::optional<test::ChildProcess> attacher_;
};

}  // namespace csinative
