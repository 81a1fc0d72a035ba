// SPDX-License-Identifier: Apache-2.0
//
// The transport on cpprestsdk. Each connection is an http_client of its own, so that the pool, its
// limit, the life of its sockets and the reasons of failures are ours.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lib/async/scope.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/http/cpprest_exchange.h"
#include "lib/http/decode.h"
#include "lib/http/dial.h"
#include "lib/http/http1.h"
#include "lib/http/idle_pool.h"
#include "lib/http/net_error.h"
#include "lib/http/transport.h"

namespace csinative::http {
namespace {

using boost::asio::ip::tcp;
using Exchange = CppRestExchange;
using ConnectionPtr = std::unique_ptr<CppRestConnection>;
using RequestPtr = std::shared_ptr<const Request>;

// The library keeps one value a name: it would join several with a comma.
bool HasRepeatedFields(const Request& request) {
  std::set<std::string> seen;
  for (const auto& [name, value] : request.headers.fields()) {
    if (!seen.insert(ToLower(name)).second) return true;
  }
  return false;
}

bool IsUnimplemented(const Status& status) { return status.code() == Code::kUnimplemented; }

class CppRestStreamingResponse final : public StreamingResponse {
 public:
  CppRestStreamingResponse(ConnectionPtr connection, Exchange::Handle exchange,
                           Duration idle_timeout)
      : connection_(std::move(connection)),
        exchange_(std::move(exchange)),
        idle_timeout_(idle_timeout) {}

  int status() const override { return exchange_->status(); }
  const Headers& headers() const override { return exchange_->headers(); }

  async::Task<Result<std::string>> Read() override {
    if (idle_timeout_ <= Duration::zero()) {
      Result<std::string> piece = co_await exchange_->ReadPiece();
      if (piece.ok()) co_return piece;
      co_return FinalStatus(piece.status());
    }
    Result<std::string> piece = co_await async::WithTimeout(idle_timeout_, exchange_->ReadPiece());
    if (piece.ok()) co_return piece;
    const Status cancelled = co_await async::CancellationStatus();
    if (cancelled.ok() && IsDeadlineExceeded(piece.status())) {
      co_return TransportStatus(TransportError::Kind::kTimeout, "stream idle for too long");
    }
    co_return FinalStatus(piece.status());
  }

 private:
  const ConnectionPtr connection_;
  const Exchange::Handle exchange_;
  const Duration idle_timeout_;
};

class CppRestClient final : public Client {
 public:
  CppRestClient(async::RealLoop& loop, ClientSetup setup, Fallback fallback)
      : loop_(loop),
        setup_(std::move(setup)),
        fallback_(fallback),
        permits_(static_cast<size_t>(std::max(1, setup_.config.max_connections))),
        idle_(loop, setup_.config.idle_connection_timeout) {}

  async::Task<Result<Response>> Do(Request request) override {
    CSI_CO_RETURN_IF_ERROR(CheckRequest(request));
    auto shared = std::make_shared<const Request>(std::move(request));
    Result<Response> response = co_await DoShared(shared);
    if (response.ok() || !IsUnimplemented(response.status()) || fallback_ == Fallback::kNone) {
      co_return response;
    }
    co_return co_await Beast().Do(*shared);
  }

  async::Task<Result<std::unique_ptr<StreamingResponse>>> Stream(Request request,
                                                                 Duration idle_timeout) override {
    CSI_CO_RETURN_IF_ERROR(CheckRequest(request));
    auto shared = std::make_shared<const Request>(std::move(request));
    Result<std::unique_ptr<StreamingResponse>> stream = co_await StreamShared(shared, idle_timeout);
    if (stream.ok() || !IsUnimplemented(stream.status()) || fallback_ == Fallback::kNone) {
      co_return stream;
    }
    co_return co_await Beast().Stream(*shared, idle_timeout);
  }

 private:
  struct Addresses {
    Endpoints v4;
    bool others = false;
  };

  Client& Beast() {
    if (!beast_) beast_ = NewBeastClient(loop_, setup_);
    return *beast_;
  }

  async::Task<Result<Response>> DoShared(RequestPtr request) {
    if (HasRepeatedFields(*request)) co_return UnimplementedError("repeated request header");
    Status permitted = co_await permits_.Acquire();
    if (!permitted.ok()) co_return FinalStatus(permitted);
    const async::Permit permit(permits_);
    // A stale connection was not used: the next one, or a new one, takes the request.
    while (ConnectionPtr idle = idle_.Take()) {
      Exchange::Handle exchange(Exchange::Collecting(setup_.config.max_body_bytes));
      Status header = co_await Run(*idle, exchange.get(), request);
      if (!header.ok() && exchange->stale()) continue;
      if (!header.ok()) co_return FinalStatus(header);
      co_return co_await Collect(std::move(idle), std::move(exchange));
    }
    Result<Addresses> addresses = co_await Resolve();
    if (!addresses.ok()) co_return FinalStatus(addresses.status());
    Status failure;
    for (size_t i = 0; i < addresses->v4.size(); ++i) {
      auto fresh = std::make_unique<CppRestConnection>(setup_, addresses->v4[i]);
      Exchange::Handle exchange(Exchange::Collecting(setup_.config.max_body_bytes));
      Status header = co_await Run(*fresh, exchange.get(), request);
      if (header.ok()) co_return co_await Collect(std::move(fresh), std::move(exchange));
      if (failure.ok()) failure = FinalStatus(header);
      if (!exchange->nothing_sent()) co_return FinalStatus(header);
    }
    if (addresses->others) failure = UnimplementedError(failure.message());
    co_return failure;
  }

  async::Task<Result<Response>> Collect(ConnectionPtr connection, Exchange::Handle exchange) {
    Status end = co_await exchange->WaitEnd();
    if (!end.ok()) co_return FinalStatus(end);
    Response response;
    response.status = exchange->status();
    response.headers = exchange->headers();
    response.body = exchange->TakeBody();
    idle_.Put(std::move(connection));
    CSI_CO_RETURN_IF_ERROR(DecodeResponse(&response, setup_.config.max_body_bytes));
    co_return response;
  }

  async::Task<Result<std::unique_ptr<StreamingResponse>>> StreamShared(RequestPtr request,
                                                                       Duration idle_timeout) {
    if (HasRepeatedFields(*request)) co_return UnimplementedError("repeated request header");
    Result<Addresses> addresses = co_await Resolve();
    if (!addresses.ok()) co_return FinalStatus(addresses.status());
    Status failure;
    for (size_t i = 0; i < addresses->v4.size(); ++i) {
      auto fresh = std::make_unique<CppRestConnection>(setup_, addresses->v4[i]);
      Exchange::Handle exchange(Exchange::Streaming());
      Status header = co_await Run(*fresh, exchange.get(), request);
      if (header.ok()) {
        co_return DecodeStream(std::make_unique<CppRestStreamingResponse>(
            std::move(fresh), std::move(exchange), idle_timeout));
      }
      if (failure.ok()) failure = FinalStatus(header);
      if (!exchange->nothing_sent()) co_return FinalStatus(header);
    }
    if (addresses->others) failure = UnimplementedError(failure.message());
    co_return failure;
  }

  // Sends the request and waits for the response's header. `connection` is the caller's.
  async::Task<Status> Run(const CppRestConnection& connection, std::shared_ptr<Exchange> exchange,
                          RequestPtr request) {
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    CSI_CO_RETURN_IF_ERROR(CheckInTime(request->send_before, loop_.Now()));
    const Duration connect = setup_.config.connect_timeout;
    exchange->Start(connection, std::move(request), connect,
                    std::min(connect, kTlsHandshakeTimeout));
    co_return co_await exchange->WaitHeader();
  }

  // The origin's IPv4 addresses; kUnimplemented if it has only others.
  async::Task<Result<Addresses>> Resolve() {
    const Duration limit = setup_.config.connect_timeout;
    Result<Endpoints> all = setup_.addresses;
    if (all->empty()) {
      all = co_await ResolveHost(CppRestContext(), setup_.origin.host, setup_.origin.port, limit);
    }
    if (!all.ok()) co_return all.status();
    Addresses out;
    for (const tcp::endpoint& endpoint : *all) {
      if (endpoint.address().is_v4()) {
        out.v4.push_back(endpoint);
      } else {
        out.others = true;
      }
    }
    if (out.v4.empty()) co_return UnimplementedError("IPv6 address");
    co_return out;
  }

  async::RealLoop& loop_;
  const ClientSetup setup_;
  const Fallback fallback_;
  async::Semaphore permits_;
  IdlePool<ConnectionPtr> idle_;
  std::unique_ptr<Client> beast_;
};

}  // namespace

std::unique_ptr<Client> NewCppRestClient(async::RealLoop& loop, ClientSetup setup,
                                         Fallback fallback) {
  (void)CppRestContext();
  return std::make_unique<CppRestClient>(loop, std::move(setup), fallback);
}

}  // namespace csinative::http
