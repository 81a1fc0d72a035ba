// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/connector.h"

#include <utility>

#include "lib/base/strings.h"

namespace csinative::volumemanager {

async::Task<Result<std::shared_ptr<rpc::Channel>>> Connector::ConnectPlugin(std::string path) {
  auto channel = co_await rpc::Connect(loop_, StrCat("unix://", path), {});
  if (!channel.ok()) co_return channel.status();
  co_return std::shared_ptr<rpc::Channel>(*std::move(channel));
}

async::Task<Result<std::shared_ptr<rpc::Channel>>> Connector::ConnectDriver(std::string path,
                                                                            std::string driver) {
  auto channel = co_await rpc::Connect(loop_, StrCat("unix://", path), {});
  if (!channel.ok()) co_return channel.status();
  auto operations = std::make_shared<metrics::CsiOperations>(
      registry_,
      metrics::CsiOperations::Options{.subsystem = "csi", .varying_labels = {"migrated"}});
  operations->SetDriverName(driver);
  auto observed = std::make_unique<csi::ObservedChannel>(
      *std::move(channel),
      csi::ObservedChannel::Options{
          .log = log_.WithValues("driver", driver), .operations = operations, .running = calls_});
  co_return std::shared_ptr<rpc::Channel>(std::move(observed));
}

}  // namespace csinative::volumemanager
