// SPDX-License-Identifier: Apache-2.0
//
// csi-node-driver-registrar and the sample driver as programs, and a kubelet made of calls. All in
// a folder of their own.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "proto/pluginregistration/v1/api.pb.h"
#include "test/support/sidecar_fixture.h"

namespace csinative {

// What a kubelet does with a socket that it finds.
struct Registration {
  ::pluginregistration::PluginInfo info;
  std::string node_id;     // of the driver at info.endpoint
  Status notified;         // the answer to the notification
  bool registered = true;  // what the plugin was told
};

class RegistrarFixture : public test::SidecarFixture {
 protected:
  RegistrarFixture();

  // Sockets, folders, -v=5, and more.
  std::vector<std::string> UsualArguments(std::vector<std::string> more = {}) const;
  // Starts driver and registrar, and waits until the registration socket is there.
  void StartAll(std::vector<std::string> more = {});
  void WaitForSocket();

  // As the kubelet: GetInfo, NodeGetInfo at the endpoint it gave, and a notification, by default
  // of success. An error of a call before the notification ends it.
  Result<Registration> Register(std::string refusal = "");
  Result<::pluginregistration::PluginInfo> GetInfo();
  // Whether the socket comes within the limit and answers.
  bool Answers(Duration limit) {
    return Until([this] { return IsSocket(socket()); }, limit) && GetInfo().ok();
  }

  std::string folder() const { return dir_.path() + "/registration"; }
  // The registration socket.
  std::string socket() const { return folder() + "/" + kDriver + "-reg.sock"; }
};

}  // namespace csinative
