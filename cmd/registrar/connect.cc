// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/connect.h"

#include <utility>

#include "lib/async/timeout.h"
#include "lib/csi/observed_channel.h"

namespace csinative::registrar {

async::Task<Result<std::unique_ptr<rpc::Channel>>> Connect(async::EventLoop* loop, Random* random,
                                                           log::Logger log, std::string address,
                                                           Duration limit) {
  log.V(5).Info("Connecting", "address", address);
  rpc::ConnectOptions options;
  options.random = random;
  options.on_still_connecting = [log, address] {
    log.Info("Still connecting", "address", address);
  };
  options.log_connection_lost = [log, address] {
    log.Error(nullptr, "Lost connection", "address", address);
  };
  Result<std::unique_ptr<rpc::Channel>> channel = co_await async::WithTimeout(
      limit, rpc::Connect(*loop, std::move(address), std::move(options)));
  if (!channel.ok()) co_return channel.status();
  std::unique_ptr<rpc::Channel> observed = std::make_unique<csi::ObservedChannel>(
      std::move(channel).value(), csi::ObservedChannel::Options{.log = log});
  co_return observed;
}

}  // namespace csinative::registrar
