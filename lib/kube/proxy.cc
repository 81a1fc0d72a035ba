// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

struct HostPort {
  std::string host;  // lower case, without brackets
  std::string port;  // empty: any
};

HostPort SplitHostPort(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return {ToLower(text), ""};
    const std::string_view rest = text.substr(end + 1);
    return {ToLower(text.substr(1, end - 1)),
            rest.starts_with(':') ? std::string(rest.substr(1)) : ""};
  }
  const size_t colon = text.rfind(':');
  // More than one colon: an IPv6 address without brackets.
  if (colon == std::string_view::npos || text.find(':') != colon) return {ToLower(text), ""};
  return {ToLower(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

// An address as 16 bytes; IPv4 as an IPv4-mapped one.
std::optional<in6_addr> ParseAddress(const std::string& text) {
  in6_addr address = {};
  if (::inet_pton(AF_INET6, text.c_str(), &address) == 1) return address;
  const std::string mapped = "::ffff:" + text;
  if (text.find(':') == std::string::npos && ::inet_pton(AF_INET6, mapped.c_str(), &address) == 1) {
    return address;
  }
  return std::nullopt;
}

bool InNetwork(const in6_addr& address, const std::string& network, std::string_view length) {
  const std::optional<in6_addr> base = ParseAddress(network);
  int bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (!base || error != std::errc() || end != length.data() + length.size()) return false;
  if (network.find(':') == std::string::npos) bits += 96;
  if (bits < 0 || bits > 128) return false;
  for (int i = 0; i < bits; ++i) {
    const auto mask = static_cast<uint8_t>(0x80 >> (i % 8));
    if ((address.s6_addr[i / 8] & mask) != (base->s6_addr[i / 8] & mask)) return false;
  }
  return true;
}

bool IsLoopback(const HostPort& server, const std::optional<in6_addr>& address) {
  if (server.host == "localhost") return true;
  return address && (IN6_IS_ADDR_LOOPBACK(&*address) || InNetwork(*address, "127.0.0.0", "8"));
}

bool Matches(std::string_view pattern, const HostPort& server,
             const std::optional<in6_addr>& address) {
  if (pattern == "*") return true;
  const size_t slash = pattern.find('/');
  if (slash != std::string_view::npos) {
    return address &&
           InNetwork(*address, std::string(pattern.substr(0, slash)), pattern.substr(slash + 1));
  }
  HostPort wanted = SplitHostPort(pattern);
  if (!wanted.port.empty() && wanted.port != server.port) return false;
  if (const std::optional<in6_addr> wanted_address = ParseAddress(wanted.host)) {
    return address && std::memcmp(&*address, &*wanted_address, sizeof(in6_addr)) == 0;
  }
  if (wanted.host.starts_with("*.")) wanted.host.erase(0, 1);
  // ".example.com" means hosts below it; "example.com" the host itself too.
  if (wanted.host.starts_with('.')) return server.host.ends_with(wanted.host);
  return server.host == wanted.host || server.host.ends_with("." + wanted.host);
}

}  // namespace

std::string ProxyFromEnvironment(const std::string& origin, const GetEnv& getenv) {
  const auto either = [&](const char* upper, const char* lower) {
    const std::string value = getenv(upper).value_or("");
    return value.empty() ? getenv(lower).value_or("") : value;
  };
  const size_t scheme_end = origin.find("://");
  if (scheme_end == std::string::npos) return "";
  const bool tls = ToLower(origin.substr(0, scheme_end)) == "https";
  std::string proxy =
      tls ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
  if (proxy.empty()) return "";
  HostPort server = SplitHostPort(std::string_view(origin).substr(scheme_end + 3));
  if (server.port.empty()) server.port = tls ? "443" : "80";
  const std::optional<in6_addr> address = ParseAddress(server.host);
  if (IsLoopback(server, address)) return "";
  const std::string exceptions = either("NO_PROXY", "no_proxy");
  for (std::string_view pattern : Split(exceptions, ',')) {
    pattern = TrimSpace(pattern);
    if (!pattern.empty() && Matches(pattern, server, address)) return "";
  }
  return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

}  // namespace csinative::kube
