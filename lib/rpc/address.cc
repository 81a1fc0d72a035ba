// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/address.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "lib/base/strings.h"
#include "lib/rpc/channel.h"

namespace csinative::rpc {
namespace {

constexpr char kOnlyUnix[] = "OnConnectionLoss callback only supported for unix:// addresses";

bool StripPrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Status DialError(std::string_view network, std::string_view address, int error_number) {
  return UnavailableError(
      StrCat("dial ", network, " ", address, ": connect: ", ErrnoText(error_number)));
}

struct HostPort {
  std::string host;
  std::string port;
};

// Go's net.SplitHostPort.
Result<HostPort> SplitHostPort(const std::string& address) {
  auto fail = [&](std::string_view why) {
    return UnavailableError(StrCat("dial tcp: address ", address, ": ", why));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return fail("missing port in address");
  HostPort out{address.substr(0, colon), address.substr(colon + 1)};
  if (out.host.starts_with('[')) {
    if (!out.host.ends_with(']')) return fail("missing ']' in address");
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return fail("too many colons in address");
  }
  return out;
}

std::string NumericAddress(const addrinfo& info) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(info.ai_addr, info.ai_addrlen, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return info.ai_family == AF_INET6 ? StrCat("[", host, "]:", port) : StrCat(host, ":", port);
}

Result<UniqueFd> DialOne(const addrinfo& info, std::chrono::steady_clock::time_point end) {
  auto fail = [&](int error_number) {
    return DialError("tcp", NumericAddress(info), error_number);
  };
  UniqueFd fd(socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail(errno);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(fd.get(), info.ai_addr, info.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return fail(errno);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waiter{fd.get(), POLLOUT, 0};
    const int ready = poll(&waiter, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return UnavailableError(StrCat("dial tcp ", NumericAddress(info), ": i/o timeout"));
    }
    int error_number = 0;
    socklen_t size = sizeof(error_number);
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error_number, &size);
    if (error_number != 0) return fail(error_number);
    return fd;
  }
}

}  // namespace

std::string ErrnoText(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

Result<Target> ParseTarget(const std::string& address, bool loss_aware) {
  std::string_view rest = address;
  if (rest.starts_with('/')) {
    return Target{Target::Kind::kUnix, address, "localhost"};
  }
  if (StripPrefix(rest, "unix://")) {
    if (!rest.empty() && rest[0] != '/') {
      return InvalidArgumentError(
          StrCat("failed to exit idle mode: failed to start resolver: invalid (non-empty) "
                 "authority: ",
                 rest.substr(0, rest.find('/'))));
    }
    return Target{Target::Kind::kUnix, std::string(rest), "localhost"};
  }
  if (loss_aware) return InvalidArgumentError(kOnlyUnix);
  if (StripPrefix(rest, "unix:")) {
    return Target{Target::Kind::kUnixPath, std::string(rest), "localhost"};
  }
  if (StripPrefix(rest, "unix-abstract:")) {
    return Target{Target::Kind::kAbstract, std::string(rest), "localhost"};
  }
  if (!StripPrefix(rest, "dns:///")) StripPrefix(rest, "passthrough:///");
  if (rest.empty()) {
    return InvalidArgumentError(
        "failed to exit idle mode: failed to start resolver: passthrough: received empty target "
        "in Build()");
  }
  return Target{Target::Kind::kTcp, std::string(rest), std::string(rest)};
}

Result<std::string> NormalizeAddress(const std::string& address, bool loss_aware) {
  CSI_ASSIGN_OR_RETURN(Target target, ParseTarget(address, loss_aware));
  if (target.kind == Target::Kind::kUnix) return "unix://" + target.name;
  return address;
}

Result<UniqueFd> DialUnix(const Target& target) {
  const bool abstract = target.kind == Target::Kind::kAbstract;
  const std::string shown = abstract ? "@" + target.name : target.name;
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  // The terminating NUL of a path, or the leading one of an abstract name, needs a byte.
  if (target.name.size() + 1 > sizeof(where.sun_path)) return DialError("unix", shown, EINVAL);
  std::memcpy(where.sun_path + (abstract ? 1 : 0), target.name.data(), target.name.size());
  const socklen_t size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + target.name.size() + 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return DialError("unix", shown, errno);
  // Never in progress: a unix socket connects at once, or fails with EAGAIN when the listener's
  // backlog is full.
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0) {
    return DialError("unix", shown, errno);
  }
  return fd;
}

Result<UniqueFd> DialTcp(const Target& target, Duration limit) {
  CSI_ASSIGN_OR_RETURN(HostPort where, SplitHostPort(target.name));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(),
                                  where.port.c_str(), &hints, &found);
  if (failure != 0) {
    return UnavailableError(StrCat("dial tcp: lookup ", where.host, ": ",
                                   failure == EAI_NONAME ? "no such host" : gai_strerror(failure)));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const auto end = std::chrono::steady_clock::now() + limit;
  Status first_error;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    Result<UniqueFd> fd = DialOne(*info, end);
    if (fd.ok()) return fd;
    if (first_error.ok()) first_error = fd.status();
  }
  return first_error;
}

}  // namespace csinative::rpc
