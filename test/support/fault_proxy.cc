// SPDX-License-Identifier: Apache-2.0
#include "test/support/fault_proxy.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace csinative::test {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// Handlers of sockets keep it alive; `closed` tells them that the proxy is gone.
struct FaultProxy::State {
  State(boost::asio::io_context& io_context, int port)
      : io(io_context),
        target(boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)),
        acceptor(io_context) {}

  void Accept(const std::shared_ptr<State>& self);

  boost::asio::io_context& io;
  const tcp::endpoint target;
  tcp::acceptor acceptor;
  Mode mode = Mode::kForward;
  std::optional<size_t> budget;  // of bytes from the server before a reset
  Duration pause{0};
  std::set<std::shared_ptr<Connection>> connections;
  size_t accepted = 0;
};

class FaultProxy::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<State> state, tcp::socket client)
      : state_(std::move(state)),
        up_{std::move(client)},
        down_{tcp::socket(state_->io)},
        pause_(state_->pause),
        timer_(state_->io) {}

  void Start() {
    if (state_->mode == Mode::kBlackHole) {
      BecomeHole();
      Pump(&up_, &down_);
      return;
    }
    down_.socket.async_connect(state_->target, [self = shared_from_this()](const ErrorCode& error) {
      if (error) return self->Reset();
      self->SetOptions(self->up_.socket);
      self->SetOptions(self->down_.socket);
      self->Pump(&self->up_, &self->down_);
      self->Pump(&self->down_, &self->up_);
    });
  }

  void BecomeHole() { hole_ = true; }

  void Reset() {
    for (End* end : {&up_, &down_}) {
      ErrorCode ignored;
      // Closing without lingering sends RST.
      end->socket.set_option(boost::asio::socket_base::linger(true, 0), ignored);
      end->socket.close(ignored);
    }
    timer_.cancel();
    state_->connections.erase(shared_from_this());
  }

 private:
  // A socket and what was read from it.
  struct End {
    tcp::socket socket;
    std::array<char, 16 * 1024> data{};
    bool ended = false;
  };

  static void SetOptions(tcp::socket& socket) {
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
  }

  void Pump(End* from, End* to) {
    const size_t most = from == &down_ && pause_ > Duration::zero() ? 1 : from->data.size();
    from->socket.async_read_some(
        boost::asio::buffer(from->data.data(), most),
        [self = shared_from_this(), from, to](const ErrorCode& error, size_t size) {
          if (error) return self->OnEnd(error, from, to);
          if (self->hole_) return self->Pump(from, to);
          self->Forward(size, from, to);
        });
  }

  void Forward(size_t size, End* from, End* to) {
    bool last = false;
    if (from == &down_ && state_->budget) {
      last = *state_->budget <= size;
      size = std::min(size, *state_->budget);
      *state_->budget -= size;
      if (last) state_->budget.reset();
    }
    boost::asio::async_write(
        to->socket, boost::asio::buffer(from->data.data(), size),
        [self = shared_from_this(), from, to, last](const ErrorCode& error, size_t) {
          if (error || last) return self->Reset();
          if (from != &self->down_ || self->pause_ <= Duration::zero()) {
            return self->Pump(from, to);
          }
          self->timer_.expires_after(self->pause_);
          self->timer_.async_wait([self, from, to](const ErrorCode& cancelled) {
            if (!cancelled) self->Pump(from, to);
          });
        });
  }

  void OnEnd(const ErrorCode& error, End* from, End* to) {
    if (error == boost::asio::error::operation_aborted) return;
    if (hole_) {
      // The other side is not told; an end of the client's is the end of the connection.
      if (from == &up_) Reset();
      return;
    }
    if (error != boost::asio::error::eof) return Reset();
    from->ended = true;
    ErrorCode ignored;
    to->socket.shutdown(tcp::socket::shutdown_send, ignored);
    if (!to->ended) return;
    up_.socket.close(ignored);
    down_.socket.close(ignored);
    state_->connections.erase(shared_from_this());
  }

  const std::shared_ptr<State> state_;
  End up_;    // of the client
  End down_;  // of the server
  const Duration pause_;
  boost::asio::steady_timer timer_;
  bool hole_ = false;
};

void FaultProxy::State::Accept(const std::shared_ptr<State>& self) {
  acceptor.async_accept([self](const ErrorCode& error, tcp::socket socket) {
    if (error) return;
    ++self->accepted;
    auto connection = std::make_shared<Connection>(self, std::move(socket));
    self->connections.insert(connection);
    if (self->mode == Mode::kRefuse) {
      connection->Reset();
    } else {
      connection->Start();
    }
    self->Accept(self);
  });
}

FaultProxy::FaultProxy(async::RealLoop& loop, int target_port)
    : state_(std::make_shared<State>(loop.io(), target_port)) {}

FaultProxy::~FaultProxy() {
  ErrorCode ignored;
  state_->acceptor.close(ignored);
  ResetConnections();
}

Status FaultProxy::Start() {
  const tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
  ErrorCode error;
  state_->acceptor.open(tcp::v4(), error);
  if (!error) state_->acceptor.bind(any, error);
  if (!error) state_->acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return UnavailableError("listen: " + error.message());
  state_->Accept(state_);
  return Status();
}

int FaultProxy::port() const { return state_->acceptor.local_endpoint().port(); }

void FaultProxy::set_mode(Mode mode) {
  state_->mode = mode;
  if (mode != Mode::kBlackHole) return;
  for (const auto& connection : state_->connections) connection->BecomeHole();
}

void FaultProxy::ResetConnections() {
  const auto open = state_->connections;
  for (const auto& connection : open) connection->Reset();
}

void FaultProxy::ResetAfter(size_t bytes) { state_->budget = bytes; }

void FaultProxy::set_pause(Duration pause) { state_->pause = pause; }

size_t FaultProxy::accepted() const { return state_->accepted; }

size_t FaultProxy::open() const { return state_->connections.size(); }

}  // namespace csinative::test
