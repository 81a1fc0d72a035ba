// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_channel.h"

#include <algorithm>

namespace csinative::testing {
namespace {

using google::protobuf::Message;

FakeChannel::Handler FixedAnswer(const Message& response) {
  std::shared_ptr<Message> copy(response.New());
  copy->CopyFrom(response);
  struct Body {
    static async::Task<Status> Run(std::shared_ptr<const Message> from, Message* to) {
      to->CopyFrom(*from);
      co_return Status();
    }
  };
  return [copy = std::shared_ptr<const Message>(copy)](const Message*, Message* response_out) {
    return Body::Run(copy, response_out);
  };
}

FakeChannel::Handler FixedFailure(Status failure) {
  struct Body {
    static async::Task<Status> Run(Status failure) { co_return failure; }
  };
  return [failure](const Message*, Message*) { return Body::Run(failure); };
}

}  // namespace

void FakeChannel::Answer(std::string method, const Message& response) {
  On(std::move(method), FixedAnswer(response));
}
void FakeChannel::AnswerOnce(const std::string& method, const Message& response) {
  Once(method, FixedAnswer(response));
}
void FakeChannel::Fail(std::string method, Status failure) {
  On(std::move(method), FixedFailure(std::move(failure)));
}
void FakeChannel::FailOnce(const std::string& method, Status failure) {
  Once(method, FixedFailure(std::move(failure)));
}

std::vector<std::string> FakeChannel::MethodNames() const {
  std::vector<std::string> names;
  for (const Recorded& call : calls_) {
    names.push_back(call.method.substr(call.method.rfind('/') + 1));
  }
  return names;
}

size_t FakeChannel::CountOf(const std::string& method) const {
  return static_cast<size_t>(std::count_if(
      calls_.begin(), calls_.end(), [&](const Recorded& call) { return call.method == method; }));
}

async::Task<Status> FakeChannel::Call(std::string method, const Message& request,
                                      Message* response) {
  std::shared_ptr<Message> copy(request.New());
  copy->CopyFrom(request);
  return Run(std::move(method), std::move(copy), response);
}

async::Task<Status> FakeChannel::Run(std::string method, std::shared_ptr<const Message> request,
                                     Message* response) {
  async::TaskContext context = co_await async::CurrentContext();
  response->Clear();
  Status status = context.cancel->reason();
  if (status.ok()) {
    calls_.push_back({method, request});
    Handler handler;
    std::deque<Handler>& script = scripts_[method];
    if (!script.empty()) {
      handler = std::move(script.front());
      script.pop_front();
    } else if (auto found = handlers_.find(method); found != handlers_.end()) {
      handler = found->second;
    } else {
      co_return rpc::RpcStatus(static_cast<int>(Code::kUnimplemented), "unknown method " + method);
    }
    status = co_await handler(request.get(), response);
    if (status.ok()) co_return status;
    response->Clear();
  }
  if (context.cancel->cancelled()) {
    const Code code =
        IsDeadlineExceeded(context.cancel->reason()) ? Code::kDeadlineExceeded : Code::kCancelled;
    co_return rpc::RpcStatus(static_cast<int>(code), code == Code::kCancelled
                                                         ? "context canceled"
                                                         : "context deadline exceeded");
  }
  if (status.rpc_error() != nullptr) co_return status;
  co_return rpc::RpcStatus(static_cast<int>(status.code()), status.message());
}

}  // namespace csinative::testing
