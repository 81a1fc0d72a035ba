// SPDX-License-Identifier: Apache-2.0
//
// Kubeconfig files: their format (kube-client 2.1). Which files are read and how several become one
// is kubeconfig_loading.h; what is chosen from them kubeconfig_selection.h. Any thread; reads
// files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"

namespace csinative::kube {

using KubeExtensions = std::map<std::string, std::string>;  // name to JSON text

struct KubeCluster {
  std::string server;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority;       // path
  std::string certificate_authority_data;  // PEM
  std::string proxy_url;
  bool disable_compression = false;
  KubeExtensions extensions;

  bool operator==(const KubeCluster&) const = default;
};

// A credential plugin.
struct KubeExec {
  bool configured = false;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string interactive_mode;

  bool operator==(const KubeExec&) const = default;
};

struct KubeUser {
  std::string client_certificate;       // path
  std::string client_certificate_data;  // PEM
  std::string client_key;               // path
  std::string client_key_data;          // PEM
  std::string token;
  std::string token_file;
  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::map<std::string, std::vector<std::string>> impersonate_extra;
  std::string username;
  std::string password;
  std::string auth_provider;  // name
  bool has_auth_provider = false;
  KubeExec exec;

  bool operator==(const KubeUser&) const = default;
};

struct KubeContext {
  std::string cluster;
  std::string user;
  std::string ns;

  bool operator==(const KubeContext&) const = default;
};

struct Kubeconfig {
  std::map<std::string, KubeCluster> clusters;
  std::map<std::string, KubeUser> users;
  std::map<std::string, KubeContext> contexts;
  KubeExtensions extensions;
  std::string current_context;

  bool operator==(const Kubeconfig&) const = default;
};

// The content of one file, YAML or JSON. Relative paths in it become relative to `folder`.
// kInvalidArgument, without the file's name, for what cannot be understood.
Result<Kubeconfig> ParseKubeconfig(std::string_view text, const std::string& folder);

// Reads and parses a file that must exist.
Result<Kubeconfig> LoadKubeconfigFile(const std::string& path);

// The whole file. Failure text is Go's: "open <path>: no such file or directory".
Result<std::string> ReadFile(const std::string& path);

// strerror as Go prints it: "no such file or directory".
std::string GoErrnoText(int error_number);

}  // namespace csinative::kube
