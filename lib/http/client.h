// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 client for one origin. One interface, two transports: cpprestsdk, the default, and
// Boost.Beast where cpprestsdk cannot: IPv6, proxies, and requests that repeat a header field
// (cpprestsdk would join the values). Loop only.
//
// Never follows redirects, never repeats a request by itself: the caller decides on retries. A
// failure to get an answer is a Status with a TransportError; an answer of any status code is Ok.
//
// Differences that remain: cpprestsdk sends a User-Agent of its own if the request has none, and
// Content-Length: 0 with requests without body; it joins repeated fields of a response with ", ";
// a server that answers before it has read the whole request and closes is seen as kReset; and its
// header limit is checked after the header was read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/async/real_loop.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/http/message.h"

namespace csinative::http {

struct TlsConfig {
  // Trust anchors in PEM. Empty: the system's (SSL_CERT_FILE, SSL_CERT_DIR). When set, nothing else
  // is trusted.
  std::string ca_pem;
  std::string client_certificate_pem;  // with chain
  std::string client_key_pem;
  // Name for SNI and verification; empty: the host of the URL.
  std::string server_name;
  bool insecure_skip_verify = false;

  bool operator==(const TlsConfig&) const = default;
};

struct ClientConfig {
  std::string base_url;  // "https://host:port" or "http://host:port", IPv6 hosts in brackets
  TlsConfig tls;
  // Empty: direct. http:// and https:// by CONNECT for https origins, or socks5://. A proxy that is
  // spoken to in TLS is verified as the server is.
  std::string proxy_url;
  // Connections for unary requests; further requests queue.
  int max_connections = 8;
  // Limit for name resolution and TCP connect; the TLS handshake gets as much, at most 10 s.
  Duration connect_timeout = std::chrono::seconds(30);
  // Unused connections are closed after this (kube-client 6).
  Duration idle_connection_timeout = std::chrono::seconds(90);
  // A unary response with a longer body, after decompression, fails with kResourceExhausted.
  size_t max_body_bytes = size_t{256} << 20;
  enum class Transport { kAuto, kCppRest, kBeast };
  Transport transport = Transport::kAuto;
};

// A response whose body is read piece by piece. Destroying it closes the connection.
class StreamingResponse {
 public:
  virtual ~StreamingResponse() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  // The next piece, at least one byte; empty at the clean end of the body. Back-pressure: nothing
  // is read ahead beyond a small buffer. A connection without any byte for `idle_timeout` (see
  // Client::Stream) ends with kTimeout.
  virtual async::Task<Result<std::string>> Read() = 0;
};

class Client {
 public:
  virtual ~Client() = default;
  // The deadline is the caller's cancellation (async::WithTimeout). A cancelled exchange closes its
  // connection. `request` without Host; Content-Length is added for a body.
  virtual async::Task<Result<Response>> Do(Request request) = 0;
  // Completes when the response's header has arrived. Each stream has its own connection.
  // idle_timeout: longest silence before Read() fails; zero: unlimited.
  virtual async::Task<Result<std::unique_ptr<StreamingResponse>>> Stream(Request request,
                                                                         Duration idle_timeout) = 0;
};

// Chooses the transport (kAuto) from the URL. kInvalidArgument for a malformed URL, certificate or
// key. The loop must outlive the client.
Result<std::unique_ptr<Client>> NewClient(async::RealLoop& loop, ClientConfig config);

}  // namespace csinative::http
