// SPDX-License-Identifier: Apache-2.0
#include "lib/http/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace csinative::http {
namespace {

// HTTP/1.1 has no ping, so the kernel asks: after 10 s of silence, every 5 s, and gives up after
// the third question. Upstream's HTTP/2 ping takes 30 s + 15 s (kube-client 6).
constexpr int kKeepAliveIdleSeconds = 10;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveCount = 3;
// The same limit for bytes that nobody acknowledges; Linux's own takes a quarter of an hour.
constexpr int kUserTimeoutMilliseconds =
    1000 * (kKeepAliveIdleSeconds + kKeepAliveCount * kKeepAliveIntervalSeconds);

void Set(int fd, int level, int option, int value) {
  // Fails only for an option the kernel does not know.
  (void)::setsockopt(fd, level, option, &value, sizeof(value));
}

}  // namespace

UniqueFd NewClientSocket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

void SetClientSocketOptions(int fd) {
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveCount);
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMilliseconds);
}

}  // namespace csinative::http
