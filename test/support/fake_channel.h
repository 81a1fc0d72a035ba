// SPDX-License-Identifier: Apache-2.0
//
// A driver in the same process: each method is a function. For controller tests in virtual time.
// Not modelled: connection loss, message size limits, deadlines sent to the peer (the caller's time
// limit ends a slow handler as it would end a call).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/async/task.h"
#include "lib/rpc/channel.h"

namespace csinative::test {

class FakeChannel final : public rpc::Channel {
 public:
  using Handler = std::function<async::Task<Status>(
      std::shared_ptr<google::protobuf::Message> request, google::protobuf::Message* response)>;

  // A method without a handler answers Unimplemented, as Go's servers do.
  void Handle(std::string method, Handler handler) {
    handlers_[std::move(method)] = std::move(handler);
  }

  // Typed form for handlers that answer at once: fn(const Req&, Resp*) -> Status.
  template <typename Req, typename Resp>
  void On(std::string method, std::function<Status(const Req&, Resp*)> fn) {
    Handle(std::move(method), [fn = std::move(fn)](auto request, auto* response) {
      return Answer(fn(static_cast<const Req&>(*request), static_cast<Resp*>(response)));
    });
  }

  // Methods in the order they were called.
  std::vector<std::string> calls;

  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override {
    std::shared_ptr<google::protobuf::Message> copy(request.New());
    copy->CopyFrom(request);
    return Run(std::move(method), std::move(copy), response);
  }

 private:
  static async::Task<Status> Answer(Status status) { co_return status; }

  async::Task<Status> Run(std::string method, std::shared_ptr<google::protobuf::Message> request,
                          google::protobuf::Message* response) {
    calls.push_back(method);
    Status running = co_await async::CancellationStatus();
    if (!running.ok()) {
      co_return RpcStatus(static_cast<int>(running.code()), running.message());
    }
    auto it = handlers_.find(method);
    if (it == handlers_.end()) {
      const std::string service = method.substr(1, method.rfind('/') - 1);
      co_return RpcStatus(12, "unknown service " + service);
    }
    // A copy: the handler may replace itself.
    Handler handler = it->second;
    co_return co_await handler(std::move(request), response);
  }

  std::map<std::string, Handler> handlers_;
};

}  // namespace csinative::test
