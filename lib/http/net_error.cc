// SPDX-License-Identifier: Apache-2.0
#include "lib/http/net_error.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "lib/base/strings.h"

namespace csinative::http {

Status TransportStatus(TransportError::Kind kind, std::string message) {
  const Code code =
      kind == TransportError::Kind::kTimeout ? Code::kDeadlineExceeded : Code::kUnavailable;
  return Status(code, std::move(message), TransportError{kind});
}

TransportError::Kind KindOf(int error_number) {
  switch (error_number) {
    case ECONNREFUSED:
      return TransportError::Kind::kRefused;
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
    case ENOTCONN:
      return TransportError::Kind::kReset;
    case ETIMEDOUT:  // also what TCP_USER_TIMEOUT and keep-alive end a connection with
      return TransportError::Kind::kTimeout;
    default:
      return TransportError::Kind::kOther;
  }
}

std::string ErrnoText(int error_number) {
  if (error_number == ETIMEDOUT) return "connection timed out";
  std::string text = std::generic_category().message(error_number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

std::string FormatAddress(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
    return StrCat(text, ":", ntohs(in->sin_port));
  }
  if (address->sa_family != AF_INET6) return "";
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
    inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], text, sizeof(text));
    return StrCat(text, ":", ntohs(in6->sin6_port));
  }
  inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
  return StrCat("[", text, "]:", ntohs(in6->sin6_port));
}

}  // namespace csinative::http
