// SPDX-License-Identifier: Apache-2.0
//
// Unary gRPC calls without generated stubs: a method is its full name ("/csi.v1.Identity/Probe")
// and its messages. Loop only.
//
// CsiTransport-like seam: Channel is an interface, so that simulation answers calls without gRPC.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/result.h"

namespace csinative::rpc {

class Channel {
 public:
  virtual ~Channel() = default;
  // Sends `request`, fills `response` when Ok. The deadline is the caller's (async::WithTimeout)
  // and is sent to the peer. Every failure is made by RpcStatus() of lib/base: its message is the
  // whole "rpc error: code = X desc = Y" text and its RpcError holds the peer's code and
  // description unchanged; local failures are worded as Go's gRPC does (common 7.5). Cancellation:
  // code Canceled, "context canceled"; deadline: DeadlineExceeded, "context deadline exceeded"; the
  // call may still be running at the peer. `response` must outlive the task; `request` is
  // serialized before the first suspension.
  virtual async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                                   google::protobuf::Message* response) = 0;
};

struct ConnectOptions {
  // Called on the loop with each failed dial attempt, for the log.
  std::function<void(const Status&)> on_dial_error;
  // Called every 10 s while the first connection is not up.
  std::function<void()> on_still_connecting;
  // Called once when an established connection is lost, at the next call (common 7.3). Only for
  // unix sockets; with it set other address forms are rejected.
  std::function<void()> on_connection_lost;
};

// Waits until the peer is connected, without a limit of its own (async::WithTimeout gives one).
// Address forms of common 7.1. kInvalidArgument for a form that is not supported.
async::Task<Result<std::unique_ptr<Channel>>> Connect(async::EventLoop& loop, std::string address,
                                                      ConnectOptions options);

// "unix:///abs/path" from the forms of common 7.1. With `loss_aware`, only unix:// and absolute
// paths pass.
Result<std::string> NormalizeAddress(const std::string& address, bool loss_aware);

}  // namespace csinative::rpc
