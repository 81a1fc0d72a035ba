// SPDX-License-Identifier: Apache-2.0
//
// What the kubelet finds at the registration socket: who the driver is and where it listens, and
// an ear for what became of its registration (registrar 2, 3.5). Loop only.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "lib/log/logger.h"
#include "lib/rpc/server.h"
#include "proto/pluginregistration/v1/api.pb.h"

namespace csinative::registrar {

class RegistrationService {
 public:
  struct Config {
    std::string driver;
    std::string endpoint;  // of the driver's socket, as the kubelet sees it; not checked
    log::Logger log;
    // Ends the process: the kubelet has refused the driver. Does not return in production, so that
    // the kubelet gets no answer and the socket stays, as upstream does it.
    std::function<void()> on_refused;
  };
  explicit RegistrationService(Config config);

  // What the kubelet has said last.
  struct Told {
    bool registered = false;
    MonotonicTime when{};
  };
  const std::optional<Told>& told() const { return told_; }

  // Adds both methods. This outlives the server.
  void Register(rpc::Server& server);

 private:
  async::Task<Status> GetInfo(::pluginregistration::InfoRequest request,
                              ::pluginregistration::PluginInfo* response);
  async::Task<Status> NotifyRegistrationStatus(
      ::pluginregistration::RegistrationStatus status,
      ::pluginregistration::RegistrationStatusResponse* response);

  const Config config_;
  std::optional<Told> told_;
};

// Go's text form of the message: "plugin_registered:true error:\"x\"", unset fields left out.
std::string StatusText(const ::pluginregistration::RegistrationStatus& status);

}  // namespace csinative::registrar
