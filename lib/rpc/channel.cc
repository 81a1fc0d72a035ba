// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/channel.h"

#include <grpcpp/impl/codegen/proto_buffer_writer.h>

#include <utility>

#include "lib/async/completion.h"
#include "lib/base/strings.h"
#include "lib/rpc/dialer.h"

namespace csinative::rpc {
namespace {

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

class GrpcChannel final : public Channel {
 public:
  explicit GrpcChannel(std::shared_ptr<Dialer> dialer) : dialer_(std::move(dialer)) {}

  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override {
    return Run(std::move(method), Serialize(request), response);
  }

 private:
  async::Task<Status> Run(std::string method, grpc::ByteBuffer request,
                          google::protobuf::Message* response);
  async::Task<Outcome> CallOnce(std::shared_ptr<Connection> connection, std::string method,
                                grpc::ByteBuffer request, google::protobuf::Message* response);

  std::shared_ptr<Dialer> dialer_;
};

async::Task<Status> GrpcChannel::Run(std::string method, grpc::ByteBuffer request,
                                     google::protobuf::Message* response) {
  bool resent = false;
  while (true) {
    CSI_CO_ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection, co_await dialer_->Pick());
    Outcome outcome = co_await CallOnce(connection, method, request, response);
    if (outcome.response) {
      response->GetReflection()->Swap(response, outcome.response.get());
      co_return Status();
    }
    const Resend resend = outcome.verdict.resend;
    if (resend == Resend::kNewConnection) dialer_->Abandon(connection);
    // A call that the peer has not seen is sent a second time, as in Go.
    if (resend == Resend::kNo || resent) co_return outcome.verdict.status;
    resent = true;
  }
}

async::Task<Outcome> GrpcChannel::CallOnce(std::shared_ptr<Connection> connection,
                                           std::string method, grpc::ByteBuffer request,
                                           google::protobuf::Message* response) {
  async::TaskContext context = co_await async::CurrentContext();
  std::optional<Duration> left;
  if (std::optional<MonotonicTime> deadline = context.cancel->deadline()) {
    left = *deadline - context.loop->Now();
  }
  auto call = std::make_shared<UnaryCall>(
      std::move(connection), dialer_->calls(),
      std::unique_ptr<google::protobuf::Message>(response->New()), left);
  Outcome outcome = co_await async::FromCallback<Outcome>([&](async::Completer<Outcome> done) {
    call->Start(method, request, std::move(done));
    return async::AbortHook([call] { call->Cancel(); });
  });
  // Either the reason of the cancellation or what TryCancel made of the call comes first. Both
  // become what Go's client makes of a context that ended.
  if (context.cancel->cancelled() && !outcome.response &&
      (!outcome.verdict.status.rpc_error() || IsCancelled(outcome.verdict.status))) {
    const bool late = IsDeadlineExceeded(context.cancel->reason());
    co_return Outcome(RpcStatus(static_cast<int>(late ? Code::kDeadlineExceeded : Code::kCancelled),
                                late ? "context deadline exceeded" : "context canceled"));
  }
  co_return outcome;
}

// Re-arms itself until it is destroyed.
class StillConnectingTimer {
 public:
  StillConnectingTimer(async::EventLoop& loop, const ConnectOptions& options)
      : loop_(loop),
        interval_(options.still_connecting_interval),
        report_(options.on_still_connecting),
        next_(loop.Now()) {
    if (report_) Arm();
  }

 private:
  void Arm() {
    next_ += interval_;
    timer_ = async::ScopedTimer(loop_, next_, [this] {
      report_();
      Arm();
    });
  }

  async::EventLoop& loop_;
  const Duration interval_;
  std::function<void()> report_;
  MonotonicTime next_;
  async::ScopedTimer timer_;
};

}  // namespace

async::Task<Result<std::unique_ptr<Channel>>> Connect(async::EventLoop& loop, std::string address,
                                                      ConnectOptions options) {
  CSI_CO_ASSIGN_OR_RETURN(Target target,
                          ParseTarget(address, options.on_connection_lost != nullptr));
  StillConnectingTimer still_connecting(loop, options);
  auto dialer = std::make_shared<Dialer>(loop, std::move(target), std::move(options));
  dialer->Start();
  CSI_CO_RETURN_IF_ERROR(co_await dialer->WaitUntilReady());
  co_return std::unique_ptr<Channel>(std::make_unique<GrpcChannel>(std::move(dialer)));
}

const std::string& Description(const Status& status) {
  const RpcError* error = status.rpc_error();
  return error != nullptr ? error->description : status.message();
}

}  // namespace csinative::rpc
