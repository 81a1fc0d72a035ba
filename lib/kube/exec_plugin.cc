// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/exec_plugin.h"

#include <rapidjson/document.h>

#include <utility>
#include <vector>

#include "apis/json/parse.h"
#include "apis/meta/v1/time.h"
#include "lib/base/strings.h"
#include "lib/kube/config.h"
#include "lib/kube/kubeconfig.h"
#include "lib/kube/pem.h"

namespace csinative::kube {
namespace {

// client-go plugin/pkg/client/auth/exec: how often the hint about a missing program is shown.
constexpr int kHints = 10;
constexpr Duration kHintInterval = std::chrono::hours(1);

constexpr std::string_view kMissingPlugin =
    "\n\nThe kubeconfig names a credential plugin that is not installed here; see "
    "https://kubernetes.io/docs/reference/access-authn-authz/authentication/"
    "#client-go-credential-plugins";

const rapidjson::Value* Member(const rapidjson::Value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto member = object.FindMember(name);
  return member == object.MemberEnd() || member->value.IsNull() ? nullptr : &member->value;
}

std::string TextMember(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = Member(object, name);
  return value == nullptr || !value->IsString() ? std::string()
                                                : std::string(apis::JsonString(*value));
}

}  // namespace

bool Sometimes::Allow() {
  const MonotonicTime now = clock_->Now();
  if (!window_ || now - *window_ >= interval_) {
    window_ = now;
    count_ = 0;
  }
  if (count_ >= threshold_) return false;
  ++count_;
  return true;
}

Result<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version) {
  rapidjson::Document document;
  CSI_RETURN_IF_ERROR(apis::ParseJson(output, &document).WithContext("decoding stdout"));
  const std::string kind = TextMember(document, "kind");
  if (!kind.empty() && kind != "ExecCredential") {
    return InvalidArgumentError(StrCat("decoding stdout: unexpected kind ", kind));
  }
  const std::string version = TextMember(document, "apiVersion");
  if (version != api_version) {
    return InvalidArgumentError(StrCat("exec plugin is configured to use API version ", api_version,
                                       ", plugin returned version ", version));
  }
  const rapidjson::Value* status = Member(document, "status");
  if (status == nullptr) {
    return InvalidArgumentError("exec plugin didn't return a status field");
  }
  ExecCredential credential{.token = TextMember(*status, "token"),
                            .certificate_pem = TextMember(*status, "clientCertificateData"),
                            .key_pem = TextMember(*status, "clientKeyData")};
  const bool certificate = !credential.certificate_pem.empty();
  const bool key = !credential.key_pem.empty();
  if (credential.token.empty() && !certificate && !key) {
    return InvalidArgumentError("exec plugin didn't return a token or cert/key pair");
  }
  if (certificate != key) {
    return InvalidArgumentError("exec plugin returned only certificate or key, not both");
  }
  if (certificate) {
    CSI_RETURN_IF_ERROR(CheckKeyPair(credential.certificate_pem, credential.key_pem)
                            .WithContext("failed parsing client key/certificate"));
  }
  const std::string expires = TextMember(*status, "expirationTimestamp");
  if (!expires.empty()) {
    CSI_ASSIGN_OR_RETURN(const apis::Moment moment, apis::ParseRfc3339(expires));
    credential.expires = apis::ToWallTime(apis::MakeTime(moment));
  }
  return credential;
}

ExecPlugin::ExecPlugin(const Clock& clock, CommandRunner& runner, ExecConfig config,
                       std::optional<ExecCluster> cluster, Options options)
    : clock_(clock),
      runner_(runner),
      config_(std::move(config)),
      cluster_(std::move(cluster)),
      options_(options),
      hints_(clock, kHints, kHintInterval) {}

Result<std::unique_ptr<ExecPlugin>> ExecPlugin::Create(const Clock& clock, CommandRunner& runner,
                                                       ExecConfig config,
                                                       std::optional<ExecCluster> cluster,
                                                       Options options) {
  CSI_RETURN_IF_ERROR(CheckExecVersion(config.api_version));
  return std::unique_ptr<ExecPlugin>(
      new ExecPlugin(clock, runner, std::move(config), std::move(cluster), options));
}

async::Task<Result<ExecPlugin::Current>> ExecPlugin::Get() {
  const uint64_t before = generation_;
  for (;;) {
    // What was printed meanwhile is used, even if it had expired by then: asking again at once
    // would give the same.
    if (cached_ && (generation_ != before || Usable())) co_return Current{*cached_, generation_};
    if (running_) {
      CSI_CO_RETURN_IF_ERROR(co_await waiting_.Wait());
      continue;
    }
    running_ = true;
    const Status refreshed = co_await Refresh();
    running_ = false;
    waiting_.WakeAll();
    if (!refreshed.ok()) co_return refreshed.WithContext("getting credentials");
  }
}

void ExecPlugin::OnUnauthorized(uint64_t generation) {
  if (generation == generation_) cached_.reset();
}

// REQUIRES: there are some.
bool ExecPlugin::Usable() const {
  return !cached_->expires || clock_.WallNow() <= *cached_->expires;
}

async::Task<Status> ExecPlugin::Refresh() {
  CSI_CO_ASSIGN_OR_RETURN(const bool interactive, MayInteract(config_, options_.stdin_is_terminal));
  Command command{.inherit_stdin = interactive};
  command.argv.push_back(config_.command);
  command.argv.insert(command.argv.end(), config_.args.begin(), config_.args.end());
  for (const auto& [name, value] : config_.env) command.env.push_back(StrCat(name, "=", value));
  const ExecCluster* cluster = cluster_ ? &*cluster_ : nullptr;
  command.env.push_back(StrCat("KUBERNETES_EXEC_INFO=", ExecInfo(config_, cluster, interactive)));
  const Result<CommandOutput> output = co_await runner_.Run(std::move(command));
  if (!output.ok()) co_return Explain(output.status());
  if (output->exit_code != 0) {
    co_return UnavailableError(
        StrCat("exec: executable ", config_.command, " failed with exit code ", output->exit_code));
  }
  CSI_CO_ASSIGN_OR_RETURN(ExecCredential credential,
                          ParseExecCredential(output->text, config_.api_version));
  cached_ = std::move(credential);
  ++generation_;
  co_return Status();
}

Status ExecPlugin::Explain(const Status& failure) {
  if (failure.code() != Code::kNotFound) return failure.WithContext("exec");
  std::string text = StrCat("exec: executable ", config_.command, " not found");
  if (hints_.Allow()) {
    text += kMissingPlugin;
    if (!config_.install_hint.empty()) text += StrCat("\n\n", config_.install_hint);
  }
  return failure.WithMessage(std::move(text));
}

Result<std::optional<ExecCluster>> ExecClusterOf(const RestConfig& config) {
  if (!config.exec || !config.exec->provide_cluster_info) return std::optional<ExecCluster>();
  ExecCluster cluster{.server = config.host + config.path_prefix,
                      .tls_server_name = config.tls.server_name,
                      .insecure_skip_tls_verify = config.tls.insecure_skip_verify,
                      .certificate_authority_pem = config.tls.ca_pem,
                      .proxy_url = config.proxy_url,
                      .disable_compression = config.disable_compression};
  if (cluster.certificate_authority_pem.empty() && !config.ca_file.empty()) {
    Result<std::string> pem = ReadFile(config.ca_file);
    if (!pem.ok()) return pem.status().WithContext("failed to load CA bundle for execProvider");
    cluster.certificate_authority_pem = *std::move(pem);
  }
  return std::optional<ExecCluster>(std::move(cluster));
}

}  // namespace csinative::kube
