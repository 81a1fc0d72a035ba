// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/parity/servers.h"

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/random.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/apiserver/recording_writer.h"

namespace csinative::parity {
namespace {

class EmbeddedServer final : public Server {
 public:
  EmbeddedServer() {
    handler_.tokens().Add("parity", {"kubernetes-admin", {"system:masters"}, ""});
  }
  ~EmbeddedServer() override { loop_.Discard(); }

  http::Response Do(http::Request request, const std::string& auth) override {
    http::ServerRequest server_request;
    static_cast<http::Request&>(server_request) = std::move(request);
    if (auth.empty()) server_request.headers.Set("Authorization", "Bearer parity");
    if (auth == "wrong") server_request.headers.Set("Authorization", "Bearer wrong");
    apiserver::RecordingWriter writer;
    async::RunTask(scheduler_, loop_, handler_.Handle(std::move(server_request), &writer));
    if (writer.aborted) return {.status = 0, .body = "the connection broke"};
    return {.status = writer.status, .headers = writer.headers, .body = writer.body};
  }
  void Pause() override { scheduler_.Advance(std::chrono::milliseconds(100)); }

 private:
  static apiserver::ApiOptions Options() {
    apiserver::ApiOptions options;
    // As a cluster without controllers.
    options.semantics.finish_namespaces = false;
    options.semantics.default_service_accounts = false;
    options.semantics.inject_service_account_volume = true;
    options.snapshot_resources = false;
    return options;
  }

  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  apiserver::ApiHandler handler_{loop_, *random_, Options()};
};

class RemoteServer final : public Server {
 public:
  static Result<std::unique_ptr<Server>> New(RemoteConfig config) {
    auto server = std::make_unique<RemoteServer>();
    server->token_ = std::move(config.token);
    http::ClientConfig client_config;
    client_config.base_url = std::move(config.url);
    client_config.tls = std::move(config.tls);
    CSI_ASSIGN_OR_RETURN(server->client_, http::NewClient(server->loop_, client_config));
    client_config.tls.client_certificate_pem.clear();
    client_config.tls.client_key_pem.clear();
    CSI_ASSIGN_OR_RETURN(server->stranger_, http::NewClient(server->loop_, client_config));
    return std::unique_ptr<Server>(std::move(server));
  }

  http::Response Do(http::Request request, const std::string& auth) override {
    http::Client& client = auth.empty() ? *client_ : *stranger_;
    if (auth.empty() && !token_.empty()) request.headers.Set("Authorization", "Bearer " + token_);
    if (auth == "wrong") request.headers.Set("Authorization", "Bearer wrong");
    Result<http::Response> response = async::RunTask(
        loop_, async::WithTimeout(std::chrono::seconds(60), client.Do(std::move(request))));
    if (!response.ok()) return {.status = 0, .body = response.status().ToString()};
    return std::move(*response);
  }
  void Pause() override {
    (void)async::RunTask(loop_, async::Sleep(std::chrono::milliseconds(100)));
  }

 private:
  async::RealLoop loop_;
  std::string token_;
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<http::Client> stranger_;  // without credentials
};

}  // namespace

std::unique_ptr<Server> NewEmbeddedServer() { return std::make_unique<EmbeddedServer>(); }

Result<std::unique_ptr<Server>> NewRemoteServer(RemoteConfig config) {
  return RemoteServer::New(std::move(config));
}

}  // namespace csinative::parity
