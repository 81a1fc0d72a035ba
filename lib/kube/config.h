// SPDX-License-Identifier: Apache-2.0
//
// Where the API server is and who we are: kubeconfig files and the in-cluster service account
// (kube-client 2 to 4). Any thread; reads files.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/http/client.h"
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

// What --master and --kubeconfig mean (kube-client 2.6): in-cluster when both are empty. Failure
// texts are client-go's (common 6).
Result<RestConfig> LoadConfig(const ConfigSources& sources, const log::Logger& log);

// Namespace of this pod: POD_NAMESPACE, the service account's file, "default" (common 11.2).
std::string InClusterNamespace(const ConfigSources& sources);

// The transport for a configuration: lib/http with credentials, re-reading rotated files.
// kInvalidArgument for credentials that contradict each other or cannot be used. Borrowed: the
// loop.
Result<std::unique_ptr<ApiTransport>> NewHttpTransport(async::RealLoop& loop, RestConfig config,
                                                       std::string user_agent, log::Logger log);

}  // namespace csinative::kube
