// SPDX-License-Identifier: Apache-2.0
//
// A client that sends exact bytes and shows exact bytes, for tests of the server. Loop only.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "lib/async/real_loop.h"
#include "lib/async/task.h"
#include "lib/http/stream.h"
#include "lib/http/tls.h"

namespace csinative::http {

// Connects without suspending; the loopback interface answers at once.
inline UniqueFd ConnectLoopback(int port, int family = AF_INET) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<uint16_t>(port));
  v6.sin6_addr = in6addr_loopback;
  const int result = family == AF_INET
                         ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&v4), sizeof(v4))
                         : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&v6), sizeof(v6));
  if (result != 0) return UniqueFd();
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

class RawClient {
 public:
  RawClient(async::RealLoop& loop, int port, int family = AF_INET) {
    UniqueFd fd = ConnectLoopback(port, family);
    EXPECT_TRUE(fd.valid());
    stream_ = std::make_shared<Stream>(loop.io(), std::move(fd), nullptr);
  }

  async::Task<Status> StartTls(TlsConfig config, std::string name) {
    Result<SslContextPtr> context = NewClientTlsContext(config);
    if (!context.ok()) co_return context.status();
    Result<SslPtr> ssl = NewClientSession(*context, name, !config.insecure_skip_verify);
    if (!ssl.ok()) co_return ssl.status();
    stream_->StartTls(std::move(ssl).value());
    co_return co_await stream_->Handshake();
  }

  async::Task<Status> Send(std::string bytes) {
    co_return co_await stream_->Write(std::move(bytes));
  }
  // Reads until `end` has been seen and returns all up to and including it; what follows is kept.
  // At the end of the stream: what there was.
  async::Task<std::string> ReadUntil(std::string end) {
    while (true) {
      const size_t at = received_.find(end);
      if (at != std::string::npos) {
        std::string out = received_.substr(0, at + end.size());
        received_.erase(0, at + end.size());
        co_return out;
      }
      Result<std::string> piece = co_await stream_->Read();
      if (!piece.ok() || piece->empty()) co_return std::exchange(received_, "");
      received_ += *piece;
    }
  }
  async::Task<std::string> ReadToEnd() {
    std::string out;
    while (true) {
      Result<std::string> piece = co_await stream_->Read();
      if (!piece.ok() || piece->empty()) co_return std::exchange(received_, "") + out;
      out += *piece;
    }
  }
  void Close() { stream_->Close(Stream::CloseMode::kAbrupt); }
  Stream& stream() { return *stream_; }

 private:
  std::shared_ptr<Stream> stream_;
  std::string received_;
};

}  // namespace csinative::http
