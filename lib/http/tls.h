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
// Gives a context that another library owns the settings, trust and key pair of `from`, and takes
// away what it trusted before. Certificates and keys are shared, not copied.
void CopyClientTls(SSL_CTX* from, SSL_CTX* to);

Result<SslPtr> NewServerSession(const SslContextPtr& context);
// Sends `name` as SNI unless it is an IP address, and verifies the server against it.
Result<SslPtr> NewClientSession(const SslContextPtr& context, const std::string& name, bool verify);

// The same for a session of another library: name and verification parameters.
Status ExpectServer(SSL* ssl, const std::string& name);
// A verification callback that keeps the text of the first failure with the session.
int RecordVerifyFailure(int ok, X509_STORE_CTX* context);
std::string RecordedVerifyFailure(SSL* ssl);

// Lets the session speak through a non-blocking socket it does not own, without SIGPIPE.
void AttachSocket(SSL* ssl, int fd);
// Lets a session speak through another one, which it then owns.
void AttachSession(SSL* ssl, SslPtr below);

// The failure that the last call on ssl left behind: kTls, in the words of Go's crypto packages,
// or kReset for a connection that ended early. Clears OpenSSL's error queue.
Status TlsFailure(SSL* ssl);
// The same from OpenSSL's error code and the text of a verification failure.
Status TlsFailureOf(unsigned long code, const std::string& verify_failure);  // NOLINT

// Subject of the peer's verified certificate; empty without one.
struct PeerSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};
PeerSubject VerifiedPeerSubject(SSL* ssl);

}  // namespace csinative::http
