// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/api_server.h"

#include "lib/base/base64.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {

EmbeddedApiServer::EmbeddedApiServer(async::RealLoop& loop, Random& random,
                                     EmbeddedApiServerOptions options)
    : loop_(loop), options_(std::move(options)), handler_(loop, random, options_.api) {
  admin_token_ = "admin-" + random.Uuid();
  handler_.tokens().Add(admin_token_,
                        {"kubernetes-admin", {"system:masters", "system:authenticated"}, ""});
}

EmbeddedApiServer::~EmbeddedApiServer() = default;

Status EmbeddedApiServer::Start() {
  http::ServerConfig config{.address = options_.address};
  if (options_.tls) {
    CSI_ASSIGN_OR_RETURN(authority_, CertificateAuthority::Create("embedded-api-server-ca"));
    ca_pem_ = authority_->certificate_pem();
    std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
    names.insert(names.end(), options_.certificate_names.begin(), options_.certificate_names.end());
    CSI_ASSIGN_OR_RETURN(KeyPair pair, authority_->IssueServer("embedded-api-server", names));
    config.tls = http::ServerTls{
        .certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_ca_pem = ca_pem_};
  }
  ApiHandler* handler = &handler_;
  CSI_ASSIGN_OR_RETURN(
      server_, http::Listen(loop_, std::move(config),
                            [handler](http::ServerRequest request, http::ResponseWriter* writer) {
                              return handler->Handle(std::move(request), writer);
                            }));
  return Status();
}

async::Task<void> EmbeddedApiServer::Close() {
  if (server_ == nullptr) co_return;
  co_await server_->Close();
  server_.reset();
}

void EmbeddedApiServer::DropConnections() { server_->DropConnections(); }

std::string EmbeddedApiServer::url() const {
  return StrCat(options_.tls ? "https" : "http", "://127.0.0.1:", port());
}

Result<KeyPair> EmbeddedApiServer::ClientCertificate(const std::string& user,
                                                     const std::vector<std::string>& groups) const {
  if (!authority_) return FailedPreconditionError("the server has no TLS");
  return authority_->IssueClient(user, groups);
}

std::string EmbeddedApiServer::Kubeconfig(std::string_view token) const {
  std::string out = "apiVersion: v1\nkind: Config\nclusters:\n- name: embedded\n  cluster:\n";
  out += StrCat("    server: ", url(), "\n");
  if (options_.tls) {
    out += StrCat("    certificate-authority-data: ", Base64Encode(ca_pem_), "\n");
  }
  out += StrCat("users:\n- name: user\n  user:\n    token: ",
                token.empty() ? std::string_view(admin_token_) : token, "\n");
  out += "contexts:\n- name: embedded\n  context: {cluster: embedded, user: user}\n";
  out += "current-context: embedded\n";
  return out;
}

}  // namespace csinative::apiserver
