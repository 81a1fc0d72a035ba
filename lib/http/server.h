// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 server on Boost.Beast: metrics, health and debug endpoints, and the embedded API server
// of the tests. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/real_loop.h"
#include "lib/async/scope.h"
#include "lib/base/result.h"
#include "lib/http/message.h"

namespace csinative::http {

struct ServerRequest : Request {
  std::string peer;  // "address:port" of the client
  // Subject of the verified client certificate: CN and O fields; empty without one.
  std::string client_common_name;
  std::vector<std::string> client_organizations;
};

// Answers one request: exactly one Send, or one StartStream and any number of Write.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  // Whole response. Content-Length is set here.
  virtual async::Task<Status> Send(Response response) = 0;
  // Sends the header of a chunked response.
  virtual async::Task<Status> StartStream(int status, Headers headers) = 0;
  // One chunk. kUnavailable when the client has gone: also reported by the cancellation of the
  // handler's task, as soon as the connection closes.
  virtual async::Task<Status> Write(std::string chunk) = 0;
  // Ends the handler's connection without the final chunk, as a crashing server would.
  virtual void Abort() = 0;
};

// Runs once a request, as a task that is cancelled when the client disconnects or the server
// closes. A handler that returns without an answer produces 500.
using Handler = std::function<async::Task<void>(ServerRequest, ResponseWriter*)>;

struct ServerTls {
  std::string certificate_pem;
  std::string key_pem;
  std::string client_ca_pem;  // empty: client certificates are not asked for
  // A certificate that is sent must be valid either way.
  enum class ClientCertificate { kOptional, kRequired };
  ClientCertificate client_certificate = ClientCertificate::kOptional;
};

struct ServerConfig {
  // Go's listen syntax: "host:port", ":port" (all addresses, dual-stack), "[::1]:0". Port 0 picks
  // a free one; see Server::port().
  std::string address;
  std::optional<ServerTls> tls;
  size_t max_body_bytes = 16 << 20;
  // Connections at a time; who comes later waits in the kernel's queue. 0: no limit.
  size_t max_connections = 0;
};

class Server {
 public:
  virtual ~Server() = default;
  virtual int port() const = 0;
  // Stops listening, cancels handlers, waits for them. REQUIRED before destruction.
  virtual async::Task<void> Close() = 0;
  // Drops every connection at once, as a crash of this server would look to its clients; listening
  // goes on.
  virtual void DropConnections() = 0;
};

// Binds synchronously: the failure text is Go's ("listen tcp :80: bind: address already in use").
Result<std::unique_ptr<Server>> Listen(async::RealLoop& loop, ServerConfig config, Handler handler);

}  // namespace csinative::http
