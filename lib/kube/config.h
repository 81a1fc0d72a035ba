// SPDX-License-Identifier: Apache-2.0
//
// Where the API server is and who we are: kubeconfig files and the in-cluster service account
// (kube-client 2 to 4). Any thread; reads files.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/http/client.h"
#include "lib/log/logger.h"

namespace csinative::kube {

struct RestConfig {
  std::string host;  // URL of the API server, without trailing path
  std::string path_prefix;
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
  std::string ns;  // the context's namespace, "default" if none
  bool disable_compression = false;
};

using GetEnv = std::function<std::optional<std::string>(const std::string& name)>;

struct ConfigSources {
  std::string master;      // --master
  std::string kubeconfig;  // --kubeconfig
  GetEnv getenv;           // the process environment when empty
  // Folder of the in-cluster service account; tests move it.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// BuildConfigFromFlags: in-cluster when both are empty (kube-client 2.6). Failure texts are
// client-go's (common 6).
Result<RestConfig> LoadConfig(const ConfigSources& sources, const log::Logger& log);

// Namespace of this pod: POD_NAMESPACE, the service account's file, "default" (common 11.2).
std::string InClusterNamespace(const ConfigSources& sources);

// The transport for a configuration: lib/http with credentials, re-reading rotated files.
Result<std::unique_ptr<class ApiTransport>> NewHttpTransport(async::RealLoop& loop,
                                                             RestConfig config,
                                                             std::string user_agent,
                                                             log::Logger log);

}  // namespace csinative::kube
