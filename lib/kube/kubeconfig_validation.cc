// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a kubeconfig's entries (kube-client 2.4).
#include <fcntl.h>

#include <cerrno>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "lib/kube/kubeconfig_selection.h"

namespace csinative::kube {
namespace {

constexpr std::string_view kEmptyCluster = "cluster has no server defined";
constexpr std::string_view kEmptyConfig =
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
    "environment variable";

// A path that has to be readable.
Status CheckReadable(std::string_view what, const std::string& path, const std::string& name) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.valid()) return Status();
  return InvalidArgumentError(StrCat("unable to read ", what, " ", path, " for ", name,
                                     " due to open ", path, ": ", GoErrnoText(errno)));
}

void CheckCluster(const std::string& name, const KubeCluster& cluster,
                  std::vector<std::string>* problems) {
  if (cluster == KubeCluster()) {
    problems->emplace_back(kEmptyCluster);
    return;
  }
  if (cluster.server.empty()) {
    problems->push_back(name.empty() ? "default cluster has no server defined"
                                     : StrCat("no server found for cluster ", GoQuote(name)));
  }
  if (!cluster.proxy_url.empty()) {
    const std::string scheme = cluster.proxy_url.substr(0, cluster.proxy_url.find(':'));
    const bool has_scheme = cluster.proxy_url.find("://") != std::string::npos;
    if (!has_scheme || (scheme != "http" && scheme != "https" && scheme != "socks5")) {
      problems->push_back(StrCat("invalid 'proxy-url' ", GoQuote(cluster.proxy_url),
                                 " for cluster ", GoQuote(name), ": unsupported scheme ",
                                 GoQuote(has_scheme ? scheme : ""),
                                 ", must be http, https, or socks5"));
    }
  }
  if (cluster.certificate_authority.empty()) return;
  if (!cluster.certificate_authority_data.empty()) {
    problems->push_back(
        StrCat("certificate-authority-data and certificate-authority are both specified for ", name,
               ". certificate-authority-data will override."));
  }
  const Status readable =
      CheckReadable("certificate-authority", cluster.certificate_authority, name);
  if (!readable.ok()) problems->push_back(readable.message());
}

void CheckClientCertificate(const std::string& name, const KubeUser& user,
                            std::vector<std::string>* problems) {
  if (user.client_certificate.empty() && user.client_certificate_data.empty()) return;
  if (!user.client_certificate.empty() && !user.client_certificate_data.empty()) {
    problems->push_back(StrCat("client-cert-data and client-cert are both specified for ", name,
                               ". client-cert-data will override."));
  }
  if (!user.client_key.empty() && !user.client_key_data.empty()) {
    problems->push_back(StrCat("client-key-data and client-key are both specified for ", name,
                               "; client-key-data will override"));
  }
  if (user.client_key.empty() && user.client_key_data.empty()) {
    problems->push_back(StrCat("client-key-data or client-key must be specified for ", name,
                               " to use the clientCert authentication method."));
  }
  if (!user.client_certificate.empty()) {
    const Status readable = CheckReadable("client-cert", user.client_certificate, name);
    if (!readable.ok()) problems->push_back(readable.message());
  }
  if (!user.client_key.empty()) {
    const Status readable = CheckReadable("client-key", user.client_key, name);
    if (!readable.ok()) problems->push_back(readable.message());
  }
}

void CheckExec(const std::string& name, const KubeUser& user, std::vector<std::string>* problems) {
  const KubeExec& exec = user.exec;
  if (!exec.configured) return;
  if (user.has_auth_provider) {
    problems->push_back(
        StrCat("authProvider cannot be provided in combination with an exec plugin for ", name));
  }
  if (exec.command.empty()) {
    problems->push_back(
        StrCat("command must be specified for ", name, " to use exec authentication plugin"));
  }
  if (exec.api_version.empty()) {
    problems->push_back(
        StrCat("apiVersion must be specified for ", name, " to use exec authentication plugin"));
  }
  for (const auto& [variable, value] : exec.env) {
    if (!variable.empty()) continue;
    problems->push_back(StrCat("env variable name must be specified for ", name,
                               " to use exec authentication plugin"));
  }
  const std::string& mode = exec.interactive_mode;
  if (mode.empty()) {
    problems->push_back(StrCat("interactiveMode must be specified for ", name,
                               " to use exec authentication plugin"));
  } else if (mode != "Never" && mode != "IfAvailable" && mode != "Always") {
    problems->push_back(StrCat("invalid interactiveMode for ", name, ": ", GoQuote(mode)));
  }
}

void CheckUser(const std::string& name, const KubeUser& user, std::vector<std::string>* problems) {
  CheckClientCertificate(name, user, problems);
  CheckExec(name, user, problems);
  if (!user.token.empty() && (!user.username.empty() || !user.password.empty())) {
    problems->push_back(StrCat("more than one authentication method found for ", name,
                               "; found [token basicAuth], only one is allowed"));
  }
  const bool impersonates = !user.impersonate_uid.empty() || !user.impersonate_groups.empty() ||
                            !user.impersonate_extra.empty();
  if (impersonates && user.impersonate_user.empty()) {
    problems->push_back(
        StrCat("requesting uid, groups or user-extra for ", name, " without impersonating a user"));
  }
}

// A context's own text and what it names.
void CheckContext(const std::string& name, const KubeContext& context, const Kubeconfig& config,
                  std::vector<std::string>* problems) {
  if (name.empty()) {
    problems->push_back(StrCat("empty context name for cluster ", GoQuote(context.cluster),
                               " and user ", GoQuote(context.user), " is not allowed"));
  }
  const std::string of = StrCat(" for context ", GoQuote(name));
  if (context.user.empty()) {
    problems->push_back(StrCat("user was not specified", of));
  } else if (!config.users.contains(context.user)) {
    problems->push_back(StrCat("user ", GoQuote(context.user), " was not found", of));
  }
  if (context.cluster.empty()) {
    problems->push_back(StrCat("cluster was not specified", of));
  } else if (!config.clusters.contains(context.cluster)) {
    problems->push_back(StrCat("cluster ", GoQuote(context.cluster), " was not found", of));
  }
}

std::string MissingContext(const std::string& name) {
  return StrCat("context was not found for specified context: ", name);
}

Status Invalid(const std::vector<std::string>& problems) {
  if (problems.empty()) return Status();
  if (problems.size() == 1) {
    return InvalidArgumentError(StrCat("invalid configuration: ", problems[0]));
  }
  return InvalidArgumentError(StrCat("invalid configuration: [", Join(problems, ", "), "]"));
}

bool IsEmpty(const Kubeconfig& config) { return config == Kubeconfig(); }

Status EmptyConfigError() { return InvalidArgumentError(std::string(kEmptyConfig)); }

}  // namespace

bool IsEmptyConfig(const Status& failure) { return failure.message() == kEmptyConfig; }

Status ValidateSelection(const KubeSelection& selection) {
  std::vector<std::string> problems;
  if (selection.context_missing) problems.push_back(MissingContext(selection.context_name));
  CheckUser(selection.user_name, selection.user, &problems);
  CheckCluster(selection.cluster_name, selection.cluster, &problems);
  if (problems.size() == 1 && problems[0] == kEmptyCluster) return EmptyConfigError();
  return Invalid(problems);
}

Status ValidateContext(const Kubeconfig& config, const std::string& context_name) {
  if (IsEmpty(config)) return EmptyConfigError();
  const auto context = config.contexts.find(context_name);
  if (context == config.contexts.end()) return Invalid({MissingContext(context_name)});
  std::vector<std::string> problems;
  CheckContext(context_name, context->second, config, &problems);
  const auto user = config.users.find(context->second.user);
  if (user != config.users.end()) CheckUser(user->first, user->second, &problems);
  const auto cluster = config.clusters.find(context->second.cluster);
  if (cluster != config.clusters.end()) CheckCluster(cluster->first, cluster->second, &problems);
  return Invalid(problems);
}

Status ValidateKubeconfig(const Kubeconfig& config) {
  if (IsEmpty(config)) return EmptyConfigError();
  std::vector<std::string> problems;
  if (!config.current_context.empty() && !config.contexts.contains(config.current_context)) {
    problems.push_back(MissingContext(config.current_context));
  }
  for (const auto& [name, context] : config.contexts) {
    CheckContext(name, context, config, &problems);
  }
  for (const auto& [name, user] : config.users) CheckUser(name, user, &problems);
  for (const auto& [name, cluster] : config.clusters) CheckCluster(name, cluster, &problems);
  return Invalid(problems);
}

}  // namespace csinative::kube
