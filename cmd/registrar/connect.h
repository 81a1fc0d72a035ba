// SPDX-License-Identifier: Apache-2.0
//
// Connections of this program, to the driver and to its own socket: a limit until they are up,
// calls in the log, and no more than a log line when they are lost (registrar 1.3). Loop only.
#pragma once

#include <memory>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/log/logger.h"
#include "lib/rpc/channel.h"

namespace csinative::registrar {

// csi-lib-utils connection: limit of a first connection (common 7.2).
inline constexpr Duration kConnectLimit = std::chrono::seconds(30);

// kDeadlineExceeded "context deadline exceeded" when nobody answers. `loop` and `random` outlive
// the channel.
async::Task<Result<std::unique_ptr<rpc::Channel>>> Connect(async::EventLoop* loop, Random* random,
                                                           log::Logger log, std::string address,
                                                           Duration limit = kConnectLimit);

}  // namespace csinative::registrar
