// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/config.h"

#include <sys/stat.h>

#include <cstdlib>
#include <utility>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/kubeconfig.h"
#include "lib/kube/pem.h"
#include "lib/kube/proxy.h"

namespace csinative::kube {
namespace {

std::optional<std::string> ProcessVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): start-up only
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

GetEnv Environment(const ConfigSources& sources) {
  return sources.getenv ? sources.getenv : GetEnv(ProcessVariable);
}

std::string Variable(const ConfigSources& sources, const std::string& name) {
  return Environment(sources)(name).value_or("");
}

struct ServerUrl {
  std::string origin;  // "https://host:port"
  std::string path;
};

// Splits what a configuration calls the server: URL, host:port or host. Without a scheme it is
// plain HTTP: TLS settings do not count for such a server (kube-client 2.5).
Result<ServerUrl> ParseServer(const std::string& server) {
  const size_t scheme_end = server.find("://");
  const std::string rest = scheme_end == std::string::npos ? server : server.substr(scheme_end + 3);
  const size_t path_start = rest.find_first_of("/?#");
  ServerUrl url{.path = path_start == std::string::npos ? "" : rest.substr(path_start)};
  const std::string host = rest.substr(0, path_start);
  const bool has_scheme = scheme_end != std::string::npos;
  if (host.empty() || (!has_scheme && !url.path.empty() && url.path != "/")) {
    return InvalidArgumentError(
        StrCat("host must be a URL or a host:port pair: ", GoQuote(server)));
  }
  url.path = url.path.substr(0, url.path.find_first_of("?#"));
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  url.origin =
      has_scheme ? StrCat(server.substr(0, scheme_end), "://", host) : StrCat("http://", host);
  return url;
}

bool IsTls(const std::string& origin) { return ToLower(origin).starts_with("https://"); }

Status ApplyServer(const std::string& server, RestConfig* config) {
  CSI_ASSIGN_OR_RETURN(ServerUrl url, ParseServer(server));
  config->host = std::move(url.origin);
  config->path_prefix = std::move(url.path);
  return Status();
}

Status ApplyUser(const KubeUser& user, RestConfig* config) {
  if (user.has_auth_provider) {
    return InvalidArgumentError(
        StrCat("no Auth Provider found for name ", GoQuote(user.auth_provider)));
  }
  config->bearer_token = user.token;
  config->bearer_token_file = user.token_file;
  if (user.token.empty() && !user.token_file.empty()) {
    CSI_ASSIGN_OR_RETURN(config->bearer_token, ReadFile(user.token_file));
  }
  config->tls.client_certificate_pem = user.client_certificate_data;
  config->tls.client_key_pem = user.client_key_data;
  if (user.client_certificate_data.empty()) {
    config->client_certificate_file = user.client_certificate;
  }
  if (user.client_key_data.empty()) config->client_key_file = user.client_key;
  config->username = user.username;
  config->password = user.password;
  // Any other credential keeps the plugin from being asked.
  const bool has_other = !config->bearer_token.empty() || !user.username.empty() ||
                         !user.client_certificate.empty() || !user.client_certificate_data.empty();
  if (user.exec.configured && !has_other) {
    return UnimplementedError("exec credential plugins are not supported yet");
  }
  return Status();
}

Result<RestConfig> FromSelection(const KubeSelection& selection) {
  const KubeCluster& cluster = selection.cluster;
  const KubeUser& user = selection.user;
  RestConfig config;
  CSI_RETURN_IF_ERROR(ApplyServer(cluster.server, &config));
  config.ns = selection.ns;
  config.proxy_url = cluster.proxy_url;
  config.disable_compression = cluster.disable_compression;
  config.impersonate_user = user.impersonate_user;
  config.impersonate_uid = user.impersonate_uid;
  config.impersonate_groups = user.impersonate_groups;
  config.impersonate_extra = user.impersonate_extra;
  if (!IsTls(config.host)) return config;
  config.tls.insecure_skip_verify = cluster.insecure_skip_tls_verify;
  config.tls.server_name = cluster.tls_server_name;
  config.tls.ca_pem = cluster.certificate_authority_data;
  if (cluster.certificate_authority_data.empty()) config.ca_file = cluster.certificate_authority;
  CSI_RETURN_IF_ERROR(ApplyUser(user, &config));
  return config;
}

bool InClusterPossible(const ConfigSources& sources) {
  struct stat info;
  return !Variable(sources, "KUBERNETES_SERVICE_HOST").empty() &&
         !Variable(sources, "KUBERNETES_SERVICE_PORT").empty() &&
         ::stat((sources.service_account_dir + "/token").c_str(), &info) == 0 &&
         !S_ISDIR(info.st_mode);
}

Result<RestConfig> InClusterConfig(const ConfigSources& sources, const log::Logger& log) {
  const std::string host = Variable(sources, "KUBERNETES_SERVICE_HOST");
  const std::string port = Variable(sources, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return FailedPreconditionError(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
        "KUBERNETES_SERVICE_PORT must be defined");
  }
  const std::string token_file = sources.service_account_dir + "/token";
  const std::string ca_file = sources.service_account_dir + "/ca.crt";
  RestConfig config;
  CSI_ASSIGN_OR_RETURN(config.bearer_token, ReadFile(token_file));
  config.bearer_token_file = token_file;
  const bool ipv6 = host.find(':') != std::string::npos;
  config.host = ipv6 ? StrCat("https://[", host, "]:", port) : StrCat("https://", host, ":", port);
  config.ns = InClusterNamespace(sources);
  const Result<std::string> ca = ReadFile(ca_file);
  const Status usable = ca.ok() ? CheckCertificates(*ca) : ca.status();
  if (usable.ok()) {
    config.ca_file = ca_file;
  } else {
    log.Error(usable, "Expected to load root CA config", "path", ca_file);
  }
  return config;
}

}  // namespace

std::string InClusterNamespace(const ConfigSources& sources) {
  std::string ns = Variable(sources, "POD_NAMESPACE");
  if (!ns.empty()) return ns;
  const Result<std::string> content = ReadFile(sources.service_account_dir + "/namespace");
  if (content.ok()) ns = TrimSpace(*content);
  return ns.empty() ? "default" : ns;
}

namespace {

Result<RestConfig> LoadWithoutProxy(const ConfigSources& sources, const log::Logger& log) {
  if (sources.kubeconfig.empty() && sources.master.empty()) return InClusterConfig(sources, log);
  if (sources.kubeconfig.empty() && InClusterPossible(sources)) {
    CSI_ASSIGN_OR_RETURN(RestConfig config, InClusterConfig(sources, log));
    CSI_RETURN_IF_ERROR(ApplyServer(sources.master, &config));
    return config;
  }
  Kubeconfig file;
  if (!sources.kubeconfig.empty()) {
    CSI_ASSIGN_OR_RETURN(file, LoadKubeconfigFile(sources.kubeconfig));
  }
  const KubeSelection selection = SelectCurrentContext(file, sources.master);
  CSI_RETURN_IF_ERROR(ValidateSelection(selection));
  return FromSelection(selection);
}

}  // namespace

Result<RestConfig> LoadConfig(const ConfigSources& sources, const log::Logger& log) {
  CSI_ASSIGN_OR_RETURN(RestConfig config, LoadWithoutProxy(sources, log));
  if (config.proxy_url.empty()) {
    config.proxy_url = ProxyFromEnvironment(config.host, Environment(sources));
  }
  return config;
}

}  // namespace csinative::kube
