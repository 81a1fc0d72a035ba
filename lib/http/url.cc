// SPDX-License-Identifier: Apache-2.0
#include "lib/http/url.h"

#include <arpa/inet.h>

#include <charconv>

#include "lib/base/strings.h"

namespace csinative::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsHostChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

}  // namespace

bool Origin::is_ipv4() const {
  in_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool Origin::is_ipv6() const { return host.find(':') != std::string::npos; }

std::string Origin::authority() const {
  return is_ipv6() ? StrCat("[", host, "]:", port) : StrCat(host, ":", port);
}

std::string Origin::host_header() const {
  if (port != (tls ? 443 : 80)) return authority();
  return is_ipv6() ? StrCat("[", host, "]") : host;
}

Result<Origin> ParseOrigin(std::string_view url) {
  Origin origin;
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return InvalidArgumentError("URL without scheme");
  const std::string scheme = ToLower(url.substr(0, scheme_end));
  if (scheme == "https") {
    origin.tls = true;
  } else if (scheme != "http") {
    return InvalidArgumentError(StrCat("unsupported protocol scheme \"", scheme, "\""));
  }
  url.remove_prefix(scheme_end + 3);
  if (const size_t end = url.find_first_of("/?#"); end != std::string_view::npos) {
    if (url.substr(end) != "/") return InvalidArgumentError("URL with a path, query or fragment");
    url = url.substr(0, end);
  }
  if (const size_t at = url.rfind('@'); at != std::string_view::npos) {
    origin.user_info = std::string(url.substr(0, at));
    url.remove_prefix(at + 1);
  }
  std::string_view port;
  if (!url.empty() && url[0] == '[') {
    const size_t close = url.find(']');
    if (close == std::string_view::npos) return InvalidArgumentError("missing ']' in host");
    origin.host = std::string(url.substr(1, close - 1));
    in6_addr address;
    if (::inet_pton(AF_INET6, origin.host.c_str(), &address) != 1) {
      return InvalidArgumentError("invalid IPv6 address in URL");
    }
    url.remove_prefix(close + 1);
    if (!url.empty() && url[0] != ':') return InvalidArgumentError("invalid port in URL");
    if (!url.empty()) port = url.substr(1);
  } else {
    const size_t colon = url.find(':');
    origin.host = std::string(url.substr(0, colon));
    if (colon != std::string_view::npos) port = url.substr(colon + 1);
    for (char c : origin.host) {
      if (!IsHostChar(c)) return InvalidArgumentError("invalid character in host name");
    }
  }
  if (origin.host.empty()) return InvalidArgumentError("no host in URL");
  origin.port = origin.tls ? 443 : 80;
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), origin.port);
    if (error != std::errc() || end != port.data() + port.size() || origin.port == 0) {
      return InvalidArgumentError("invalid port in URL");
    }
  }
  return origin;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace csinative::http
