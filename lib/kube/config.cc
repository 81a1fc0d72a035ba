// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/config.h"

#include <sys/stat.h>

#include <utility>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/kubeconfig.h"
#include "lib/kube/pem.h"
#include "lib/kube/proxy.h"

namespace csinative::kube {
namespace {

GetEnv Environment(const ConfigSources& sources) {
  return sources.getenv ? sources.getenv : ProcessEnvironment();
}

std::string Variable(const ConfigSources& sources, const std::string& name) {
  return Environment(sources)(name).value_or("");
}

Status ApplyServer(const std::string& server, RestConfig* config) {
  // TLS settings do not count for a server without a scheme (kube-client 2.5).
  CSI_ASSIGN_OR_RETURN(ServerUrl url, ParseServer(server, TlsSettings::kAbsent));
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
  if (!user.exec.configured || has_other) return Status();
  const KubeExec& exec = user.exec;
  CSI_RETURN_IF_ERROR(CheckExecVersion(exec.api_version));
  config->exec = ExecConfig{.command = exec.command,
                            .args = exec.args,
                            .env = exec.env,
                            .api_version = exec.api_version,
                            .install_hint = CleanInstallHint(exec.install_hint),
                            .provide_cluster_info = exec.provide_cluster_info,
                            .interactive_mode = exec.interactive_mode};
  return Status();
}

}  // namespace

Result<ServerUrl> ParseServer(const std::string& server, TlsSettings tls) {
  const size_t scheme_end = server.find("://");
  const bool has_scheme = scheme_end != std::string::npos;
  const std::string rest = has_scheme ? server.substr(scheme_end + 3) : server;
  const size_t path_start = rest.find_first_of("/?#");
  ServerUrl url{.path = path_start == std::string::npos ? "" : rest.substr(path_start)};
  const std::string host = rest.substr(0, path_start);
  if (host.empty() || (!has_scheme && !url.path.empty() && url.path != "/")) {
    return InvalidArgumentError(
        StrCat("host must be a URL or a host:port pair: ", GoQuote(server)));
  }
  url.path = url.path.substr(0, url.path.find_first_of("?#"));
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  if (has_scheme) {
    url.origin = StrCat(server.substr(0, scheme_end), "://", host);
  } else {
    url.origin = StrCat(tls == TlsSettings::kPresent ? "https://" : "http://", host);
  }
  return url;
}

bool UsesTls(const std::string& server, TlsSettings tls) {
  const Result<ServerUrl> url = ParseServer(server, tls);
  return url.ok() && ToLower(url->origin).starts_with("https://");
}

std::string ServerOf(const KubeSelection& selection) {
  const std::string& server = selection.cluster.server;
  const size_t scheme_end = server.find("://");
  if (scheme_end == std::string::npos) return server;
  const size_t path = server.find('/', scheme_end + 3);
  const size_t end = server.find_first_of("?#", scheme_end + 3);
  // A path of one character does not count, and keeps what follows.
  if (path == std::string::npos || end == std::string::npos || end < path + 2) return server;
  return server.substr(0, end);
}

Result<RestConfig> ToRestConfig(const KubeSelection& selection) {
  const KubeCluster& cluster = selection.cluster;
  const KubeUser& user = selection.user;
  RestConfig config;
  CSI_RETURN_IF_ERROR(ApplyServer(ServerOf(selection), &config));
  config.ns = selection.ns;
  config.ns_overridden = selection.ns_overridden;
  config.proxy_url = cluster.proxy_url;
  config.disable_compression = cluster.disable_compression;
  config.impersonate_user = user.impersonate_user;
  config.impersonate_uid = user.impersonate_uid;
  config.impersonate_groups = user.impersonate_groups;
  config.impersonate_extra = user.impersonate_extra;
  if (!UsesTls(config.host, TlsSettings::kAbsent)) return config;
  config.tls.insecure_skip_verify = cluster.insecure_skip_tls_verify;
  config.tls.server_name = cluster.tls_server_name;
  config.tls.ca_pem = cluster.certificate_authority_data;
  if (cluster.certificate_authority_data.empty()) config.ca_file = cluster.certificate_authority;
  CSI_RETURN_IF_ERROR(ApplyUser(user, &config));
  if (config.exec) {
    const auto extension = cluster.extensions.find(kExecExtension);
    if (extension != cluster.extensions.end()) config.exec->cluster_config = extension->second;
  }
  return config;
}

namespace {

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

Result<RestConfig> InClusterUnder(const ConfigSources& sources, const KubeOverrides& overrides,
                                  const log::Logger& log) {
  CSI_ASSIGN_OR_RETURN(RestConfig config, InClusterConfig(sources, log));
  if (!overrides.cluster.server.empty()) {
    CSI_RETURN_IF_ERROR(ApplyServer(overrides.cluster.server, &config));
  }
  if (!overrides.user.token.empty() || !overrides.user.token_file.empty()) {
    config.bearer_token = overrides.user.token;
    config.bearer_token_file = overrides.user.token_file;
  }
  if (!overrides.cluster.certificate_authority.empty()) {
    config.ca_file = overrides.cluster.certificate_authority;
  }
  return config;
}

std::string InClusterNamespace(const ConfigSources& sources) {
  std::string ns = Variable(sources, "POD_NAMESPACE");
  if (!ns.empty()) return ns;
  const Result<std::string> content = ReadFile(sources.service_account_dir + "/namespace");
  if (content.ok()) ns = TrimSpace(*content);
  return ns.empty() ? "default" : ns;
}

namespace {

// Without a look at the cluster we may be in.
Result<RestConfig> LoadFiles(const DeferredConfig& config, const log::Logger& log) {
  CSI_ASSIGN_OR_RETURN(const Kubeconfig file, LoadKubeconfig(config.rules, log));
  CSI_ASSIGN_OR_RETURN(const KubeSelection selection,
                       SelectContext(file, config.overrides, config.cluster_defaults));
  const Status valid = ValidateSelection(selection);
  if (IsEmptyConfig(valid) && config.default_config) return *config.default_config;
  CSI_RETURN_IF_ERROR(valid);
  return ToRestConfig(selection);
}

Result<RestConfig> LoadWithoutProxy(const ConfigSources& sources, const log::Logger& log) {
  if (sources.kubeconfig.empty() && sources.master.empty()) return InClusterConfig(sources, log);
  DeferredConfig config{.in_cluster = sources};
  config.rules.explicit_path = sources.kubeconfig;
  config.overrides.cluster.server = sources.master;
  if (sources.kubeconfig.empty() && InClusterPossible(sources)) {
    return InClusterUnder(sources, config.overrides, log);
  }
  return LoadFiles(config, log);
}

}  // namespace

Result<RestConfig> LoadDeferredConfig(const DeferredConfig& config, const log::Logger& log) {
  Result<RestConfig> loaded = LoadFiles(config, log);
  const bool nothing = loaded.ok() ? config.default_config && *loaded == *config.default_config
                                   : IsEmptyConfig(loaded.status());
  if (!nothing || !InClusterPossible(config.in_cluster)) return loaded;
  return InClusterUnder(config.in_cluster, config.overrides, log);
}

Result<std::string> DeferredNamespace(const DeferredConfig& config, const log::Logger& log) {
  CSI_ASSIGN_OR_RETURN(const Kubeconfig file, LoadKubeconfig(config.rules, log));
  CSI_ASSIGN_OR_RETURN(const KubeSelection selection,
                       SelectContext(file, config.overrides, config.cluster_defaults));
  // A context that names its namespace means it, even if that is "default".
  const auto context = file.contexts.find(selection.context_name);
  const bool named =
      selection.ns_overridden || (context != file.contexts.end() && !context->second.ns.empty());
  if (named || !InClusterPossible(config.in_cluster)) return selection.ns;
  return InClusterNamespace(config.in_cluster);
}

Result<RestConfig> LoadConfig(const ConfigSources& sources, const log::Logger& log) {
  CSI_ASSIGN_OR_RETURN(RestConfig config, LoadWithoutProxy(sources, log));
  if (config.proxy_url.empty()) {
    config.proxy_url = ProxyFromEnvironment(config.host, Environment(sources));
  }
  config.reload_ca = GateEnabled(Environment(sources), "ClientsAllowCARotation", true);
  return config;
}

}  // namespace csinative::kube
