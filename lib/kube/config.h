// SPDX-License-Identifier: Apache-2.0
//
// Where the API server is and who we are: kubeconfig files and the in-cluster service account
// (kube-client 2 to 4). Any thread; reads files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/http/client.h"
#include "lib/kube/environment.h"
#include "lib/kube/exec_config.h"
#include "lib/kube/kubeconfig_loading.h"
#include "lib/kube/kubeconfig_selection.h"
#include "lib/kube/transport.h"
#include "lib/log/logger.h"

namespace csinative::kube {

struct RestConfig {
  std::string host;         // URL of the API server, without path: "https://10.0.0.1:443"
  std::string path_prefix;  // of every request, without trailing slash
  http::TlsConfig tls;
  std::string proxy_url;
  // Files that may be rotated while we run: re-read when they change.
  std::string ca_file;
  std::string client_certificate_file;
  std::string client_key_file;
  std::string bearer_token;
  std::string bearer_token_file;
  std::string username;
  std::string password;
  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::map<std::string, std::vector<std::string>> impersonate_extra;
  // Asked for a token or a certificate when nothing above is a credential.
  std::optional<ExecConfig> exec;
  std::string ns;  // the context's namespace, "default" if none
  bool ns_overridden = false;
  bool disable_compression = false;
  // Look at ca_file again while we run (gate ClientsAllowCARotation).
  bool reload_ca = true;
  // Unary requests at a time; others wait. Urgent ones come on top.
  int max_connections = 8;
  http::ClientConfig::Transport http_transport = http::ClientConfig::Transport::kAuto;

  bool operator==(const RestConfig&) const = default;
};

// Where a server is, from what a configuration calls it: URL, host:port or host. Without a scheme
// it is https if TLS settings are given, http otherwise. kInvalidArgument for a path without a
// scheme.
struct ServerUrl {
  std::string origin;  // "https://host:port"
  std::string path;    // without trailing slashes
};
enum class TlsSettings { kAbsent, kPresent };
Result<ServerUrl> ParseServer(const std::string& server, TlsSettings tls);
// Whether a connection to that server is encrypted; false for what is no server.
bool UsesTls(const std::string& server, TlsSettings tls);

struct ConfigSources {
  std::string master;      // --master
  std::string kubeconfig;  // --kubeconfig
  GetEnv getenv;           // the process environment when empty
  // Folder of the in-cluster service account; tests move it.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// What --master and --kubeconfig mean (kube-client 2.6): in-cluster when both are empty. Failure
// texts are client-go's (common 6).
Result<RestConfig> LoadConfig(const ConfigSources& sources, const log::Logger& log);

// The configuration of the selected entries (kube-client 2.5). Reads the token file.
Result<RestConfig> ToRestConfig(const KubeSelection& selection);
// The server as the configuration names it: a URL loses query and fragment.
std::string ServerOf(const KubeSelection& selection);

// Files as `rules` say, under `overrides`; in-cluster when that gives no configuration, or the
// loader's own default (kube-client 2.6).
struct DeferredConfig {
  LoadingRules rules;
  KubeOverrides overrides;
  KubeCluster cluster_defaults;
  // What the rules give when there is nothing to load; null: nothing.
  std::optional<RestConfig> default_config;
  ConfigSources in_cluster;
};
Result<RestConfig> LoadDeferredConfig(const DeferredConfig& config, const log::Logger& log);
// The namespace of the same: the context's, else in-cluster the pod's.
Result<std::string> DeferredNamespace(const DeferredConfig& config, const log::Logger& log);

// In-cluster, with server, token (with its file) and authority file from the overrides.
Result<RestConfig> InClusterUnder(const ConfigSources& sources, const KubeOverrides& overrides,
                                  const log::Logger& log);

// Namespace of this pod: POD_NAMESPACE, the service account's file, "default" (common 11.2).
std::string InClusterNamespace(const ConfigSources& sources);

// The transport for a configuration: lib/http with credentials, re-reading rotated files.
// kInvalidArgument for credentials that contradict each other or cannot be used. Borrowed: the
// loop.
Result<std::unique_ptr<ApiTransport>> NewHttpTransport(async::RealLoop& loop, RestConfig config,
                                                       std::string user_agent, log::Logger log);

}  // namespace csinative::kube
