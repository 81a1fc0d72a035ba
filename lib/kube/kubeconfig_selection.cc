// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/kubeconfig_selection.h"

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

template <typename T>
void Replace(const T& from, T* to) {
  if (from != T()) *to = from;
}

template <typename V>
void MergeMap(const std::map<std::string, V>& from, std::map<std::string, V>* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

// An override's certificate or key, inline or as a file, stands alone: the other form goes.
void ReplacePair(const std::string& file, const std::string& data, std::string* to_file,
                 std::string* to_data) {
  if (file.empty() && data.empty()) return;
  *to_file = file;
  *to_data = data;
}

}  // namespace

void MergeCluster(const KubeCluster& from, KubeCluster* to) {
  Replace(from.server, &to->server);
  Replace(from.tls_server_name, &to->tls_server_name);
  Replace(from.insecure_skip_tls_verify, &to->insecure_skip_tls_verify);
  Replace(from.certificate_authority, &to->certificate_authority);
  Replace(from.certificate_authority_data, &to->certificate_authority_data);
  Replace(from.proxy_url, &to->proxy_url);
  Replace(from.disable_compression, &to->disable_compression);
  MergeMap(from.extensions, &to->extensions);
}

void MergeUser(const KubeUser& from, KubeUser* to) {
  Replace(from.client_certificate, &to->client_certificate);
  Replace(from.client_certificate_data, &to->client_certificate_data);
  Replace(from.client_key, &to->client_key);
  Replace(from.client_key_data, &to->client_key_data);
  Replace(from.token, &to->token);
  Replace(from.token_file, &to->token_file);
  Replace(from.impersonate_user, &to->impersonate_user);
  Replace(from.impersonate_uid, &to->impersonate_uid);
  Replace(from.impersonate_groups, &to->impersonate_groups);
  MergeMap(from.impersonate_extra, &to->impersonate_extra);
  Replace(from.username, &to->username);
  Replace(from.password, &to->password);
  if (from.has_auth_provider) {
    to->has_auth_provider = true;
    to->auth_provider = from.auth_provider;
  }
  Replace(from.exec, &to->exec);
}

Result<KubeSelection> SelectContext(const Kubeconfig& config, const KubeOverrides& overrides,
                                    const KubeCluster& cluster_defaults) {
  KubeSelection selection;
  const bool other_context = !overrides.context_name.empty();
  selection.context_name = other_context ? overrides.context_name : config.current_context;
  KubeContext context;
  const auto found = config.contexts.find(selection.context_name);
  if (found != config.contexts.end()) {
    context = found->second;
  } else if (other_context) {
    return InvalidArgumentError(
        StrCat("context ", GoQuote(selection.context_name), " does not exist"));
  } else {
    selection.context_missing = !selection.context_name.empty();
  }
  Replace(overrides.context.cluster, &context.cluster);
  Replace(overrides.context.user, &context.user);
  Replace(overrides.context.ns, &context.ns);
  selection.cluster_name = context.cluster;
  selection.user_name = context.user;
  if (!context.ns.empty()) selection.ns = context.ns;
  selection.ns_overridden = !overrides.context.ns.empty();

  selection.cluster = cluster_defaults;
  const auto cluster = config.clusters.find(selection.cluster_name);
  if (cluster != config.clusters.end()) {
    MergeCluster(cluster->second, &selection.cluster);
  } else if (!overrides.context.cluster.empty()) {
    return InvalidArgumentError(
        StrCat("cluster ", GoQuote(selection.cluster_name), " does not exist"));
  }
  KubeCluster& chosen = selection.cluster;
  const KubeCluster& instead = overrides.cluster;
  MergeCluster(instead, &chosen);
  // Who to trust is one decision, and a name belongs to its server.
  if (instead.insecure_skip_tls_verify || !instead.certificate_authority.empty() ||
      !instead.certificate_authority_data.empty()) {
    chosen.insecure_skip_tls_verify = instead.insecure_skip_tls_verify;
    chosen.certificate_authority = instead.certificate_authority;
    chosen.certificate_authority_data = instead.certificate_authority_data;
  }
  if (!instead.server.empty() || !instead.tls_server_name.empty()) {
    chosen.tls_server_name = instead.tls_server_name;
  }

  const auto user = config.users.find(selection.user_name);
  if (user != config.users.end()) {
    selection.user = user->second;
  } else if (!overrides.context.user.empty()) {
    return InvalidArgumentError(
        StrCat("auth info ", GoQuote(selection.user_name), " does not exist"));
  }
  MergeUser(overrides.user, &selection.user);
  ReplacePair(overrides.user.client_certificate, overrides.user.client_certificate_data,
              &selection.user.client_certificate, &selection.user.client_certificate_data);
  ReplacePair(overrides.user.client_key, overrides.user.client_key_data, &selection.user.client_key,
              &selection.user.client_key_data);
  return selection;
}

}  // namespace csinative::kube
