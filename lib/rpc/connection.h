// SPDX-License-Identifier: Apache-2.0
//
// One HTTP/2 connection over one connected socket. It never dials again: gRPC gets the descriptor,
// so that dialling, back-off and the detection of a lost connection are ours and as specified
// (common 7.2, 7.3). Private to lib/rpc.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lib/async/completion.h"
#include "lib/base/unique_fd.h"
#include "lib/rpc/address.h"
#include "lib/rpc/completion_thread.h"
#include "lib/rpc/go_errors.h"

namespace csinative::rpc {

class UnaryCall;

// The calls in progress of one channel, over all its connections. Any thread.
class CallSet {
 public:
  using Position = std::list<UnaryCall*>::iterator;
  Position Add(UnaryCall* call);
  void Remove(Position position);
  void CancelAll();

 private:
  std::mutex mutex_;
  std::list<UnaryCall*> calls_;
};

// How a call ended.
struct Outcome {
  Outcome(Status failure) : verdict{std::move(failure)} {}    // NOLINT: implicit; also cancellation
  Outcome(Verdict v) : verdict(std::move(v)) {}               // NOLINT: implicit
  Outcome(std::unique_ptr<google::protobuf::Message> answer)  // NOLINT: implicit
      : response(std::move(answer)) {}

  Verdict verdict;
  std::unique_ptr<google::protobuf::Message> response;  // null on failure
};

// Loop only; completions run on the queue thread.
class Connection {
 public:
  Connection(UniqueFd fd, const Target& target, grpc::CompletionQueue& queue);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // False once either side has closed the socket.
  bool alive() const;

  // Proves that the peer speaks HTTP/2, which is what "ready" means in Go. `done` is called once,
  // on the queue thread; with false also when the connection is destroyed.
  void Ping(UniqueFunction<void(bool)> done);

 private:
  friend class UnaryCall;
  UniqueFd fd_;  // a duplicate of gRPC's
  std::string peer_;
  grpc::CompletionQueue& queue_;
  grpc_channel* core_ = nullptr;  // owned by channel_
  std::shared_ptr<grpc::Channel> channel_;
  std::optional<grpc::GenericStub> stub_;
};

// One call in progress. Owns all it uses until gRPC is done with it.
class UnaryCall final : public CompletionEvent, public std::enable_shared_from_this<UnaryCall> {
 public:
  // `left` is the time until the deadline, if there is one.
  UnaryCall(std::shared_ptr<Connection> connection, std::shared_ptr<CallSet> calls,
            std::unique_ptr<google::protobuf::Message> response, std::optional<Duration> left);

  void Start(const std::string& method, const grpc::ByteBuffer& request,
             async::Completer<Outcome> done);
  // Any thread, also after the end.
  void Cancel() { context_.TryCancel(); }

 private:
  void OnComplete(bool ok) override;
  Outcome Finish();

  std::shared_ptr<Connection> connection_;
  std::shared_ptr<CallSet> calls_;
  std::unique_ptr<google::protobuf::Message> response_;
  grpc::ClientContext context_;
  std::optional<gpr_timespec> deadline_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  size_t request_bytes_ = 0;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
  std::optional<async::Completer<Outcome>> done_;
  CallSet::Position position_;
  std::shared_ptr<UnaryCall> self_;  // while gRPC holds the tag
};

}  // namespace csinative::rpc
