// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL contexts and sessions for client and server, from PEM texts. Internal to lib/http.
// Contexts: any thread. Sessions: one thread at a time.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/http/client.h"
#include "lib/http/server.h"
#include "lib/http/stream.h"

namespace csinative::http {

using SslContextPtr = std::shared_ptr<SSL_CTX>;

// kInvalidArgument for a certificate, key or authority that cannot be used.
Result<SslContextPtr> NewServerTlsContext(const ServerTls& config);
Result<SslContextPtr> NewClientTlsContext(const TlsConfig& config);
// The same settings on a context that another library owns, whatever it trusted before.
Status ConfigureClientTls(SSL_CTX* context, const TlsConfig& config);

Result<SslPtr> NewServerSession(const SslContextPtr& context);
// Sends `name` as SNI unless it is an IP address, and verifies the server against it.
Result<SslPtr> NewClientSession(const SslContextPtr& context, const std::string& name, bool verify);

// Lets the session speak through a non-blocking socket it does not own, without SIGPIPE.
void AttachSocket(SSL* ssl, int fd);

// The failure that the last call on ssl left behind: kTls, in the words of Go's crypto packages,
// or kReset for a connection that ended early. Clears OpenSSL's error queue.
Status TlsFailure(SSL* ssl);

// Subject of the peer's verified certificate; empty without one.
struct PeerSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};
PeerSubject VerifiedPeerSubject(SSL* ssl);

}  // namespace csinative::http
