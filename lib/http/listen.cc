// SPDX-License-Identifier: Apache-2.0
#include "lib/http/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "lib/base/strings.h"
#include "lib/http/net_error.h"

namespace csinative::http {
namespace {

struct Target {
  sockaddr_storage address = {};
  socklen_t size = 0;
  std::string text;  // as Go prints the address
};

Result<uint16_t> ParsePort(const std::string& port) {
  if (port.empty()) return uint16_t{0};
  int value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (error == std::errc() && end == port.data() + port.size()) {
    if (value < 0 || value > 65535) return InvalidArgumentError("invalid port");
    return static_cast<uint16_t>(value);
  }
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(nullptr, port.c_str(), &hints, &found) != 0) {
    return InvalidArgumentError("unknown port");
  }
  const uint16_t result = ntohs(reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_port);
  ::freeaddrinfo(found);
  return result;
}

Target Ipv4(const in_addr& address, uint16_t port) {
  Target out;
  auto* in = reinterpret_cast<sockaddr_in*>(&out.address);
  in->sin_family = AF_INET;
  in->sin_port = htons(port);
  in->sin_addr = address;
  out.size = sizeof(sockaddr_in);
  out.text = FormatAddress(reinterpret_cast<sockaddr*>(in));
  return out;
}

Target Ipv6(const in6_addr& address, uint16_t port) {
  Target out;
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&out.address);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(port);
  in6->sin6_addr = address;
  out.size = sizeof(sockaddr_in6);
  out.text = FormatAddress(reinterpret_cast<sockaddr*>(in6));
  return out;
}

// Go prefers IPv4 among the addresses of a name.
Result<Target> Resolve(const std::string& host, uint16_t port) {
  in_addr v4 = {};
  in6_addr v6 = {};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return Ipv4(v4, port);
  if (::inet_pton(AF_INET6, host.c_str(), &v6) == 1) return Ipv6(v6, port);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) {
    return TransportStatus(TransportError::Kind::kResolve,
                           StrCat("listen tcp: lookup ", host, ": no such host"));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const addrinfo* chosen = found;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      chosen = a;
      break;
    }
  }
  if (chosen->ai_family == AF_INET) {
    return Ipv4(reinterpret_cast<sockaddr_in*>(chosen->ai_addr)->sin_addr, port);
  }
  return Ipv6(reinterpret_cast<sockaddr_in6*>(chosen->ai_addr)->sin6_addr, port);
}

bool Unspecified(const Target& target) {
  if (target.address.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&target.address)->sin_addr.s_addr == INADDR_ANY;
  }
  return IN6_IS_ADDR_UNSPECIFIED(
      &reinterpret_cast<const sockaddr_in6*>(&target.address)->sin6_addr);
}

Result<UniqueFd> Bind(const Target& target, bool dual_stack) {
  const auto failure = [&](const char* call) {
    const int error_number = errno;
    const Code code = OsStatus(error_number, "").code();
    return Status(code,
                  StrCat("listen tcp ", target.text, ": ", call, ": ", ErrnoText(error_number)),
                  OsError{error_number});
  };
  UniqueFd fd(::socket(target.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return failure("socket");
  const int on = 1;
  const int v6_only = dual_stack ? 0 : 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (target.address.ss_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only));
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&target.address), target.size) != 0) {
    return failure("bind");
  }
  if (::listen(fd.get(), SOMAXCONN) != 0) return failure("listen");
  return fd;
}

}  // namespace

Result<HostPort> SplitHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return InvalidArgumentError("missing port in address");
  HostPort out;
  if (address[0] == '[') {
    const size_t close = address.find(']');
    if (close == std::string::npos) return InvalidArgumentError("missing ']' in address");
    if (close + 1 == address.size()) return InvalidArgumentError("missing port in address");
    if (close + 1 != colon) {
      return InvalidArgumentError(address[close + 1] == ':' ? "too many colons in address"
                                                            : "missing port in address");
    }
    out.host = address.substr(1, close - 1);
  } else {
    out.host = address.substr(0, colon);
    if (out.host.find(':') != std::string::npos) {
      return InvalidArgumentError("too many colons in address");
    }
    if (out.host.find(']') != std::string::npos) {
      return InvalidArgumentError("unexpected ']' in address");
    }
  }
  if (out.host.find('[') != std::string::npos) {
    return InvalidArgumentError("unexpected '[' in address");
  }
  out.port = address.substr(colon + 1);
  return out;
}

Result<UniqueFd> ListenTcp(const std::string& address) {
  HostPort parts;
  if (!address.empty()) {
    Result<HostPort> split = SplitHostPort(address);
    if (!split.ok()) {
      return split.status().WithContext(StrCat("listen tcp: address ", address));
    }
    parts = std::move(split).value();
  }
  Result<uint16_t> port = ParsePort(parts.port);
  if (!port.ok()) {
    if (port.status().message() == "unknown port") {
      return port.status().WithContext(StrCat("listen tcp: lookup tcp/", parts.port));
    }
    return port.status().WithContext(StrCat("listen tcp: address ", parts.port));
  }
  Target target = Ipv6(in6addr_any, *port);
  target.text = StrCat(":", *port);
  if (!parts.host.empty()) {
    CSI_ASSIGN_OR_RETURN(target, Resolve(parts.host, *port));
    if (!Unspecified(target)) return Bind(target, false);
  }
  Target any = Ipv6(in6addr_any, *port);
  any.text = target.text;
  Result<UniqueFd> both = Bind(any, true);
  if (both.ok() || both.status().os_error() == nullptr ||
      both.status().os_error()->error_number != EAFNOSUPPORT) {
    return both;
  }
  // A machine without IPv6.
  in_addr none = {};
  Target v4 = Ipv4(none, *port);
  v4.text = target.text;
  return Bind(v4, false);
}

int LocalPort(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  }
  return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

}  // namespace csinative::http
