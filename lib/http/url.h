// SPDX-License-Identifier: Apache-2.0
//
// Origins and proxies: scheme, host and port of a URL. Internal to lib/http. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::http {

struct Origin {
  bool tls = false;
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string user_info;  // still percent-encoded; empty if the URL has none

  bool is_ipv4() const;
  bool is_ipv6() const;
  // "host:port", with brackets around an IPv6 address.
  std::string authority() const;
  // The Host header: the authority, without the scheme's default port.
  std::string host_header() const;
};

// "http[s]://[user[:password]@]host[:port][/]". kInvalidArgument for anything else, a path among
// it. The message does not repeat the URL, which may carry a password.
Result<Origin> ParseOrigin(std::string_view url);

// Resolves %XX; broken escapes stay as they are.
std::string PercentDecode(std::string_view text);

}  // namespace csinative::http
