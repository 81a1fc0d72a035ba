// SPDX-License-Identifier: Apache-2.0
//
// The two transports behind Client, chosen in client.cc. Internal to lib/http.
#pragma once

#include <memory>

#include "lib/async/sync.h"
#include "lib/http/client.h"
#include "lib/http/dial.h"
#include "lib/http/tls.h"
#include "lib/http/url.h"

namespace csinative::http {

struct Proxy {
  enum class Kind { kHttp, kSocks5 };
  Kind kind = Kind::kHttp;
  Origin origin;  // tls: the connection to the proxy is encrypted
};

// What NewClient has checked and parsed.
struct ClientSetup {
  ClientConfig config;
  Origin origin;
  std::optional<Proxy> proxy;
  SslContextPtr tls;  // null if neither server nor proxy is spoken to in TLS
  // Taken instead of what the origin's host resolves to, if not empty; for tests.
  Endpoints addresses;
  // The name a server certificate must have, and SNI.
  std::string server_name;
};

std::unique_ptr<Client> NewBeastClient(async::RealLoop& loop, ClientSetup setup);
// What cpprestsdk cannot do goes to a Beast client, or fails with kUnimplemented before anything
// is sent.
enum class Fallback { kBeast, kNone };
std::unique_ptr<Client> NewCppRestClient(async::RealLoop& loop, ClientSetup setup,
                                         Fallback fallback);

// Go's crypto/tls budget in net/http.
constexpr Duration kTlsHandshakeTimeout = std::chrono::seconds(10);
constexpr size_t kMaxResponseHeaderBytes = 64 * 1024;

Status HeaderTooLarge();
Status BodyTooLarge();

// The status an exchange ends with: a passed deadline gets the transport detail kTimeout.
Status FinalStatus(Status status);

}  // namespace csinative::http
