// SPDX-License-Identifier: Apache-2.0
#include "lib/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/beast/http/parser.hpp>

#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/async/waiter.h"
#include "lib/base/strings.h"
#include "lib/http/http1.h"
#include "lib/http/listen.h"
#include "lib/http/net_error.h"
#include "lib/http/sink_body.h"
#include "lib/http/stream.h"
#include "lib/http/tls.h"

namespace csinative::http {
namespace {

namespace beast = boost::beast::http;

constexpr size_t kMaxHeaderBytes = 64 * 1024;
// A client that sends more than this ahead of its answer is not read until the answer is out.
constexpr size_t kMaxPipelinedBytes = 64 * 1024;
constexpr auto kHandshakeTimeout = std::chrono::seconds(10);  // Go: net/http tls handshake
constexpr auto kLinger = std::chrono::milliseconds(500);      // Go: net/http rstAvoidanceDelay
// accept() failing for want of descriptors: Go starts at 5 ms and doubles to 1 s.
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);

Status GoneStatus() { return UnavailableError("client disconnected"); }

// One answer on a connection. Lives in the frame that serves the request.
class Writer final : public ResponseWriter {
 public:
  Writer(std::shared_ptr<Stream> stream, std::string method, bool keep_alive, bool chunks_allowed)
      : stream_(std::move(stream)),
        method_(std::move(method)),
        keep_alive_(keep_alive),
        chunks_allowed_(chunks_allowed) {}

  async::Task<Status> Send(Response response) override {
    if (started_) co_return FailedPreconditionError("the answer has begun already");
    started_ = true;
    const bool body_allowed =
        response.status >= 200 && response.status != 204 && response.status != 304;
    if (body_allowed) {
      response.headers.Set("Content-Length", std::to_string(response.body.size()));
    } else {
      response.headers.Remove("Content-Length");
    }
    std::string out = Header(response.status, std::move(response.headers));
    if (body_allowed && method_ != "HEAD") out += response.body;
    response.body = std::string();
    co_return co_await Emit(std::move(out));
  }

  async::Task<Status> StartStream(int status, Headers headers) override {
    if (started_) co_return FailedPreconditionError("the answer has begun already");
    started_ = true;
    streaming_ = HasBody(method_, status);
    headers.Remove("Content-Length");
    if (chunks_allowed_) {
      headers.Set("Transfer-Encoding", "chunked");
    } else {
      keep_alive_ = false;  // the end of the connection is the end of the body
    }
    co_return co_await Emit(Header(status, std::move(headers)));
  }

  async::Task<Status> Write(std::string chunk) override {
    if (!started_) co_return FailedPreconditionError("the stream has not begun");
    if (chunk.empty() || !streaming_) co_return Broken();
    if (chunks_allowed_) {
      char size[20];
      std::snprintf(size, sizeof(size), "%zx\r\n", chunk.size());
      chunk.insert(0, size);
      chunk += "\r\n";
    }
    co_return co_await Emit(std::move(chunk));
  }

  void Abort() override {
    keep_alive_ = false;
    broken_ = true;
    stream_->Close(Stream::CloseMode::kAbrupt);
  }

  // Ends what the handler began. False if the connection must close.
  async::Task<bool> Finish() {
    if (broken_ || stream_->closed()) co_return false;
    if (streaming_ && chunks_allowed_) {
      // Also when cancelled: a client that reads on sees a clean end.
      const Status cancelled = co_await async::CancellationStatus();
      if (!cancelled.ok()) {
        (void)stream_->TryWrite("0\r\n\r\n");
        co_return false;
      }
      const Status written = co_await stream_->Write("0\r\n\r\n");
      if (!written.ok()) co_return false;
    }
    co_return keep_alive_;
  }

  bool started() const { return started_; }

 private:
  std::string Header(int status, Headers headers) {
    std::string out = StrCat("HTTP/1.1 ", status, " ", ReasonPhrase(status), "\r\n");
    if (HasToken(headers, "Connection", "close")) {
      keep_alive_ = false;
    } else if (!keep_alive_) {
      headers.Add("Connection", "close");
    } else if (!chunks_allowed_) {
      headers.Add("Connection", "keep-alive");  // HTTP/1.0
    }
    if (!headers.Get("Date")) headers.Add("Date", HttpDate(SystemClock().WallNow()));
    AppendFields(headers, &out);
    out += "\r\n";
    return out;
  }

  Status Broken() const { return broken_ || stream_->closed() ? GoneStatus() : Status(); }

  async::Task<Status> Emit(std::string bytes) {
    CSI_CO_RETURN_IF_ERROR(Broken());
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    Status written = co_await stream_->Write(std::move(bytes));
    if (written.ok()) co_return written;
    broken_ = true;  // a part of the bytes may be out: nothing sensible can follow
    if (written.transport_error() == nullptr) co_return written;  // cancelled
    co_return GoneStatus();
  }

  const std::shared_ptr<Stream> stream_;
  const std::string method_;
  bool keep_alive_;
  const bool chunks_allowed_;  // HTTP/1.1
  bool started_ = false;
  bool streaming_ = false;
  bool broken_ = false;
};

class ServerImpl;

// One client. Lives in the frame of ServerImpl::Serve.
class Connection {
 public:
  Connection(async::EventLoop& loop, std::shared_ptr<Stream> stream, size_t max_body_bytes,
             const Handler& handler)
      : loop_(loop),
        stream_(std::move(stream)),
        max_body_bytes_(max_body_bytes),
        handler_(handler) {}

  async::Task<void> Run() {
    if (stream_->ssl() != nullptr) {
      Status shaken = co_await async::WithTimeout(kHandshakeTimeout, stream_->Handshake());
      if (!shaken.ok()) {
        co_await Linger();
        stream_->Close(Stream::CloseMode::kAbrupt);
        co_return;
      }
      subject_ = VerifiedPeerSubject(stream_->ssl());
    }
    bool go_on = true;
    while (go_on) go_on = co_await ServeOne();
    stream_->Close(Stream::CloseMode::kGraceful);
  }

  void Drop() { stream_->Close(Stream::CloseMode::kAbrupt); }

 private:
  using Parser = beast::request_parser<SinkBody>;

  async::Task<bool> ServeOne() {
    auto parser = std::make_unique<Parser>();
    parser->eager(true);
    parser->header_limit(kMaxHeaderBytes);
    parser->body_limit(kNoLimit);  // see ReadRequest
    const int failure = co_await ReadRequest(parser.get());
    if (failure != 0) {
      if (failure > 0) co_await Refuse(failure);
      co_return false;
    }
    const bool http11 = parser->get().version() >= 11;
    const bool keep_alive = parser->keep_alive();
    ServerRequest request = Convert(parser->release());
    parser.reset();
    if (http11 && !request.headers.Get("Host")) {
      co_await Refuse(400);
      co_return false;
    }

    const async::TaskContext context = co_await async::CurrentContext();
    Writer writer(stream_, request.method, keep_alive, http11);
    async::Scope handler(loop_, context.cancel);
    async::Scope watch(loop_, context.cancel);
    handler.Spawn(handler_(std::move(request), &writer));
    watch.Spawn(WatchClient(&handler));
    co_await handler.Join();
    co_await watch.Close();
    if (!writer.started() && !stream_->closed()) {
      Response response{.status = 500, .body = "Internal Server Error\n"};
      response.headers.Add("Content-Type", "text/plain; charset=utf-8");
      (void)co_await writer.Send(std::move(response));
    }
    const bool usable = co_await writer.Finish();
    const Status cancelled = co_await async::CancellationStatus();
    co_return usable&& cancelled.ok();
  }

  // 0: parsed. Negative: the connection ended. Else the status to refuse with.
  async::Task<int> ReadRequest(Parser* parser) {
    bool continue_sent = false;
    size_t header_bytes = 0;
    while (true) {
      if (!input_.empty()) {
        boost::system::error_code error;
        const size_t used = parser->put(boost::asio::buffer(input_), error);
        input_.erase(0, used);
        if (error && error != beast::error::need_more) {
          if (error == beast::error::header_limit) co_return 431;
          co_return 400;
        }
        // The parser's own limits do not hold (Boost 1.74): that of the header is for one call,
        // that of the body is lost when bytes of the body follow the header in one call.
        const size_t body = parser->get().body().size();
        if (!parser->is_header_done()) {
          header_bytes += used;
          if (header_bytes + input_.size() > kMaxHeaderBytes) co_return 431;
        } else if (parser->content_length().value_or(body) > max_body_bytes_ ||
                   body > max_body_bytes_) {
          co_return 413;
        }
        if (parser->is_done()) co_return 0;
        if (parser->is_header_done() && !std::exchange(continue_sent, true) &&
            parser->get()[beast::field::expect] == "100-continue") {
          Status sent = co_await stream_->Write("HTTP/1.1 100 Continue\r\n\r\n");
          if (!sent.ok()) co_return -1;
        }
      }
      Result<std::string> piece = co_await stream_->Read();
      if (!piece.ok() || piece->empty()) co_return -1;
      input_ += *piece;
    }
  }

  async::Task<void> Refuse(int status) {
    const std::string text = StrCat(status, " ", ReasonPhrase(status));
    // Go's form: no length, the connection ends with the text.
    (void)co_await stream_->Write(
        StrCat("HTTP/1.1 ", text,
               "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n", text));
    co_await Linger();
  }

  // Unread input would turn the close into a reset that destroys what was written on its way: takes
  // what arrives, for a moment.
  async::Task<void> Linger() {
    if (stream_->closed()) co_return;
    ::shutdown(stream_->fd(), SHUT_WR);
    (void)co_await async::WithTimeout(kLinger, stream_->DiscardInput());
  }

  // Cancels the handler when the client closes; keeps what the client sends ahead.
  async::Task<void> WatchClient(async::Scope* handler) {
    while (input_.size() < kMaxPipelinedBytes) {
      Result<std::string> piece = co_await stream_->Read();
      if (piece.ok() && !piece->empty()) {
        input_ += *piece;
        continue;
      }
      const Status cancelled = co_await async::CancellationStatus();
      if (cancelled.ok()) {
        stream_->Close(Stream::CloseMode::kAbrupt);
        handler->Cancel(CancelledError("client disconnected"));
      }
      co_return;
    }
  }

  ServerRequest Convert(beast::request<SinkBody> message) const {
    ServerRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message) {
      request.headers.Add(std::string(field.name_string()), std::string(field.value()));
    }
    request.body = std::move(message.body());
    request.peer = stream_->peer_address();
    request.client_common_name = subject_.common_name;
    request.client_organizations = subject_.organizations;
    return request;
  }

  async::EventLoop& loop_;
  const std::shared_ptr<Stream> stream_;
  const size_t max_body_bytes_;
  const Handler& handler_;  // the server's, which outlives its connections
  PeerSubject subject_;
  std::string input_;  // read, not yet parsed
};

class ServerImpl final : public Server {
 public:
  ServerImpl(async::RealLoop& loop, UniqueFd listener, ServerConfig config, SslContextPtr tls,
             Handler handler)
      : loop_(loop),
        config_(std::move(config)),
        tls_(std::move(tls)),
        handler_(std::move(handler)),
        port_(LocalPort(listener.get())),
        listener_(std::make_shared<Stream>(loop.io(), std::move(listener), nullptr)),
        scope_(loop) {
    scope_.Spawn(Accept());
  }

  ~ServerImpl() override {
    if (!loop_.discarding() && !scope_.empty()) {
      std::fprintf(stderr, "an HTTP server was destroyed without Close()\n");
      std::abort();
    }
    listener_->Close(Stream::CloseMode::kAbrupt);
  }

  int port() const override { return port_; }

  async::Task<void> Close() override {
    listener_->Close(Stream::CloseMode::kAbrupt);
    co_await scope_.Close();
  }

  void DropConnections() override {
    for (Connection* connection : connections_) connection->Drop();
  }

 private:
  bool Full() const { return config_.max_connections != 0 && open_ >= config_.max_connections; }

  async::Task<void> Accept() {
    while (true) {
      while (Full()) {
        const Status freed = co_await closed_.Wait();
        if (!freed.ok()) co_return;
      }
      Status ready = co_await listener_->WaitReadable();
      if (!ready.ok() || listener_->closed()) co_return;
      const int fd = ::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        // Go's listener: keep-alive every 15 s, so that clients that vanished are noticed.
        const int seconds = 15;
        ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
        ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
        ++open_;
        scope_.Spawn(Serve(UniqueFd(fd)));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        (void)co_await async::Sleep(kAcceptRetry);
      }
    }
  }

  async::Task<void> Serve(UniqueFd fd) {
    co_await Talk(std::move(fd));
    --open_;
    closed_.WakeAll();
  }

  async::Task<void> Talk(UniqueFd fd) {
    SslPtr ssl;
    if (tls_) {
      Result<SslPtr> session = NewServerSession(tls_);
      if (!session.ok()) co_return;
      ssl = std::move(session).value();
    }
    Connection connection(loop_,
                          std::make_shared<Stream>(loop_.io(), std::move(fd), std::move(ssl)),
                          config_.max_body_bytes, handler_);
    connections_.insert(&connection);
    co_await connection.Run();
    connections_.erase(&connection);
  }

  async::RealLoop& loop_;
  const ServerConfig config_;
  const SslContextPtr tls_;
  const Handler handler_;
  const int port_;
  const std::shared_ptr<Stream> listener_;
  std::set<Connection*> connections_;
  size_t open_ = 0;           // accepted and not yet at their end
  async::WaiterList closed_;  // woken at the end of each
  async::Scope scope_;
};

}  // namespace

Result<std::unique_ptr<Server>> Listen(async::RealLoop& loop, ServerConfig config,
                                       Handler handler) {
  SslContextPtr tls;
  if (config.tls) {
    CSI_ASSIGN_OR_RETURN(tls, NewServerTlsContext(*config.tls));
  }
  CSI_ASSIGN_OR_RETURN(UniqueFd listener, ListenTcp(config.address));
  return std::unique_ptr<Server>(std::make_unique<ServerImpl>(
      loop, std::move(listener), std::move(config), std::move(tls), std::move(handler)));
}

}  // namespace csinative::http
