// SPDX-License-Identifier: Apache-2.0
//
// Listening sockets with the address syntax and the failure texts of Go's net.Listen("tcp", …).
// Internal to lib/http. May block in name resolution when the address has a host name.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace csinative::http {

// A non-blocking listening socket. No host, or an unspecified address, listens on IPv6 and IPv4.
Result<UniqueFd> ListenTcp(const std::string& address);

// "host:port" or "[host]:port" in two parts; the failure is Go's text without "address …: ".
struct HostPort {
  std::string host;
  std::string port;
};
Result<HostPort> SplitHostPort(const std::string& address);

int LocalPort(int fd);

}  // namespace csinative::http
