// SPDX-License-Identifier: Apache-2.0
//
// Unary gRPC calls without generated stubs: a method is its full name ("/csi.v1.Identity/Probe")
// and its messages. Loop only.
//
// Channel is an interface, so that simulation and controller tests answer calls without gRPC
// (test/support/fake_channel.h).
#pragma once

#include <google/protobuf/message.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/result.h"

namespace csinative::rpc {

class Channel {
 public:
  // REQUIRES: no Call() is in progress (or its loop is discarding); the loop is alive.
  virtual ~Channel() = default;
  // Sends `request`, fills `response` when Ok. The deadline is the caller's (async::WithTimeout)
  // and is sent to the peer. Every failure is an RpcStatus (below): with the peer's code and its
  // text unchanged, or worded as Go's gRPC words it for a local failure (common 7.5).
  // Cancellation: kCancelled with "context canceled", deadline: kDeadlineExceeded with "context
  // deadline exceeded"; the call may still be running at the peer. `response` must outlive the
  // task; `request` is serialized before Call returns.
  virtual async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                                   google::protobuf::Message* response) = 0;
};

struct ConnectOptions {
  // Called with each failed dial attempt, for the log.
  std::function<void(const Status&)> on_dial_error;
  // Called every still_connecting_interval while the first connection is not up.
  std::function<void()> on_still_connecting;
  // Called once for each lost connection of a unix:// address, before on_connection_lost, for the
  // log.
  std::function<void()> log_connection_lost;
  // Called once for each lost connection, when the next call finds the connection gone
  // (common 7.3). False: do not reconnect, all later calls fail. Only for unix:// addresses and
  // absolute paths: with it set other address forms are rejected.
  std::function<bool()> on_connection_lost;
  // Wait between dial attempts, and limit of one attempt; ± 20 % from the second on (common 7.2).
  Duration backoff = std::chrono::seconds(1);
  Duration still_connecting_interval = std::chrono::seconds(10);
  // Jitter of the back-off; borrowed, outlives the channel. Null: the kernel's.
  Random* random = nullptr;
};

// Waits until the peer has answered on HTTP/2 level, without a limit of its own
// (async::WithTimeout gives one; the failure is then just "context deadline exceeded").
// Address forms of common 7.1; kInvalidArgument for a form that is not supported.
async::Task<Result<std::unique_ptr<Channel>>> Connect(async::EventLoop& loop, std::string address,
                                                      ConnectOptions options);

// "unix:///abs/path" for an absolute path, the other supported forms of common 7.1 unchanged.
// With `loss_aware`, only unix:// and absolute paths pass.
Result<std::string> NormalizeAddress(const std::string& address, bool loss_aware);

// The failure of a call (lib/base/status.h).
using csinative::RpcStatus;

// The text that Go shows for the error: of an RpcStatus "rpc error: code = <Name> desc = <text>".
inline std::string ErrorText(const Status& status) { return status.message(); }
// What the peer wrote, without "rpc error: …"; the message of any other failure.
const std::string& Description(const Status& status);

}  // namespace csinative::rpc
