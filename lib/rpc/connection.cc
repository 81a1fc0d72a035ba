// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/connection.h"

#include <fcntl.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <grpcpp/impl/codegen/completion_queue_tag.h>
#include <grpcpp/impl/codegen/proto_buffer_reader.h>
#include <poll.h>

#include <utility>

#include "lib/base/strings.h"
#include "lib/rpc/channel.h"

// Exported by the core library, declared only in a private header of it.
void grpc_channel_ping(grpc_channel* channel, grpc_completion_queue* queue, void* tag,
                       void* reserved);

namespace csinative::rpc {
namespace {

// Limits of grpc-go's client: 4 MiB for a received message; for metadata 16 MiB
// (defaultMaxHeaderListSize), without which a driver's long error text arrives as another error.
constexpr int kMaxReceiveBytes = 4 * 1024 * 1024;
constexpr int kMaxMetadataBytes = 16 * 1024 * 1024;

grpc::ChannelArguments Arguments(const Target& target) {
  grpc::ChannelArguments args;
  args.SetString(GRPC_ARG_DEFAULT_AUTHORITY, target.authority);
  args.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxReceiveBytes);
  args.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  // Pings to measure the bandwidth would count against the limits of some servers, and a unix
  // socket gains nothing from them.
  args.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // The library sends no ping before the first call unless it is allowed to without data.
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return args;
}

// A tag that the C++ queue hands out as our event, for operations that only the core library has.
class CoreTag final : public grpc::internal::CompletionQueueTag, public CompletionEvent {
 public:
  explicit CoreTag(UniqueFunction<void(bool)> done) : done_(std::move(done)) {}
  bool FinalizeResult(void** tag, bool*) override {
    *tag = static_cast<CompletionEvent*>(this);
    return true;
  }
  void OnComplete(bool ok) override {
    done_(ok);
    delete this;
  }

 private:
  UniqueFunction<void(bool)> done_;
};

// The part of grpc::CompletionQueue that CoreTag needs and that is public API for this purpose.
grpc_completion_queue* CoreQueue(grpc::CompletionQueue& queue) { return queue.cq(); }

}  // namespace

CallSet::Position CallSet::Add(UnaryCall* call) {
  std::lock_guard lock(mutex_);
  return calls_.insert(calls_.end(), call);
}

void CallSet::Remove(Position position) {
  std::lock_guard lock(mutex_);
  calls_.erase(position);
}

void CallSet::CancelAll() {
  // Completions run on another thread and wait for the lock, so that each call stays valid here.
  std::lock_guard lock(mutex_);
  for (UnaryCall* call : calls_) call->Cancel();
}

Connection::Connection(UniqueFd fd, const Target& target, grpc::CompletionQueue& queue)
    : fd_(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)),
      peer_(target.kind == Target::Kind::kTcp ? "tcp " + target.name : "unix @->" + target.name),
      queue_(queue) {
  const grpc::ChannelArguments args = Arguments(target);
  grpc_channel_args core_args = args.c_channel_args();
  grpc_channel_credentials* credentials = grpc_insecure_credentials_create();
  core_ =
      grpc_channel_create_from_fd(target.authority.c_str(), fd.release(), credentials, &core_args);
  grpc_channel_credentials_release(credentials);
  channel_ = grpc::CreateChannelInternal("", core_, {});
  stub_.emplace(channel_);
}

bool Connection::alive() const {
  pollfd state{fd_.get(), POLLRDHUP, 0};
  return poll(&state, 1, 0) == 0;
}

void Connection::Ping(UniqueFunction<void(bool)> done) {
  auto* event = new CoreTag(std::move(done));
  NoteGiven(event);
  grpc::internal::CompletionQueueTag* tag = event;
  grpc_channel_ping(core_, CoreQueue(queue_), tag, nullptr);
}

UnaryCall::UnaryCall(std::shared_ptr<Connection> connection, std::shared_ptr<CallSet> calls,
                     std::unique_ptr<google::protobuf::Message> response,
                     std::optional<Duration> left)
    : connection_(std::move(connection)), calls_(std::move(calls)), response_(std::move(response)) {
  if (left) {
    deadline_ = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                             gpr_time_from_nanos(left->count(), GPR_TIMESPAN));
    context_.set_deadline(*deadline_);
  }
}

void UnaryCall::Start(const std::string& method, const grpc::ByteBuffer& request,
                      async::Completer<Outcome> done) {
  done_.emplace(std::move(done));
  self_ = shared_from_this();
  request_bytes_ = request.Length();
  position_ = calls_->Add(this);
  reader_ = connection_->stub_->PrepareUnaryCall(&context_, method, request, &connection_->queue_);
  NoteGiven(this);
  reader_->StartCall();
  reader_->Finish(&answer_, &status_, static_cast<CompletionEvent*>(this));
}

void UnaryCall::OnComplete(bool) {
  std::shared_ptr<UnaryCall> self = std::move(self_);
  calls_->Remove(position_);
  (*done_)(Finish());
}

Outcome UnaryCall::Finish() {
  if (status_.ok()) {
    grpc::ProtoBufferReader reader(&answer_);
    if (!response_->ParseFromZeroCopyStream(&reader)) {
      return RpcStatus(static_cast<int>(Code::kInternal),
                       "grpc: failed to unmarshal the received message: proto: cannot parse "
                       "invalid wire-format data");
    }
    return std::move(response_);
  }
  CallFacts facts;
  facts.from_trailers =
      context_.debug_error_string().find("Error received from peer") != std::string::npos;
  facts.connection_ok = connection_->alive();
  // The library's timers have a granularity of a millisecond.
  facts.deadline_passed =
      deadline_ && gpr_time_cmp(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                             gpr_time_from_millis(2, GPR_TIMESPAN)),
                                *deadline_) >= 0;
  facts.request_bytes = request_bytes_;
  facts.peer = connection_->peer_;
  return TranslateFailure(status_, facts);
}

}  // namespace csinative::rpc
