// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/connect.h"

#include <utility>

#include "lib/async/timeout.h"

namespace csinative::csi {

async::Task<Result<std::unique_ptr<ObservedChannel>>> Connect(ConnectConfig config,
                                                              std::string address) {
  const log::Logger log = config.observed.log;
  log.V(5).Info("Connecting", "address", address);
  rpc::ConnectOptions options;
  options.random = config.random;
  options.on_dial_error = std::move(config.on_dial_error);
  options.on_still_connecting = [log, address] {
    log.Info("Still connecting", "address", address);
  };
  options.log_connection_lost = [log, address] {
    log.Error(nullptr, "Lost connection", "address", address);
  };
  options.on_connection_lost = std::move(config.on_connection_lost);
  auto dial = rpc::Connect(*config.loop, std::move(address), std::move(options));
  if (config.limit) dial = async::WithTimeout(*config.limit, std::move(dial));
  Result<std::unique_ptr<rpc::Channel>> channel = co_await std::move(dial);
  if (!channel.ok()) co_return channel.status();
  co_return std::make_unique<ObservedChannel>(std::move(channel).value(),
                                              std::move(config.observed));
}

}  // namespace csinative::csi
