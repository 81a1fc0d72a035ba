// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/connector.h"

#include <utility>

#include "lib/base/strings.h"

namespace csinative::volumemanager {

namespace {

// Dial failures have Go's words and no number.
bool IsRefused(const Status& status) {
  return status.message().find(": connect: connection refused") != std::string::npos;
}

// The connection outlives the attempt to make it.
struct Attempt {
  explicit Attempt(async::CancelSource* parent) : cancel(parent) {}
  async::CancelSource cancel;
  Status refusal;
};

}  // namespace

// A reboot leaves sockets that nobody listens on: waiting for them would hold up those of drivers
// that run.
async::Task<Result<std::shared_ptr<rpc::Channel>>> Connector::ConnectPlugin(std::string path) {
  const async::TaskContext context = co_await async::CurrentContext();
  const auto attempt = std::make_shared<Attempt>(context.cancel);
  rpc::ConnectOptions options;
  options.on_dial_error = [weak = std::weak_ptr(attempt)](const Status& failure) {
    const auto running = weak.lock();
    if (!running || !IsRefused(failure)) return;
    running->refusal = failure;
    running->cancel.Cancel();
  };
  auto channel = co_await rpc::Connect(loop_, StrCat("unix://", path), std::move(options))
                     .Under(attempt->cancel);
  if (!attempt->refusal.ok() && !channel.ok()) co_return attempt->refusal;
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
