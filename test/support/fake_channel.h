// SPDX-License-Identifier: Apache-2.0
//
// A Channel that answers calls in the process itself, on any loop: controllers under virtual time.
// Each method has a handler, or a script of handlers that are used up one by one. Requests are
// recorded in the order they were made.
//
// Models: latency (a handler may sleep), failures, cancellation and deadline (the handler is
// cancelled with the caller, and the failure is worded as gRPC words it).
// Does not model: serialization limits, connection state and loss, calls that go on at the peer
// after the caller gave up.
#pragma once

#include <google/protobuf/message.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/rpc/channel.h"

namespace csinative::testing {

class FakeChannel final : public rpc::Channel {
 public:
  // A failing Status without RpcError becomes an RpcStatus of its code and message.
  using Handler = std::function<async::Task<Status>(const google::protobuf::Message* request,
                                                    google::protobuf::Message* response)>;

  struct Recorded {
    std::string method;
    std::shared_ptr<const google::protobuf::Message> request;
  };

  // Answers every call of the method from now on; a script (below) comes first.
  void On(std::string method, Handler handler) {
    handlers_[std::move(method)] = std::move(handler);
  }
  // Answers one call of the method, after those scripted before.
  void Once(const std::string& method, Handler handler) {
    scripts_[method].push_back(std::move(handler));
  }

  // On and Once with types: fn is Task<Status>(Req, Resp*).
  template <typename Req, typename Resp, typename F>
  void Handle(std::string method, F fn) {
    On(std::move(method), Typed<Req, Resp>(std::move(fn)));
  }
  template <typename Req, typename Resp, typename F>
  void HandleOnce(const std::string& method, F fn) {
    Once(method, Typed<Req, Resp>(std::move(fn)));
  }
  // Fixed outcomes.
  void Answer(std::string method, const google::protobuf::Message& response);
  void AnswerOnce(const std::string& method, const google::protobuf::Message& response);
  void Fail(std::string method, Status failure);
  void FailOnce(const std::string& method, Status failure);

  // All calls so far. A method without a handler is recorded and answered with kUnimplemented.
  const std::vector<Recorded>& calls() const { return calls_; }
  // The methods of calls(), without the path in front of the last part: "CreateVolume".
  std::vector<std::string> MethodNames() const;
  size_t CountOf(const std::string& method) const;
  void ClearCalls() { calls_.clear(); }

  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override;

 private:
  template <typename Req, typename Resp, typename F>
  static Handler Typed(F fn) {
    return [fn = std::move(fn)](const google::protobuf::Message* request,
                                google::protobuf::Message* response) {
      return fn(*static_cast<const Req*>(request), static_cast<Resp*>(response));
    };
  }
  async::Task<Status> Run(std::string method,
                          std::shared_ptr<const google::protobuf::Message> request,
                          google::protobuf::Message* response);

  std::map<std::string, Handler> handlers_;
  std::map<std::string, std::deque<Handler>> scripts_;
  std::vector<Recorded> calls_;
};

}  // namespace csinative::testing
