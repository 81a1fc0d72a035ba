// SPDX-License-Identifier: Apache-2.0
//
// PluginConnector over gRPC on unix sockets, with logged and measured calls. Loop only.
#pragma once

#include <memory>
#include <string>

#include "cmd/volumemanager/plugin_sockets.h"
#include "lib/async/event_loop.h"
#include "lib/csi/observed_channel.h"
#include "lib/log/logger.h"
#include "lib/metrics/csi_operations.h"
#include "lib/metrics/registry.h"

namespace csinative::volumemanager {

class Connector final : public PluginConnector {
 public:
  // Borrowed: loop and registry outlive all channels.
  Connector(async::EventLoop& loop, metrics::Registry& registry, log::Logger log)
      : loop_(loop), registry_(registry), log_(std::move(log)) {}

  // Of all drivers, for /debug.
  const csi::ObservedChannel::Calls& calls() const { return *calls_; }

  async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectPlugin(std::string path) override;
  async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectDriver(std::string path,
                                                                   std::string driver) override;

 private:
  async::EventLoop& loop_;
  metrics::Registry& registry_;
  const log::Logger log_;
  const std::shared_ptr<csi::ObservedChannel::Calls> calls_ =
      std::make_shared<csi::ObservedChannel::Calls>();
};

}  // namespace csinative::volumemanager
