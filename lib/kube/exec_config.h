// SPDX-License-Identifier: Apache-2.0
//
// How a credential plugin is run (kube-client 5). Values; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"

namespace csinative::kube {

struct ExecConfig {
  std::string command;  // looked for in PATH if it holds no slash
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;  // shown when the command is not there
  bool provide_cluster_info = false;
  std::string interactive_mode;  // Never, IfAvailable, Always
  std::string cluster_config;    // JSON, from the cluster's extension; empty if none
  // Somebody else reads our standard input.
  bool stdin_unavailable = false;
  std::string stdin_unavailable_message;

  bool operator==(const ExecConfig&) const = default;
};

// What the plugin is told about the server, if it asks for that.
struct ExecCluster {
  std::string server;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority_pem;
  std::string proxy_url;
  bool disable_compression = false;

  bool operator==(const ExecCluster&) const = default;
};

// The name of the cluster extension that becomes cluster_config.
inline constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

// kInvalidArgument for a version of the plugin interface that is not spoken.
Status CheckExecVersion(std::string_view api_version);

// Everything that a terminal would not show as text becomes "U+" and its number.
std::string CleanInstallHint(std::string_view hint);

// KUBERNETES_EXEC_INFO: what the plugin is asked for. `cluster` may be null.
std::string ExecInfo(const ExecConfig& config, const ExecCluster* cluster, bool interactive);

// Whether the plugin may talk to a person. kInvalidArgument if it has to and cannot.
Result<bool> MayInteract(const ExecConfig& config, bool stdin_is_terminal);

}  // namespace csinative::kube
