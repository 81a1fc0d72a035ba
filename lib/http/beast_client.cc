// SPDX-License-Identifier: Apache-2.0
//
// The transport on Boost.Beast's parser and the streams of lib/http.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "lib/http/decode.h"
#include "lib/http/dial.h"
#include "lib/http/http1.h"
#include "lib/http/idle_pool.h"
#include "lib/http/net_error.h"
#include "lib/http/sink_body.h"
#include "lib/http/socks.h"
#include "lib/http/stream.h"
#include "lib/http/transport.h"

namespace csinative::http {
namespace {

namespace beast = boost::beast::http;
using Parser = beast::response_parser<SinkBody>;

// Bodies up to this size travel in one write with their header.
constexpr size_t kSmallBody = 32 * 1024;

Status ParseFailure(const boost::system::error_code& error) {
  if (error == beast::error::header_limit) return HeaderTooLarge();
  return TransportStatus(TransportError::Kind::kOther,
                         StrCat("malformed HTTP response: ", error.message()));
}

// One connection and the response that is being read from it.
class Connection {
 public:
  explicit Connection(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~Connection() { stream_->Close(Stream::CloseMode::kAbrupt); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Stream& stream() { return *stream_; }

  // Sends the request and reads up to the end of the response's header.
  async::Task<Status> Exchange(std::string method, std::string head, std::string body,
                               std::optional<size_t> body_limit) {
    std::string first = std::move(head);
    if (body.size() <= kSmallBody) first += std::exchange(body, std::string());
    Status written = co_await stream_->Write(std::move(first));
    if (written.ok() && !body.empty()) written = co_await stream_->Write(std::move(body));
    // A server may refuse a request before it has read all of it: its answer counts.
    if (!written.ok() && written.transport_error() == nullptr) co_return written;
    body_limit_ = body_limit;
    while (true) {
      parser_ = std::make_unique<Parser>();
      header_bytes_ = 0;
      header_checked_ = false;
      parser_->eager(true);
      parser_->header_limit(kMaxResponseHeaderBytes);
      parser_->body_limit(kNoLimit);  // see CheckLimits
      parser_->skip(method == "HEAD");
      Status read = co_await ReadHeader();
      if (!read.ok()) co_return written.ok() ? read : written;
      const unsigned status = parser_->get().result_int();
      if (status >= 200 || status == 101) co_return Status();
    }
  }

  // The next piece of the body; empty at its end.
  async::Task<Result<std::string>> ReadBody() {
    while (true) {
      std::string& body = parser_->get().body();
      if (!body.empty()) co_return std::exchange(body, std::string());
      if (parser_->is_done()) co_return std::string();
      CSI_CO_RETURN_IF_ERROR(co_await Advance());
    }
  }

  // The whole body.
  async::Task<Result<std::string>> ReadAll() {
    while (!parser_->is_done()) CSI_CO_RETURN_IF_ERROR(co_await Advance());
    co_return std::move(parser_->get().body());
  }

  int status() const { return static_cast<int>(parser_->get().result_int()); }
  Headers TakeHeaders() {
    Headers headers;
    for (const auto& field : parser_->get()) {
      headers.Add(std::string(field.name_string()), std::string(field.value()));
    }
    return headers;
  }

  // REQUIRES: the response was read to its end.
  bool reusable() const { return parser_->keep_alive() && !parser_->need_eof() && input_.empty(); }
  void FinishResponse() { parser_.reset(); }
  // A fresh start on the same bytes, after a proxy's answer.
  bool has_input() const { return !input_.empty(); }

 private:
  async::Task<Status> ReadHeader() {
    while (!parser_->is_header_done()) CSI_CO_RETURN_IF_ERROR(co_await Advance());
    co_return Status();
  }

  // Parses what is there, else reads and parses.
  async::Task<Status> Advance() {
    if (!input_.empty()) {
      boost::system::error_code error;
      const size_t used = parser_->put(boost::asio::buffer(input_), error);
      input_.erase(0, used);
      if (error && error != beast::error::need_more) co_return ParseFailure(error);
      CSI_CO_RETURN_IF_ERROR(CheckLimits(used));
      if (used > 0) co_return Status();
    }
    Result<std::string> piece = co_await stream_->Read();
    if (!piece.ok()) co_return piece.status();
    if (!piece->empty()) {
      input_ += *piece;
      co_return Status();
    }
    if (!parser_->got_some() && input_.empty()) {
      co_return TransportStatus(TransportError::Kind::kReset, "EOF");
    }
    boost::system::error_code error;
    parser_->put_eof(error);
    if (error) co_return TransportStatus(TransportError::Kind::kReset, "unexpected EOF");
    co_return Status();
  }

  // The parser's own limits do not hold (Boost 1.74): that of the header is for one call, that of
  // the body is lost when bytes of the body follow the header in one call.
  Status CheckLimits(size_t parsed) {
    if (!header_checked_) {
      header_checked_ = parser_->is_header_done();
      header_bytes_ += parsed;
      const size_t body = parser_->get().body().size();
      const size_t header = header_bytes_ - std::min(header_bytes_, body);
      const size_t waiting = header_checked_ ? 0 : input_.size();
      if (header + waiting > kMaxResponseHeaderBytes) return HeaderTooLarge();
      if (!header_checked_ || !body_limit_) return Status();
      const auto length = parser_->content_length();
      if (length && *length > *body_limit_) return BodyTooLarge();
    }
    if (body_limit_ && parser_->get().body().size() > *body_limit_) return BodyTooLarge();
    return Status();
  }

  const std::shared_ptr<Stream> stream_;
  std::unique_ptr<Parser> parser_;
  std::optional<size_t> body_limit_;
  bool header_checked_ = false;
  size_t header_bytes_ = 0;  // parsed for the current response while its header lasted
  std::string input_;        // read, not yet parsed
};

using ConnectionPtr = std::unique_ptr<Connection>;

class BeastStreamingResponse final : public StreamingResponse {
 public:
  BeastStreamingResponse(ConnectionPtr connection, Duration idle_timeout)
      : connection_(std::move(connection)),
        status_(connection_->status()),
        headers_(connection_->TakeHeaders()),
        idle_timeout_(idle_timeout) {}

  int status() const override { return status_; }
  const Headers& headers() const override { return headers_; }

  async::Task<Result<std::string>> Read() override {
    if (idle_timeout_ <= Duration::zero()) {
      Result<std::string> piece = co_await connection_->ReadBody();
      if (piece.ok()) co_return piece;
      co_return FinalStatus(piece.status());
    }
    Result<std::string> piece = co_await async::WithTimeout(idle_timeout_, connection_->ReadBody());
    if (piece.ok()) co_return piece;
    const Status cancelled = co_await async::CancellationStatus();
    if (cancelled.ok() && IsDeadlineExceeded(piece.status())) {
      co_return TransportStatus(TransportError::Kind::kTimeout, "stream idle for too long");
    }
    co_return FinalStatus(piece.status());
  }

 private:
  const ConnectionPtr connection_;
  const int status_;
  const Headers headers_;
  const Duration idle_timeout_;
};

class BeastClient final : public Client {
 public:
  BeastClient(async::RealLoop& loop, ClientSetup setup)
      : loop_(loop),
        setup_(std::move(setup)),
        permits_(static_cast<size_t>(std::max(1, setup_.config.max_connections))),
        idle_(loop, setup_.config.idle_connection_timeout) {}

  async::Task<Result<Response>> Do(Request request) override {
    CSI_CO_RETURN_IF_ERROR(CheckRequest(request));
    Status permitted = co_await permits_.Acquire();
    if (!permitted.ok()) co_return FinalStatus(permitted);
    const async::Permit permit(permits_);
    ConnectionPtr connection = TakeIdle();
    if (!connection) {
      Result<ConnectionPtr> fresh = co_await Connect();
      if (!fresh.ok()) co_return FinalStatus(fresh.status());
      connection = std::move(fresh).value();
    }
    CSI_CO_RETURN_IF_ERROR(CheckInTime(request.send_before, loop_.Now()));
    std::string head = Head(request);
    Status sent =
        co_await connection->Exchange(std::move(request.method), std::move(head),
                                      std::move(request.body), setup_.config.max_body_bytes);
    if (!sent.ok()) co_return FinalStatus(sent);
    Response response;
    Result<std::string> body = co_await connection->ReadAll();
    if (!body.ok()) co_return FinalStatus(body.status());
    response.status = connection->status();
    response.headers = connection->TakeHeaders();
    response.body = std::move(body).value();
    if (connection->reusable()) {
      connection->FinishResponse();
      idle_.Put(std::move(connection));
    }
    CSI_CO_RETURN_IF_ERROR(DecodeResponse(&response, setup_.config.max_body_bytes));
    co_return response;
  }

  async::Task<Result<std::unique_ptr<StreamingResponse>>> Stream(Request request,
                                                                 Duration idle_timeout) override {
    CSI_CO_RETURN_IF_ERROR(CheckRequest(request));
    Result<ConnectionPtr> connection = co_await Connect();
    if (!connection.ok()) co_return FinalStatus(connection.status());
    CSI_CO_RETURN_IF_ERROR(CheckInTime(request.send_before, loop_.Now()));
    std::string head = Head(request);
    Status sent = co_await (*connection)
                      ->Exchange(std::move(request.method), std::move(head),
                                 std::move(request.body), std::nullopt);
    if (!sent.ok()) co_return FinalStatus(sent);
    co_return DecodeStream(
        std::make_unique<BeastStreamingResponse>(std::move(connection).value(), idle_timeout));
  }

 private:
  std::string Head(const Request& request) const {
    std::string out = StrCat(request.method, " ");
    if (AsksProxyByUrl()) {
      out += StrCat("http://", setup_.origin.host_header());  // absolute form for the proxy
    }
    out += StrCat(request.target, " HTTP/1.1\r\nHost: ", setup_.origin.host_header(), "\r\n");
    if (AsksProxyByUrl()) out += ProxyAuthorization();
    AppendFields(request.headers, &out);
    const bool may_have_body =
        request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    if (!request.body.empty() || may_have_body) {
      out += StrCat("Content-Length: ", request.body.size(), "\r\n");
    }
    out += "\r\n";
    return out;
  }

  // A plain request goes to an HTTP proxy with its whole URL.
  bool AsksProxyByUrl() const {
    return setup_.proxy && setup_.proxy->kind == Proxy::Kind::kHttp && !setup_.origin.tls;
  }

  std::string ProxyAuthorization() const {
    const std::string& encoded = setup_.proxy->origin.user_info;
    if (encoded.empty()) return "";
    std::string user_info = PercentDecode(encoded);
    if (encoded.find(':') == std::string::npos) user_info += ':';
    return StrCat("Proxy-Authorization: Basic ", Base64Encode(user_info), "\r\n");
  }

  async::Task<Result<ConnectionPtr>> Connect() {
    const Origin& next = setup_.proxy ? setup_.proxy->origin : setup_.origin;
    const MonotonicTime deadline = loop_.Now() + setup_.config.connect_timeout;
    Result<Endpoints> endpoints = setup_.addresses;
    if (endpoints->empty()) {
      endpoints =
          co_await ResolveHost(loop_.io(), next.host, next.port, setup_.config.connect_timeout);
    }
    if (!endpoints.ok()) co_return endpoints.status();
    Result<UniqueFd> fd =
        co_await Dial(loop_.io(), std::move(endpoints).value(), deadline - loop_.Now());
    if (!fd.ok()) co_return fd.status();
    auto stream = std::make_shared<http::Stream>(loop_.io(), std::move(fd).value(), nullptr);
    auto connection = std::make_unique<Connection>(stream);
    if (setup_.proxy) {
      CSI_CO_RETURN_IF_ERROR(co_await async::WithTimeout(setup_.config.connect_timeout,
                                                         PassProxy(stream, connection.get())));
    }
    if (setup_.origin.tls) {
      CSI_CO_RETURN_IF_ERROR(co_await SecureStream(stream, setup_.server_name));
    }
    co_return std::move(connection);
  }

  // TLS with whoever is at the other end.
  async::Task<Status> SecureStream(std::shared_ptr<http::Stream> stream, std::string name) {
    const Duration limit = std::min(setup_.config.connect_timeout, kTlsHandshakeTimeout);
    Result<SslPtr> ssl =
        NewClientSession(setup_.tls, name, !setup_.config.tls.insecure_skip_verify);
    if (!ssl.ok()) co_return ssl.status();
    stream->StartTls(std::move(ssl).value());
    Status shaken = co_await async::WithTimeout(limit, stream->Handshake());
    if (shaken.ok()) co_return Status();
    const Status cancelled = co_await async::CancellationStatus();
    if (!cancelled.ok()) co_return cancelled;
    if (IsDeadlineExceeded(shaken) && shaken.transport_error() == nullptr) {
      co_return TransportStatus(TransportError::Kind::kTimeout, "net/http: TLS handshake timeout");
    }
    co_return shaken;
  }

  // From a connection to the proxy to one that reaches the origin, or that the proxy serves. The
  // connection is borrowed from the caller's frame.
  async::Task<Status> PassProxy(std::shared_ptr<http::Stream> stream, Connection* connection) {
    const Proxy& proxy = *setup_.proxy;
    if (proxy.kind == Proxy::Kind::kSocks5) {
      const std::string user_info = proxy.origin.user_info;
      const size_t colon = std::min(user_info.find(':'), user_info.size());
      SocksTarget target{.host = setup_.origin.host,
                         .port = setup_.origin.port,
                         .user = PercentDecode(user_info.substr(0, colon))};
      if (colon < user_info.size()) target.password = PercentDecode(user_info.substr(colon + 1));
      co_return co_await SocksConnect(stream, std::move(target));
    }
    if (proxy.origin.tls) {
      const std::string& configured = setup_.config.tls.server_name;
      CSI_CO_RETURN_IF_ERROR(
          co_await SecureStream(stream, configured.empty() ? proxy.origin.host : configured));
    }
    if (!setup_.origin.tls) co_return Status();
    co_return co_await Tunnel(connection);
  }

  // Asks the proxy for a tunnel to the origin. The connection is borrowed from the caller's frame.
  async::Task<Status> Tunnel(Connection* connection) {
    const std::string authority = setup_.origin.authority();
    std::string head = StrCat("CONNECT ", authority, " HTTP/1.1\r\nHost: ", authority, "\r\n",
                              ProxyAuthorization(), "\r\n");
    // "HEAD" because an accepting answer has no body; a refusal's body is of no interest.
    CSI_CO_RETURN_IF_ERROR(
        co_await connection->Exchange("HEAD", std::move(head), std::string(), std::nullopt));
    const int status = connection->status();
    if (status != 200) {
      const std::string_view reason = ReasonPhrase(status);
      co_return TransportStatus(TransportError::Kind::kOther,
                                StrCat("proxyconnect tcp: ", reason.empty() ? std::to_string(status)
                                                                            : std::string(reason)));
    }
    if (connection->has_input()) {
      co_return TransportStatus(TransportError::Kind::kOther,
                                "proxyconnect tcp: unexpected data after the proxy's answer");
    }
    connection->FinishResponse();
    co_return Status();
  }

  // An idle connection that is still usable, or null.
  ConnectionPtr TakeIdle() {
    while (ConnectionPtr connection = idle_.Take()) {
      if (!connection->stream().IdleButReadable()) return connection;
    }
    return nullptr;
  }

  async::RealLoop& loop_;
  const ClientSetup setup_;
  async::Semaphore permits_;
  IdlePool<ConnectionPtr> idle_;
};

}  // namespace

std::unique_ptr<Client> NewBeastClient(async::RealLoop& loop, ClientSetup setup) {
  return std::make_unique<BeastClient>(loop, std::move(setup));
}

}  // namespace csinative::http
