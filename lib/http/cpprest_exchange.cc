// SPDX-License-Identifier: Apache-2.0
#include "lib/http/cpprest_exchange.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "lib/http/cpprest_body.h"
#include "lib/http/net_error.h"
#include "lib/http/socket_options.h"
#include "lib/http/tls.h"

namespace csinative::http {
namespace {

using boost::asio::ip::tcp;
using Kind = TransportError::Kind;

// What a stream reads ahead of its consumer, besides one piece of the network.
constexpr size_t kReadAhead = 64 * 1024;
// The library allocates a buffer of this size for each body.
constexpr size_t kPieceBytes = 16 * 1024;
// The library's timer is restarted by every byte and closes quiet watches: deadlines are ours.
constexpr auto kNever = std::chrono::hours(24 * 365);

// The pooled connection was closed by the server while nobody used it. Nothing was sent.
struct StaleConnection : std::exception {
  const char* what() const noexcept override { return "http: server closed idle connection"; }
};

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// Header lines of the response as the server sent them, about.
size_t HeaderBytes(const Headers& headers) {
  size_t bytes = 0;
  for (const auto& [name, value] : headers.fields()) bytes += name.size() + value.size() + 4;
  return bytes;
}

}  // namespace

// Cpprest thread, but for what is const.
struct CppRestConnection::State {
  std::shared_ptr<web::http::client::http_client> client;
  const std::string base_url;     // scheme, address and port
  const std::string host_header;  // of the origin's name
  const std::string address;      // "1.2.3.4:56", for messages
  const SslContextPtr tls;
  const std::string server_name;
  const bool insecure;

  // Of the socket that the current request uses. `probe` duplicates a new socket until the header
  // of its first response, to ask for its state: the library does not tell.
  enum class Socket { kNone, kNew, kPooled };
  Socket socket = Socket::kNone;
  UniqueFd probe;
  bool handshaken = false;
  std::string verify_failure;

  State(const ClientSetup& setup, const tcp::endpoint& endpoint)
      : base_url(StrCat(setup.origin.tls ? "https://" : "http://", FormatAddress(endpoint.data()))),
        host_header(setup.origin.host_header()),
        address(FormatAddress(endpoint.data())),
        tls(setup.tls),
        server_name(setup.server_name),
        insecure(setup.config.tls.insecure_skip_verify) {}

  void CreateClient(const std::shared_ptr<State>& self) {
    web::http::client::http_client_config config;
    config.set_timeout(kNever);
    config.set_chunksize(kPieceBytes);
    config.set_max_redirects(0);
    config.set_tlsext_sni_enabled(false);  // ExpectServer does it, with the right name
    // The configuration lives as long as any socket of the client and keeps this state for them:
    // a circle that ~CppRestConnection cuts.
    config.set_nativehandle_options(
        [self](web::http::client::native_handle handle) { self->PrepareSocket(handle); });
    if (tls) {
      config.set_ssl_context_callback([self](boost::asio::ssl::context& context) {
        self->PrepareContext(context.native_handle());
      });
    }
    client = std::make_shared<web::http::client::http_client>(base_url, config);
  }

  // Runs before each request, on a socket that is not open yet or on one from the pool.
  void PrepareSocket(web::http::client::native_handle handle) {
    using TlsStream = boost::asio::ssl::stream<tcp::socket&>;
    SSL* ssl = tls ? static_cast<TlsStream*>(handle)->native_handle() : nullptr;
    tcp::socket& native =
        tls ? static_cast<TlsStream*>(handle)->next_layer() : *static_cast<tcp::socket*>(handle);
    if (native.is_open()) {
      pollfd poll_fd = {.fd = native.native_handle(), .events = POLLIN | POLLRDHUP, .revents = 0};
      // Anything to read on an idle connection is its end, or an answer to nobody's question.
      if (::poll(&poll_fd, 1, 0) > 0) throw StaleConnection();
      socket = Socket::kPooled;
      return;
    }
    socket = Socket::kNew;
    handshaken = false;
    verify_failure.clear();
    UniqueFd fd = NewClientSocket(AF_INET);
    if (!fd.valid()) throw std::system_error(errno, std::generic_category(), "socket");
    SetClientSocketOptions(fd.get());
    probe.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    native.assign(tcp::v4(), fd.release());
    if (ssl != nullptr) {
      const Status status = ExpectServer(ssl, server_name);
      if (!status.ok()) throw std::invalid_argument(status.message());
    }
  }

  // Verification is OpenSSL's own with the parameters of ExpectServer: the library's callback
  // trusts common names and cannot say what was wrong.
  void PrepareContext(SSL_CTX* context) {
    CopyClientTls(tls.get(), context);
    SSL_CTX_set_ex_data(context, ContextIndex(), this);
    SSL_CTX_set_cert_verify_callback(context, Verify, this);
    SSL_CTX_set_info_callback(context, OnTlsEvent);
  }

  static int Verify(X509_STORE_CTX* context, void* self) {
    auto* state = static_cast<State*>(self);
    if (state->insecure) {
      X509_STORE_CTX_set_error(context, X509_V_OK);
      return 1;
    }
    X509_STORE_CTX_set_verify_cb(context, RecordVerifyFailure);
    const int ok = X509_verify_cert(context);
    if (ok != 1) {
      state->verify_failure = RecordedVerifyFailure(static_cast<SSL*>(
          X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())));
    }
    return ok;
  }

  static void OnTlsEvent(const SSL* ssl, int where, int) {
    if ((where & SSL_CB_HANDSHAKE_DONE) == 0) return;
    auto* state = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ContextIndex());
    static_cast<State*>(state)->handshaken = true;
  }

  // Where a context keeps its State; the application data is asio's.
  static int ContextIndex() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
  }

  bool connected() const {
    tcp_info info = {};
    socklen_t size = sizeof(info);
    return ::getsockopt(probe.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state != TCP_SYN_SENT && info.tcpi_state != TCP_CLOSE;
  }

  bool Reached(CppRestExchange::Milestone milestone) const {
    if (socket != Socket::kNew) return socket == Socket::kPooled;
    if (milestone == CppRestExchange::Milestone::kConnected) return connected();
    return tls == nullptr ? connected() : handshaken;
  }

  // The library reports an error number of some category and a text of its own.
  Status FailureOf(const web::http::http_exception& error) const {
    const std::string_view what = error.what();
    const int number = error.error_code().value();
    if (ERR_GET_LIB(static_cast<unsigned>(number)) == ERR_LIB_SSL) {
      return TlsFailureOf(static_cast<unsigned>(number), verify_failure);
    }
    // 1 and 2: "stream truncated" and "end of file" of other categories.
    const bool is_eof = number == 1 || number == 2 || number == ECONNABORTED;
    if (StartsWith(what, "Failed to connect")) {
      // The library writes "unreachable" for "refused".
      const int cause = number == EHOSTUNREACH ? ECONNREFUSED : number;
      return TransportStatus(KindOf(cause),
                             StrCat("dial tcp ", address, ": connect: ", ErrnoText(cause)));
    }
    if (StartsWith(what, "Invalid")) {
      return TransportStatus(Kind::kOther, StrCat("malformed HTTP response: ", what));
    }
    if (StartsWith(what, "Failed to write")) {
      const int cause = number == EHOSTUNREACH ? EPIPE : number;
      return TransportStatus(is_eof ? Kind::kReset : KindOf(cause),
                             StrCat("write tcp ->", address, ": write: ", ErrnoText(cause)));
    }
    if (is_eof || StartsWith(what, "cannot rewind")) {
      const bool in_body = what.find("body") != std::string_view::npos ||
                           what.find("chunk") != std::string_view::npos;
      return TransportStatus(Kind::kReset, in_body ? "unexpected EOF" : "EOF");
    }
    return TransportStatus(KindOf(number),
                           StrCat("read tcp ->", address, ": read: ", ErrnoText(number)));
  }
};

CppRestConnection::CppRestConnection(const ClientSetup& setup, tcp::endpoint endpoint)
    : state_(std::make_shared<State>(setup, endpoint)) {}

CppRestConnection::~CppRestConnection() {
  // The sockets of the pool go with the client.
  boost::asio::post(CppRestContext(), [state = std::move(state_)] { state->client.reset(); });
}

std::shared_ptr<CppRestExchange> CppRestExchange::Collecting(size_t limit) {
  return std::shared_ptr<CppRestExchange>(new CppRestExchange(false, limit));
}

std::shared_ptr<CppRestExchange> CppRestExchange::Streaming() {
  return std::shared_ptr<CppRestExchange>(new CppRestExchange(true, 0));
}

void CppRestExchange::Start(const CppRestConnection& connection,
                            std::shared_ptr<const Request> request, Duration connect,
                            Duration handshake) {
  boost::asio::post(CppRestContext(), [self = shared_from_this(), state = connection.state(),
                                       request = std::move(request), connect, handshake] {
    {
      std::lock_guard lock(self->mutex_);
      if (self->abandoned_) return;
      self->connection_ = state;
    }
    state->socket = CppRestConnection::State::Socket::kNone;
    try {
      if (!state->client) state->CreateClient(state);
      web::http::http_request message(request->method);
      message.set_request_uri(web::uri(request->target));
      message.headers().add("Host", state->host_header);
      for (const auto& [name, value] : request->headers.fields()) {
        message.headers().add(name, value);
      }
      // Always with a body, if an empty one: the library repeats a request without.
      message.headers().add("Content-Length", std::to_string(request->body.size()));
      message._get_impl()->set_instream(OneShotBody(request));
      message.set_response_stream(SinkOf(self));
      self->Send(message);
      // From here on, so that the time this thread needs to get ready does not count.
      self->CheckAfter(connect, Milestone::kConnected, handshake);
    } catch (...) {
      self->OnFailure(std::current_exception());
    }
  });
}

void CppRestExchange::Send(web::http::http_request message) {
  const std::shared_ptr<CppRestConnection::State> state = connection_;
  state->client->request(std::move(message), cancel_.get_token())
      .then([self = shared_from_this()](pplx::task<web::http::http_response> task) {
        try {
          web::http::http_response response = task.get();
          self->OnHeader(response);
          response.content_ready().then([self](pplx::task<web::http::http_response> done) {
            try {
              done.get();
              self->OnEnd(Status());
            } catch (...) {
              self->OnFailure(std::current_exception());
            }
          });
        } catch (...) {
          self->OnFailure(std::current_exception());
        }
      });
}

void CppRestExchange::OnHeader(const web::http::http_response& response) {
  timer_.reset();
  std::lock_guard lock(mutex_);
  connection_->probe.reset();
  status_ = response.status_code();
  for (const auto& [name, value] : response.headers()) headers_.Add(name, value);
  if (status_ < 200) {
    FailLocked(TransportStatus(Kind::kOther, "unexpected interim response"));
  } else if (HeaderBytes(headers_) > kMaxResponseHeaderBytes) {
    FailLocked(HeaderTooLarge());
  } else {
    header_done_ = true;
    NotifyLocked();
  }
}

void CppRestExchange::FailLocked(Status status) {
  if (ended_) return;
  ended_ = true;
  end_ = std::move(status);
  NotifyLocked();
  boost::asio::post(CppRestContext(), [self = shared_from_this()] { self->cancel_.cancel(); });
}

void CppRestExchange::OnEnd(Status status) {
  timer_.reset();
  std::lock_guard lock(mutex_);
  if (connection_) connection_->probe.reset();
  connection_.reset();
  if (ended_) return;
  ended_ = true;
  end_ = local_reason_.ok() ? std::move(status) : local_reason_;
  NotifyLocked();
}

void CppRestExchange::OnFailure(std::exception_ptr error) {
  std::shared_ptr<CppRestConnection::State> state;
  {
    std::lock_guard lock(mutex_);
    state = connection_;
  }
  Status status;
  try {
    std::rethrow_exception(error);
  } catch (const StaleConnection& e) {
    status = TransportStatus(Kind::kReset, e.what());
    std::lock_guard lock(mutex_);
    stale_ = nothing_sent_ = true;
  } catch (const web::http::http_exception& e) {
    status = state ? state->FailureOf(e) : TransportStatus(Kind::kOther, e.what());
    std::lock_guard lock(mutex_);
    nothing_sent_ = StartsWith(e.what(), "Failed to connect");
  } catch (const std::exception& e) {
    status = TransportStatus(Kind::kOther, e.what());
  }
  OnEnd(std::move(status));
}

pplx::task<size_t> CppRestExchange::Accept(const char* data, size_t size) {
  std::lock_guard lock(mutex_);
  if (abandoned_) return pplx::task_from_result(size);
  if (!streaming_ && body_.size() + size > limit_) {
    // Not by an exception: the library would wait for itself on its only thread.
    FailLocked(BodyTooLarge());
    return pplx::task_from_result(size);
  }
  body_.append(data, size);
  NotifyLocked();
  if (!streaming_ || body_.size() <= kReadAhead) return pplx::task_from_result(size);
  held_back_.emplace(pplx::task_completion_event<size_t>(), size);
  return pplx::create_task(held_back_->first);
}

void CppRestExchange::Abandon() {
  std::lock_guard lock(mutex_);
  abandoned_ = true;
  waiter_.reset();
  if (ended_) return;
  boost::asio::post(CppRestContext(), [self = shared_from_this()] {
    // Closes the socket. A body that is held back must go on to see that.
    self->cancel_.cancel();
    std::lock_guard guard(self->mutex_);
    if (self->held_back_) self->held_back_->first.set(self->held_back_->second);
    self->held_back_.reset();
    self->body_ = std::string();
  });
}

void CppRestExchange::CheckAfter(Duration limit, Milestone milestone, Duration next_limit) {
  {
    std::lock_guard lock(mutex_);
    if (header_done_ || ended_ || !connection_) return;
  }
  timer_.emplace(CppRestContext(), limit);
  timer_->async_wait(
      [self = shared_from_this(), milestone, next_limit](const boost::system::error_code& error) {
        if (error) return;
        bool reached = false;
        {
          std::lock_guard lock(self->mutex_);
          if (self->header_done_ || self->ended_ || !self->connection_) return;
          const CppRestConnection::State& state = *self->connection_;
          reached = state.Reached(milestone);
          if (!reached) {
            self->nothing_sent_ = true;
            self->local_reason_ = TransportStatus(
                Kind::kTimeout, milestone == Milestone::kConnected
                                    ? StrCat("dial tcp ", state.address, ": i/o timeout")
                                    : std::string("net/http: TLS handshake timeout"));
          }
        }
        if (!reached) {
          self->cancel_.cancel();
        } else if (milestone == Milestone::kConnected) {
          self->CheckAfter(next_limit, Milestone::kHandshaken, next_limit);
        }
      });
}

bool CppRestExchange::Satisfied(Wanted wanted) const {
  switch (wanted) {
    case Wanted::kNothing:
      return false;
    case Wanted::kHeader:
      return header_done_ || ended_;
    case Wanted::kPiece:
      return !body_.empty() || ended_;
    case Wanted::kEnd:
      return ended_;
  }
  return false;
}

void CppRestExchange::NotifyLocked() {
  if (!waiter_ || !Satisfied(wanted_)) return;
  (*waiter_)(Status());
  waiter_.reset();
}

async::Task<Status> CppRestExchange::Wait(Wanted wanted) {
  {
    std::lock_guard lock(mutex_);
    if (Satisfied(wanted)) co_return Status();
  }
  co_return co_await async::FromCallback<Status>([this, wanted](async::Completer<Status> done) {
    std::lock_guard lock(mutex_);
    wanted_ = wanted;
    waiter_ = std::move(done);
    NotifyLocked();
  });
}

async::Task<Status> CppRestExchange::WaitHeader() {
  CSI_CO_RETURN_IF_ERROR(co_await Wait(Wanted::kHeader));
  std::lock_guard lock(mutex_);
  co_return header_done_ ? Status() : end_;
}

async::Task<Status> CppRestExchange::WaitEnd() {
  CSI_CO_RETURN_IF_ERROR(co_await Wait(Wanted::kEnd));
  std::lock_guard lock(mutex_);
  co_return end_;
}

async::Task<Result<std::string>> CppRestExchange::ReadPiece() {
  CSI_CO_RETURN_IF_ERROR(co_await Wait(Wanted::kPiece));
  std::lock_guard lock(mutex_);
  if (body_.empty()) {
    if (!end_.ok()) co_return end_;
    co_return std::string();
  }
  std::string piece = std::exchange(body_, std::string());
  if (held_back_) held_back_->first.set(held_back_->second);
  held_back_.reset();
  co_return piece;
}

bool CppRestExchange::nothing_sent() const {
  std::lock_guard lock(mutex_);
  return nothing_sent_;
}

bool CppRestExchange::stale() const {
  std::lock_guard lock(mutex_);
  return stale_;
}

}  // namespace csinative::http
