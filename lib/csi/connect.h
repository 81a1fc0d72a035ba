// SPDX-License-Identifier: Apache-2.0
//
// Connections as all sidecars make them (common 7.2): the wait for the peer is logged, its calls
// are logged and measured, a lost connection is a log line. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/csi/observed_channel.h"
#include "lib/rpc/channel.h"

namespace csinative::csi {

// csi-lib-utils connection: limit of a first connection (common 7.2).
inline constexpr Duration kConnectLimit = std::chrono::seconds(30);

struct ConnectConfig {
  async::EventLoop* loop = nullptr;  // outlives the channel
  Random* random = nullptr;          // outlives the channel
  // What is logged and measured of the calls; the wait goes to the same log.
  ObservedChannel::Options observed = {};
  std::optional<Duration> limit = kConnectLimit;  // nullopt: the caller's alone
  // As in rpc::ConnectOptions.
  std::function<void(const Status&)> on_dial_error = nullptr;
  std::function<bool()> on_connection_lost = nullptr;
};

// kDeadlineExceeded "context deadline exceeded" when nobody answers.
async::Task<Result<std::unique_ptr<ObservedChannel>>> Connect(ConnectConfig config,
                                                              std::string address);

}  // namespace csinative::csi
