// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/driver.h"

#include <utility>

#include "lib/csi/connect.h"
#include "lib/sidecar/termination_log.h"

namespace csinative::sidecar {
namespace {

constexpr char kLost[] = "Lost connection to CSI driver, exiting";

}  // namespace

async::Task<Result<std::unique_ptr<csi::ObservedChannel>>> ConnectDriver(
    Process* process, std::string address, csi::ObservedChannel::Options options) {
  const log::Logger log = process->log();
  csi::ConnectConfig config{.loop = &process->loop(), .random = &process->random()};
  config.observed = std::move(options);
  config.on_dial_error = [log](const Status& status) { log.Warningf("{}", status.message()); };
  config.on_connection_lost = [process, log] {
    WriteTerminationLog(kLost, log);
    log.Error(nullptr, kLost);
    process->Exit(1);
    return false;
  };
  return csi::Connect(std::move(config), std::move(address));
}

}  // namespace csinative::sidecar
