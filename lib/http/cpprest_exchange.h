// SPDX-License-Identifier: Apache-2.0
//
// One request and its response on a connection of cpprestsdk: the border between the loop and the
// library's thread. Internal to lib/http.
#pragma once

#include <cpprest/http_client.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lib/async/completion.h"
#include "lib/base/result.h"
#include "lib/http/cpprest_context.h"
#include "lib/http/message.h"
#include "lib/http/transport.h"

namespace csinative::http {

// A connection of its own for one request at a time: an http_client whose pool never holds more
// than one socket. Created on the loop; everything else happens on the cpprest thread, destruction
// included.
class CppRestConnection {
 public:
  CppRestConnection(const ClientSetup& setup, boost::asio::ip::tcp::endpoint endpoint);
  ~CppRestConnection();
  CppRestConnection(const CppRestConnection&) = delete;
  CppRestConnection& operator=(const CppRestConnection&) = delete;

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

// Shared between the loop (its owner: the Handle) and the cpprest thread.
class CppRestExchange : public std::enable_shared_from_this<CppRestExchange> {
 public:
  enum class Milestone { kConnected, kHandshaken };

  // The whole body is collected up to `limit` bytes, or handed over piece by piece.
  static std::shared_ptr<CppRestExchange> Collecting(size_t limit);
  static std::shared_ptr<CppRestExchange> Streaming();

  // Loop. The exchange's only owner there: gives the exchange up when destroyed, which closes the
  // connection unless the response has ended.
  class Handle {
   public:
    explicit Handle(std::shared_ptr<CppRestExchange> exchange) : exchange_(std::move(exchange)) {}
    Handle(Handle&&) = default;
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
      if (exchange_) exchange_->Abandon();
    }
    CppRestExchange* operator->() const { return exchange_.get(); }
    const std::shared_ptr<CppRestExchange>& get() const { return exchange_; }

   private:
    std::shared_ptr<CppRestExchange> exchange_;
  };

  // Loop. Sends the request; call once. Both arguments are kept alive as long as they are needed.
  // Fails with kTimeout if connecting takes longer than `connect`, or the TLS handshake longer than
  // `handshake` after that.
  void Start(const CppRestConnection& connection, std::shared_ptr<const Request> request,
             Duration connect, Duration handshake);
  // Loop. The header has arrived, or the exchange has failed.
  async::Task<Status> WaitHeader();
  // Loop. The response has ended; its failure otherwise.
  async::Task<Status> WaitEnd();
  // Loop, streaming. The next piece; empty at the end.
  async::Task<Result<std::string>> ReadPiece();

  // Loop, after WaitHeader.
  int status() const { return status_; }
  const Headers& headers() const { return headers_; }
  // Loop, after WaitEnd.
  std::string TakeBody() { return std::move(body_); }
  // True if the failure came before anything was sent: no connection, or a stale one.
  bool nothing_sent() const;
  bool stale() const;

  // Cpprest thread. Bytes of the body; the result completes when more may come.
  pplx::task<size_t> Accept(const char* data, size_t size);

 private:
  enum class Wanted { kNothing, kHeader, kPiece, kEnd };

  CppRestExchange(bool streaming, size_t limit) : streaming_(streaming), limit_(limit) {}

  void Abandon();
  async::Task<Status> Wait(Wanted wanted);
  bool Satisfied(Wanted wanted) const;  // REQUIRES: mutex_ held
  void FailLocked(Status status);       // REQUIRES: mutex_ held; closes the connection
  void NotifyLocked();                  // REQUIRES: mutex_ held

  // Cpprest thread.
  void Send(web::http::http_request message);
  void CheckAfter(Duration limit, Milestone milestone, Duration next_limit);
  void OnHeader(const web::http::http_response& response);
  void OnEnd(Status status);
  void OnFailure(std::exception_ptr error);

  const bool streaming_;
  const size_t limit_;
  pplx::cancellation_token_source cancel_;
  std::optional<boost::asio::steady_timer> timer_;  // cpprest thread

  mutable std::mutex mutex_;
  // Guarded by mutex_ from here on; header fields stay as they are once header_done_ is set.
  std::shared_ptr<CppRestConnection::State> connection_;
  bool abandoned_ = false;
  bool header_done_ = false;
  bool ended_ = false;
  bool stale_ = false;
  bool nothing_sent_ = false;
  Status end_;
  Status local_reason_;  // why this side cancelled
  int status_ = 0;
  Headers headers_;
  std::string body_;  // collected, or not yet read
  std::optional<std::pair<pplx::task_completion_event<size_t>, size_t>> held_back_;
  Wanted wanted_ = Wanted::kNothing;
  std::optional<async::Completer<Status>> waiter_;
};

}  // namespace csinative::http
