// SPDX-License-Identifier: Apache-2.0
//
// csi-volume-manager and the sample driver as programs, beside an embedded API server in the test's
// own process, on real mounts in a namespace of their own. The test plays the control plane, the
// container agent and the driver's registrar. All in a folder of its own, on free ports.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/volumemanager/paths.h"
#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "lib/mount/real_file_system.h"
#include "lib/rpc/server.h"
#include "test/support/apiserver/api_server.h"
#include "test/support/child_process.h"

namespace csinative {

class VolumeManagerFixture : public ::testing::Test {
 protected:
  static constexpr char kDriver[] = "sample.csi-native.io";
  static constexpr char kNode[] = "node-1";
  static constexpr size_t npos = std::string::npos;

  static void SetUpTestSuite();
  // Says why and ends the test where it may not mount.
  void SetUp() override;
  VolumeManagerFixture();
  ~VolumeManagerFixture() override;

  // API server with Node and CSIDriver; the sample driver with its registration socket.
  void StartWorld(std::vector<std::string> driver_flags = {});
  void StartManager(std::vector<std::string> more = {});
  // The program alone, with exactly these arguments.
  void StartProgram(std::vector<std::string> arguments);
  void KillManager();
  std::vector<std::string> UsualArguments() const;

  // A volume of the driver, its object and a claim that is bound to it. Returns the handle. `more`
  // are further fields of the object's CSI source, each with a comma before it.
  std::string MakeVolume(const std::string& name, bool block = false, const std::string& more = "");
  // The page at the target, e.g. "/debug"; empty: no answer.
  std::string Debug(const std::string& target);
  // Bound to the node and running. Returns the UID.
  std::string StartPod(const std::string& name, const std::string& claim, bool block = false);
  // The agent says that its containers have terminated, and the object goes.
  void EndPod(const std::string& name);
  // As the control plane does.
  void Attach(const std::string& volume, const std::string& handle);

  void Add(const std::string& json);
  std::string Find(const std::string& group, const std::string& resource, const std::string& ns,
                   const std::string& name);
  // A request of an administrator; the HTTP code.
  int Request(const std::string& method, const std::string& target, const std::string& body = "");
  bool NodeHas(const std::string& text) { return Find("", "nodes", "", kNode).find(text) != npos; }

  // Runs the loop until `done`; false after the limit.
  bool Until(std::function<bool()> done, Duration limit = std::chrono::seconds(30));
  int ExitCode(Duration limit = std::chrono::seconds(20));
  bool Logged(const std::string& text) const { return Log().find(text) != npos; }
  std::string Log() const { return Read(dir_.path() + "/manager.log"); }
  std::string Read(const std::string& path) const;
  bool Mounted(const std::string& path) const;
  // Mount points below the root folder, apart from itself.
  std::vector<std::string> Mounts() const;
  // Everything below the root folder but the folders of plugin and driver, which stay as with
  // kubelet.
  std::vector<std::string> Left() const;

  std::string root() const { return dir_.path() + "/kubelet"; }
  std::string kubeconfig() const { return dir_.path() + "/kubeconfig"; }
  std::string socket() const { return dir_.path() + "/csi.sock"; }

  test::TempDir dir_;
  async::RealLoop loop_;
  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::unique_ptr<apiserver::EmbeddedApiServer> api_;
  std::unique_ptr<rpc::Server> registrar_;
  std::optional<test::ChildProcess> driver_;
  std::optional<test::ChildProcess> manager_;
  volumemanager::Paths paths_;
  std::vector<std::string> attached_;
  std::vector<std::string> told_;  // by NotifyRegistrationStatus; "" for success
};

}  // namespace csinative
