// SPDX-License-Identifier: Apache-2.0
//
// Kubeconfig files: format, selection and validation (kube-client 2.1 to 2.4). Any thread; reads
// files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace csinative::kube {

struct KubeCluster {
  std::string server;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority;       // path
  std::string certificate_authority_data;  // PEM
  std::string proxy_url;
  bool disable_compression = false;

  bool operator==(const KubeCluster&) const = default;
};

struct KubeExec {
  bool configured = false;
  std::string command;
  std::string api_version;
  std::string interactive_mode;
  std::vector<std::string> env_names;
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
};

struct KubeContext {
  std::string cluster;
  std::string user;
  std::string ns;
};

struct Kubeconfig {
  std::map<std::string, KubeCluster> clusters;
  std::map<std::string, KubeUser> users;
  std::map<std::string, KubeContext> contexts;
  std::string current_context;
};

// The content of one file, YAML or JSON. Relative paths in it become relative to `folder`.
// kInvalidArgument, without the file's name, for what cannot be understood.
Result<Kubeconfig> ParseKubeconfig(std::string_view text, const std::string& folder);

// Reads and parses a file that must exist.
Result<Kubeconfig> LoadKubeconfigFile(const std::string& path);

// Entries of the current context; server_override, if not empty, replaces the cluster's server and
// drops its tls-server-name.
struct KubeSelection {
  std::string context_name;
  bool context_missing = false;
  std::string cluster_name;
  KubeCluster cluster;  // empty if there is none
  std::string user_name;
  KubeUser user;  // empty if there is none
  std::string ns = "default";
};
KubeSelection SelectCurrentContext(const Kubeconfig& config, const std::string& server_override);

// Ok, or kInvalidArgument "invalid configuration: ..." with everything that is wrong.
Status ValidateSelection(const KubeSelection& selection);

// The whole file. Failure text is Go's: "open <path>: no such file or directory".
Result<std::string> ReadFile(const std::string& path);

}  // namespace csinative::kube
