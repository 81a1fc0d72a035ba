// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_buffer_reader.h>
#include <grpcpp/impl/codegen/proto_buffer_writer.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>

#include "lib/async/blocking.h"
#include "lib/async/scope.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "lib/rpc/address.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/completion_thread.h"

namespace csinative::rpc {
namespace {

constexpr int kMaxReceiveBytes = 4 * 1024 * 1024;    // grpc-go's default for servers
constexpr int kMaxMetadataBytes = 16 * 1024 * 1024;  // as in connection.cc

class GrpcServer;

// What late events and steps need of the server; outlives it.
struct ServerState {
  ServerState(GrpcServer* s, async::EventLoop& l) : server(s), loop(l) {}

  GrpcServer* server;  // null once the transport has stopped. Loop only.
  async::EventLoop& loop;
  // gRPC aborts the program when an operation starts on a queue that was shut down.
  std::mutex mutex;
  bool stopped = false;
};

// One call, from the request for it until gRPC has no event left for it. Stream operations are
// started on the thread named at each function; gRPC allows any.
// The largest value of grpc::StatusCode, an enumeration of values up to 16, as C++ counts.
constexpr int kLargestCode = 31;

class ServerCall final : public std::enable_shared_from_this<ServerCall> {
 public:
  explicit ServerCall(std::shared_ptr<ServerState> state) : state_(std::move(state)) {}

  // Any thread. Waits for the next incoming call.
  static void Expect(std::shared_ptr<ServerState> state, grpc::AsyncGenericService& service,
                     grpc::ServerCompletionQueue& queue) {
    auto call = std::make_shared<ServerCall>(std::move(state));
    call->service_ = &service;
    call->queue_ = &queue;
    call->context_.AsyncNotifyWhenDone(call->Arm(call->over_, &ServerCall::OnOver));
    service.RequestCall(&call->context_, &call->stream_, &queue, &queue,
                        call->Arm(call->accepted_, &ServerCall::OnAccepted));
  }

  // Loop.
  void Answer(const google::protobuf::Message& response) {
    grpc::Slice slice(response.ByteSizeLong());
    response.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
    grpc::ByteBuffer buffer(&slice, 1);
    stream_.WriteAndFinish(buffer, grpc::WriteOptions(), grpc::Status::OK,
                           Arm(finished_, &ServerCall::OnFinished));
  }
  // A code that the library's type cannot hold becomes Unknown.
  void Fail(int grpc_code, const std::string& text) {
    if (grpc_code < 0 || grpc_code > kLargestCode) grpc_code = grpc::StatusCode::UNKNOWN;
    stream_.Finish(grpc::Status(static_cast<grpc::StatusCode>(grpc_code), text),
                   Arm(finished_, &ServerCall::OnFinished));
  }

  const std::string& method() const { return context_.method(); }
  grpc::ByteBuffer& request() { return request_; }
  // Loop. The source of the handler in progress, null outside it.
  async::CancelSource* handler = nullptr;
  bool client_gone = false;  // loop

  // What is left until the client's deadline, if it has one.
  std::optional<Duration> TimeLeft() const {
    const gpr_timespec deadline = context_.raw_deadline();
    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return std::nullopt;
    const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
    return std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
  }

 private:
  struct Tag final : CompletionEvent {
    void OnComplete(bool ok) override {
      std::shared_ptr<ServerCall> self = std::move(call);
      (self.get()->*next)(ok);
    }
    std::shared_ptr<ServerCall> call;  // while gRPC holds the tag
    void (ServerCall::*next)(bool) = nullptr;
  };

  CompletionEvent* Arm(Tag& tag, void (ServerCall::*next)(bool)) {
    tag.call = shared_from_this();
    tag.next = next;
    NoteGiven(&tag);
    return &tag;
  }

  // Queue thread.
  void OnAccepted(bool ok);
  void OnRead(bool ok);
  void OnFinished(bool) {}
  void OnOver(bool);

  std::shared_ptr<ServerState> state_;
  grpc::AsyncGenericService* service_ = nullptr;
  grpc::ServerCompletionQueue* queue_ = nullptr;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
  Tag accepted_, read_, finished_, over_;
};

// The library's side of a server. Without Close(), as when a loop is discarded, it stops after the
// frames of all handlers are gone.
struct Transport {
  explicit Transport(std::shared_ptr<ServerState> s) : state(std::move(s)) {}
  ~Transport() {
    StopServing();
    StopQueue();
  }
  // Blocks until no call is left.
  void StopServing();
  // From here on no event refers to the server.
  void StopQueue();

  std::shared_ptr<ServerState> state;
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<CompletionThread> queue;
};

class GrpcServer final : public Server {
 public:
  explicit GrpcServer(async::EventLoop& loop)
      : transport_(std::make_shared<ServerState>(this, loop)), calls_(loop) {}

  void Register(std::string method, Method handler) override {
    methods_[std::move(method)] = std::move(handler);
  }
  Status Start(std::string address) override;
  async::Task<void> Close() override;

  void OnRequest(std::shared_ptr<ServerCall> call) {
    if (closing_) return call->Fail(grpc::StatusCode::UNAVAILABLE, "the server is shutting down");
    calls_.Spawn(Serve(std::move(call)));
  }

 private:
  async::Task<void> Serve(std::shared_ptr<ServerCall> call);

  std::map<std::string, Method> methods_;
  bool closing_ = false;
  Transport transport_;
  async::Scope calls_;
};

void ServerCall::OnAccepted(bool ok) {
  if (!ok) {
    // The server shuts down; gRPC never delivers the other event of a call that did not come.
    over_.call.reset();
    return;
  }
  std::lock_guard lock(state_->mutex);
  if (state_->stopped) return;
  Expect(state_, *service_, *queue_);
  stream_.Read(&request_, Arm(read_, &ServerCall::OnRead));
}

void ServerCall::OnRead(bool ok) {
  if (!ok) {
    std::lock_guard lock(state_->mutex);
    if (!state_->stopped) Fail(grpc::StatusCode::INTERNAL, "no request message");
    return;
  }
  state_->loop.Post([self = shared_from_this()] {
    if (GrpcServer* server = self->state_->server) server->OnRequest(self);
  });
}

void ServerCall::OnOver(bool) {
  if (!context_.IsCancelled()) return;
  state_->loop.Post([self = shared_from_this()] {
    self->client_gone = true;
    if (self->handler == nullptr) return;
    std::optional<Duration> left = self->TimeLeft();
    self->handler->Cancel(left && *left <= Duration::zero() ? DeadlineExceededError()
                                                            : CancelledError());
  });
}

async::Task<void> GrpcServer::Serve(std::shared_ptr<ServerCall> call) {
  auto found = methods_.find(call->method());
  if (found == methods_.end()) {
    const std::string& name = call->method();  // "/service/method"
    const size_t slash = name.rfind('/');
    const std::string service = name.substr(1, slash > 0 ? slash - 1 : 0);
    auto first = methods_.lower_bound("/" + service + "/");
    const bool known = first != methods_.end() && first->first.starts_with("/" + service + "/");
    call->Fail(grpc::StatusCode::UNIMPLEMENTED,
               known ? StrCat("unknown method ", name.substr(slash + 1), " for service ", service)
                     : "unknown service " + service);
    co_return;
  }
  Method& method = found->second;
  std::unique_ptr<google::protobuf::Message> request(method.request_prototype->New());
  std::unique_ptr<google::protobuf::Message> response(method.response_prototype->New());
  {
    grpc::ProtoBufferReader reader(&call->request());
    if (!request->ParseFromZeroCopyStream(&reader)) {
      call->Fail(grpc::StatusCode::INTERNAL,
                 "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data");
      co_return;
    }
    call->request().Clear();
  }
  async::TaskContext context = co_await async::CurrentContext();
  async::CancelSource source(context.cancel);
  if (std::optional<Duration> left = call->TimeLeft()) {
    source.LimitDeadline(context.loop->Now() + *left);
  }
  if (call->client_gone) source.Cancel();
  call->handler = &source;
  Status status = co_await method.handler(std::move(request), response.get()).Under(source);
  call->handler = nullptr;
  if (status.ok()) {
    call->Answer(*response);
  } else {
    const RpcError* error = status.rpc_error();
    call->Fail(error != nullptr ? error->grpc_code : static_cast<int>(status.code()),
               Description(status));
  }
}

// What Go's net.Listen would say, found by listening again: gRPC only says that it failed.
Status WhyUnixListenFailed(const std::string& path) {
  auto fail = [&](int error_number) {
    return UnavailableError(StrCat("listen unix ", path, ": bind: ", ErrnoText(error_number)));
  };
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.size() + 1 > sizeof(where.sun_path)) return fail(EINVAL);
  std::memcpy(where.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail(errno);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0) {
    return fail(errno);
  }
  unlink(path.c_str());
  return UnavailableError(StrCat("listen unix ", path, ": failed"));
}

// The path as a URI that the library decodes back to it: to us a path is literal.
std::string UnixUri(std::string_view path) {
  std::string out = "unix:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += '%' + HexEncode(std::string_view(&c, 1));
    }
  }
  return out;
}

Status GrpcServer::Start(std::string address) {
  CSI_ASSIGN_OR_RETURN(Target target, ParseTarget(address, false));
  const bool path = target.kind == Target::Kind::kUnix || target.kind == Target::Kind::kUnixPath;
  if (path) {
    address = UnixUri(target.name);
  } else if (target.kind == Target::Kind::kTcp) {
    address = target.name;
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterAsyncGenericService(&transport_.service);
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A client's pings are its own business.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  grpc::ServerCompletionQueue* incoming = queue.get();
  transport_.queue = std::make_unique<CompletionThread>(std::move(queue));
  transport_.server = builder.BuildAndStart();
  if (!transport_.server) {
    transport_.queue.reset();
    if (path) return WhyUnixListenFailed(target.name);
    return UnavailableError(StrCat("listen tcp ", address, ": failed"));
  }
  ServerCall::Expect(transport_.state, transport_.service, *incoming);
  return Status();
}

void Transport::StopServing() {
  if (server) server->Shutdown(std::chrono::system_clock::time_point::min());
}

void Transport::StopQueue() {
  state->server = nullptr;
  {
    std::lock_guard lock(state->mutex);
    state->stopped = true;
  }
  queue.reset();
  server.reset();
}

async::Task<void> GrpcServer::Close() {
  closing_ = true;
  co_await calls_.Close();
  // gRPC waits here for calls that came in last, and those are answered by this loop.
  async::ThreadPool pool(1);
  (void)co_await async::Shielded(async::Blocking(pool, [this] {
    transport_.StopServing();
    return Status();
  }));
  transport_.StopQueue();
}

}  // namespace

std::unique_ptr<Server> NewServer(async::EventLoop& loop) {
  return std::make_unique<GrpcServer>(loop);
}

}  // namespace csinative::rpc
