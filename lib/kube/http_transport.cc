// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/http_transport.h"

#include <unistd.h>

#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include "lib/async/real_loop.h"
#include "lib/async/sync.h"
#include "lib/base/strings.h"
#include "lib/http/client.h"
#include "lib/kube/config.h"
#include "lib/kube/credentials.h"
#include "lib/kube/exec_plugin.h"
#include "lib/kube/http_log.h"
#include "lib/kube/url.h"
#include "lib/kube/warning_header.h"

namespace csinative::kube {
namespace {

class HttpStream;

// One http::Client and the streams that are open on it.
struct Connections {
  std::unique_ptr<http::Client> client;
  std::list<HttpStream*> streams;
};

ApiResponse ToApiResponse(int status, const http::Headers& headers) {
  ApiResponse response{.code = status};
  for (const auto& [name, value] : headers.fields()) {
    if (EqualsIgnoreCase(name, "Content-Type")) {
      response.content_type = value;
    } else if (EqualsIgnoreCase(name, "Retry-After")) {
      response.retry_after = value;
    } else if (EqualsIgnoreCase(name, "X-Kubernetes-PF-FlowSchema-UID")) {
      response.flow_schema_uid = value;
    } else if (EqualsIgnoreCase(name, "Warning")) {
      for (std::string& text : ParseWarnings(value)) response.warnings.push_back(std::move(text));
    }
  }
  return response;
}

class HttpStream final : public ApiStream {
 public:
  HttpStream(std::shared_ptr<Connections> connections,
             std::unique_ptr<http::StreamingResponse> inner)
      : connections_(std::move(connections)),
        inner_(std::move(inner)),
        head_(ToApiResponse(inner_->status(), inner_->headers())) {
    entry_ = connections_->streams.insert(connections_->streams.end(), this);
  }
  ~HttpStream() override { connections_->streams.erase(entry_); }

  const ApiResponse& head() const override { return head_; }

  async::Task<Result<std::string>> Read() override {
    if (!aborted_.ok()) co_return aborted_;
    const async::TaskContext context = co_await async::CurrentContext();
    async::CancelSource limited(context.cancel);
    reading_ = &limited;
    Result<std::string> bytes = co_await inner_->Read().Under(limited);
    reading_ = nullptr;
    if (!bytes.ok() && !aborted_.ok()) co_return aborted_;
    co_return bytes;
  }

  // Ends the stream as a broken connection would.
  void Abort() {
    aborted_ = Status(Code::kUnavailable, "use of closed network connection",
                      TransportError{TransportError::Kind::kReset});
    if (reading_ != nullptr) reading_->Cancel(aborted_);
  }

 private:
  const std::shared_ptr<Connections> connections_;
  const std::unique_ptr<http::StreamingResponse> inner_;
  const ApiResponse head_;
  std::list<HttpStream*>::iterator entry_;
  async::CancelSource* reading_ = nullptr;  // of the Read() in progress, in its frame
  Status aborted_;
};

class HttpTransport final : public ApiTransport {
 public:
  HttpTransport(async::RealLoop& loop, RestConfig config, std::string user_agent, log::Logger log,
                Credentials credentials, TlsFiles tls)
      : loop_(loop),
        config_(std::move(config)),
        user_agent_(std::move(user_agent)),
        log_(std::move(log)),
        credentials_(std::move(credentials)),
        tls_(std::move(tls)),
        places_(static_cast<size_t>(std::max(1, config_.max_connections))) {}

  // Before the first request.
  Status UsePlugin(HttpTransportOptions options) {
    if (!config_.exec) return Status();
    CSI_ASSIGN_OR_RETURN(std::optional<ExecCluster> cluster, ExecClusterOf(config_));
    if (options.runner == nullptr) {
      own_runner_ = NewCommandRunner();
      options.runner = own_runner_.get();
    }
    CSI_ASSIGN_OR_RETURN(
        exec_, ExecPlugin::Create(loop_, *options.runner, *config_.exec, std::move(cluster),
                                  {.stdin_is_terminal = options.stdin_is_terminal}));
    return Status();
  }

  Status Connect() {
    if (tls_.trusts_nothing()) return Status();  // until the file is filled
    http::ClientConfig config{.base_url = config_.host,
                              .tls = tls_.settings(),
                              .proxy_url = config_.proxy_url,
                              .max_connections = std::max(1, config_.max_connections) + kUrgent,
                              .transport = config_.http_transport};
    auto next = std::make_shared<Connections>();
    CSI_ASSIGN_OR_RETURN(next->client, http::NewClient(loop_, std::move(config)));
    connections_ = std::move(next);
    return Status();
  }

  void WatchCertificate() {
    if (!tls_.has_client_certificate_files()) return;
    check_ = async::ScopedTimer(loop_, loop_.Now() + TlsFiles::kCheckPeriod, [this] {
      CheckFiles();
      WatchCertificate();
    });
  }

  async::Task<Result<std::shared_ptr<void>>> Admit(bool urgent) override {
    if (urgent) co_return std::shared_ptr<void>();
    CSI_CO_RETURN_IF_ERROR(co_await places_.Acquire());
    co_return std::shared_ptr<void>(std::make_shared<async::Permit>(places_));
  }

  async::Task<Result<ApiResponse>> Do(ApiRequest request) override {
    CSI_CO_ASSIGN_OR_RETURN(const ExecPlugin::Current exec, co_await Identify());
    CSI_CO_ASSIGN_OR_RETURN(const std::shared_ptr<Connections> connections, Ready());
    http::Request translated = Translate(std::move(request), exec.credential.token);
    CSI_CO_ASSIGN_OR_RETURN(http::Response answer,
                            co_await connections->client->Do(std::move(translated)));
    AfterAnswer(answer.status, answer.headers, exec.generation);
    ApiResponse response = ToApiResponse(answer.status, answer.headers);
    response.body = std::move(answer.body);
    co_return response;
  }

  async::Task<Result<std::unique_ptr<ApiStream>>> Stream(ApiRequest request) override {
    CSI_CO_ASSIGN_OR_RETURN(const ExecPlugin::Current exec, co_await Identify());
    CSI_CO_ASSIGN_OR_RETURN(const std::shared_ptr<Connections> connections, Ready());
    http::Request translated = Translate(std::move(request), exec.credential.token);
    // Whoever reads decides how long a silence may be.
    CSI_CO_ASSIGN_OR_RETURN(
        std::unique_ptr<http::StreamingResponse> answer,
        co_await connections->client->Stream(std::move(translated), Duration::zero()));
    AfterAnswer(answer->status(), answer->headers(), exec.generation);
    std::unique_ptr<ApiStream> stream =
        std::make_unique<HttpStream>(connections, std::move(answer));
    co_return stream;
  }

  std::string base_url() const override { return config_.host + config_.path_prefix; }

 private:
  // Connections that are kept for urgent requests.
  static constexpr int kUrgent = 2;

  Result<std::shared_ptr<Connections>> Ready() {
    CheckFiles();
    if (connections_ == nullptr) {
      return Status(Code::kUnavailable,
                    "tls: failed to verify certificate: x509: certificate signed by unknown "
                    "authority",
                    TransportError{TransportError::Kind::kTls});
    }
    return connections_;
  }

  void CheckFiles() {
    const TlsFiles::Change change = tls_.Check();
    if (change != TlsFiles::Change::kNone) Reconnect(change);
  }

  // The plugin's credentials, if there is one. A certificate is in use when this returns.
  async::Task<Result<ExecPlugin::Current>> Identify() {
    if (exec_ == nullptr) co_return ExecPlugin::Current();
    CSI_CO_ASSIGN_OR_RETURN(ExecPlugin::Current current, co_await exec_->Get());
    if (tls_.UseClientCertificate(current.credential.certificate_pem, current.credential.key_pem)) {
      Reconnect(TlsFiles::Change::kClientCertificate);
    }
    co_return std::move(current);
  }

  void AfterAnswer(int status, const http::Headers& headers, uint64_t exec_generation) {
    LogHttpResponse(log_, status, headers);
    if (status != 401) return;
    credentials_.OnUnauthorized();
    if (exec_ != nullptr) exec_->OnUnauthorized(exec_generation);
  }

  void Reconnect(TlsFiles::Change change) {
    const std::shared_ptr<Connections> before = connections_;
    const Status connected = Connect();
    if (!connected.ok()) {
      log_.Error(connected, "Failed to use the new certificates, keeping the current ones");
      return;
    }
    if (change != TlsFiles::Change::kClientCertificate || before == nullptr) return;
    log_.Info(
        "Certificate rotation detected, shutting down client connections to start using new "
        "credentials");
    for (HttpStream* stream : before->streams) stream->Abort();
  }

  http::Request Translate(ApiRequest request, const std::string& exec_token) {
    http::Request out{.method = std::move(request.method),
                      .target = config_.path_prefix + request.path,
                      .body = std::move(request.body),
                      .send_before = request.send_before};
    if (!request.query.empty()) out.target += StrCat("?", EncodeQuery(request.query));
    out.headers.Add("Accept", std::move(request.accept));
    if (!config_.disable_compression) out.headers.Add("Accept-Encoding", "gzip");
    credentials_.AddTo(&out.headers, exec_token);
    if (!request.content_type.empty()) {
      out.headers.Add("Content-Type", std::move(request.content_type));
    }
    AddIfAbsent("User-Agent", user_agent_, &out.headers);
    LogHttpRequest(log_, config_.host, out);
    return out;
  }

  async::RealLoop& loop_;
  const RestConfig config_;
  const std::string user_agent_;
  log::Logger log_;
  Credentials credentials_;
  TlsFiles tls_;
  async::Semaphore places_;
  std::unique_ptr<CommandRunner> own_runner_;
  std::unique_ptr<ExecPlugin> exec_;          // null: there is no plugin
  std::shared_ptr<Connections> connections_;  // null while nothing is trusted
  async::ScopedTimer check_;
};

}  // namespace

Result<std::unique_ptr<ApiTransport>> NewHttpTransport(async::RealLoop& loop, RestConfig config,
                                                       std::string user_agent, log::Logger log) {
  return NewHttpTransport(loop, std::move(config), std::move(user_agent), std::move(log),
                          {.stdin_is_terminal = ::isatty(STDIN_FILENO) == 1});
}

Result<std::unique_ptr<ApiTransport>> NewHttpTransport(async::RealLoop& loop, RestConfig config,
                                                       std::string user_agent, log::Logger log,
                                                       HttpTransportOptions options) {
  CSI_ASSIGN_OR_RETURN(Credentials credentials, Credentials::Create(loop, config, log));
  CSI_ASSIGN_OR_RETURN(TlsFiles tls, TlsFiles::Load(loop, config, log, options.ages));
  auto transport =
      std::make_unique<HttpTransport>(loop, std::move(config), std::move(user_agent),
                                      std::move(log), std::move(credentials), std::move(tls));
  CSI_RETURN_IF_ERROR(transport->UsePlugin(options));
  CSI_RETURN_IF_ERROR(transport->Connect());
  transport->WatchCertificate();
  return std::unique_ptr<ApiTransport>(std::move(transport));
}

}  // namespace csinative::kube
