// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server: ApiHandler on an HTTP(S) socket of the same loop, with certificates and
// a kubeconfig. Loop only.
//
//   EmbeddedApiServer api(loop, random);
//   CSI_RETURN_IF_ERROR(api.Start());
//   WriteFile(path, api.Kubeconfig());     // or url(), ca_pem(), admin_token()
//   ...
//   co_await api.Close();
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/async/real_loop.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/http/server.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/apiserver/certificates.h"

namespace csinative::apiserver {

struct EmbeddedApiServerOptions {
  ApiOptions api;
  std::string address = "127.0.0.1:0";  // Go's listen syntax
  bool tls = true;
  // More names of the server's certificate, besides localhost and the loopback addresses.
  std::vector<std::string> certificate_names;
};

class EmbeddedApiServer {
 public:
  // Both are borrowed and outlive this.
  EmbeddedApiServer(async::RealLoop& loop, Random& random, EmbeddedApiServerOptions options = {});
  // REQUIRES: Close() has completed, or Start() never succeeded, or the loop is discarding.
  ~EmbeddedApiServer();

  // Binds; requests are answered once the loop runs.
  Status Start();
  // Stops listening, ends all requests.
  async::Task<void> Close();
  // A crash and restart of the server as clients see it: connections break, objects stay.
  void DropConnections();

  ApiHandler& api() { return handler_; }
  // REQUIRES for the rest: Start() succeeded.
  int port() const { return server_->port(); }
  std::string url() const;  // "https://127.0.0.1:41234"
  const std::string& ca_pem() const { return ca_pem_; }
  // A bearer token of a member of system:masters.
  const std::string& admin_token() const { return admin_token_; }
  // A client certificate, e.g. {"system:kube-scheduler", {}}.
  Result<KeyPair> ClientCertificate(const std::string& user,
                                    const std::vector<std::string>& groups) const;
  // A kubeconfig that logs in with the token; the admin's by default.
  std::string Kubeconfig(std::string_view token = {}) const;

 private:
  async::RealLoop& loop_;
  const EmbeddedApiServerOptions options_;
  ApiHandler handler_;
  std::optional<CertificateAuthority> authority_;
  std::string ca_pem_;
  std::string admin_token_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace csinative::apiserver
