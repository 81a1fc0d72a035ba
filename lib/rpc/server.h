// SPDX-License-Identifier: Apache-2.0
//
// gRPC server for unary methods, on one completion queue: the sample driver, the registration
// socket. Handlers run on the loop. Loop only.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/result.h"

namespace csinative::rpc {

// One method: its prototype messages and the function that answers. The task is cancelled when the
// client goes away or its deadline passes. A failing Status is sent with its code and message; an
// RpcStatus with the code and description of its detail.
struct Method {
  const google::protobuf::Message* request_prototype = nullptr;
  const google::protobuf::Message* response_prototype = nullptr;
  std::function<async::Task<Status>(std::unique_ptr<google::protobuf::Message> request,
                                    google::protobuf::Message* response)>
      handler;
};

// Typed registration: Handle<Req, Resp>(server, "/pkg.Service/Method", fn) with
// fn: Task<Status>(Req, Resp*).
class Server {
 public:
  virtual ~Server() = default;
  // Before or after Start. A call of a method that is not registered is answered as Go's servers
  // do: "unknown service x" or "unknown method y for service x", kUnimplemented.
  virtual void Register(std::string method, Method handler) = 0;
  // "unix:///abs/path" or "host:port". A stale socket file is removed first. The failure is worded
  // as Go's net.Listen words it.
  virtual Status Start(std::string address) = 0;
  // Stops accepting, cancels calls, waits for handlers, removes the socket. REQUIRED before
  // destruction once started, unless the loop is discarding.
  virtual async::Task<void> Close() = 0;
};

std::unique_ptr<Server> NewServer(async::EventLoop& loop);

template <typename Req, typename Resp, typename F>
void Handle(Server& server, std::string method, F fn) {
  server.Register(std::move(method),
                  Method{&Req::default_instance(), &Resp::default_instance(),
                         [fn = std::move(fn)](std::unique_ptr<google::protobuf::Message> request,
                                              google::protobuf::Message* response) {
                           return fn(std::move(*static_cast<Req*>(request.get())),
                                     static_cast<Resp*>(response));
                         }});
}

}  // namespace csinative::rpc
