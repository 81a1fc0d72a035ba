// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/driver.h"

#include <utility>

#include "lib/async/timeout.h"
#include "lib/sidecar/termination_log.h"

namespace csinative::sidecar {
namespace {

// csi-lib-utils connection: limit of the first connection (common 7.2).
constexpr Duration kConnectLimit = std::chrono::seconds(30);
constexpr char kLost[] = "Lost connection to CSI driver, exiting";

}  // namespace

async::Task<Result<std::unique_ptr<csi::ObservedChannel>>> ConnectDriver(
    Process* process, std::string address, csi::ObservedChannel::Options options) {
  const log::Logger log = process->log();
  log.V(5).Info("Connecting", "address", address);
  rpc::ConnectOptions connect;
  connect.random = &process->random();
  connect.on_still_connecting = [log, address] {
    log.Info("Still connecting", "address", address);
  };
  connect.on_dial_error = [log](const Status& status) { log.Warningf("{}", status.message()); };
  connect.log_connection_lost = [log, address] {
    log.Error(nullptr, "Lost connection", "address", address);
  };
  connect.on_connection_lost = [process, log] {
    WriteTerminationLog(kLost, log);
    log.Error(nullptr, kLost);
    process->Exit(1);
    return false;
  };
  Result<std::unique_ptr<rpc::Channel>> channel = co_await async::WithTimeout(
      kConnectLimit, rpc::Connect(process->loop(), std::move(address), std::move(connect)));
  if (!channel.ok()) co_return channel.status();
  co_return std::make_unique<csi::ObservedChannel>(std::move(channel).value(), std::move(options));
}

}  // namespace csinative::sidecar
