// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/kubeconfig.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "lib/kube/kubeconfig_yaml.h"

namespace csinative::kube {
namespace {

std::string Resolve(const std::string& folder, const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// Go's word for one kind of named entry, in the error about duplicates.
struct EntryWords {
  const char* list;
  const char* inner;
  const char* list_type;
  const char* map_type;  // "*api.Cluster"
};

constexpr EntryWords kExtensionWords = {"extensions", "extension", "NamedExtension",
                                        "runtime.Object"};

template <typename T>
void AddNamed(std::string name, T value, const EntryWords& words, std::map<std::string, T>* out,
              Status* problem) {
  if (out->emplace(name, std::move(value)).second || !problem->ok()) return;
  *problem =
      InvalidArgumentError(StrCat("error converting *[]", words.list_type, " into *map[string]",
                                  words.map_type, ": duplicate name ", GoQuote(name), " in list"));
}

template <typename T, typename Read>
void ReadNamed(const YamlFields& root, const EntryWords& words, std::map<std::string, T>* out,
               Status* problem, Read read) {
  root.Elements(words.list, [&](const YamlFields& entry) {
    std::string name;
    entry.Text("name", &name);
    AddNamed(std::move(name), read(entry.Object(words.inner)), words, out, problem);
  });
}

void ReadExtensions(const YamlFields& fields, KubeExtensions* out, Status* problem) {
  fields.Elements("extensions", [&](const YamlFields& entry) {
    std::string name;
    entry.Text("name", &name);
    std::string json = "null";
    entry.Json("extension", &json);
    AddNamed(std::move(name), std::move(json), kExtensionWords, out, problem);
  });
}

KubeCluster ReadCluster(const YamlFields& fields, const std::string& folder, Status* problem) {
  KubeCluster cluster;
  fields.Text("server", &cluster.server);
  fields.Text("tls-server-name", &cluster.tls_server_name);
  fields.Flag("insecure-skip-tls-verify", &cluster.insecure_skip_tls_verify);
  fields.Text("certificate-authority", &cluster.certificate_authority);
  fields.Base64("certificate-authority-data", &cluster.certificate_authority_data);
  fields.Text("proxy-url", &cluster.proxy_url);
  fields.Flag("disable-compression", &cluster.disable_compression);
  ReadExtensions(fields, &cluster.extensions, problem);
  cluster.certificate_authority = Resolve(folder, cluster.certificate_authority);
  return cluster;
}

KubeExec ReadExec(const YamlFields& fields, const std::string& folder) {
  KubeExec exec{.configured = true};
  fields.Text("command", &exec.command);
  fields.List("args", &exec.args);
  fields.Text("apiVersion", &exec.api_version);
  fields.Text("installHint", &exec.install_hint);
  fields.Flag("provideClusterInfo", &exec.provide_cluster_info);
  fields.Text("interactiveMode", &exec.interactive_mode);
  fields.Elements("env", [&](const YamlFields& variable) {
    auto& [name, value] = exec.env.emplace_back();
    variable.Text("name", &name);
    variable.Text("value", &value);
  });
  const std::string& version = exec.api_version;
  if (exec.interactive_mode.empty() && (version == "client.authentication.k8s.io/v1beta1" ||
                                        version == "client.authentication.k8s.io/v1alpha1")) {
    exec.interactive_mode = "IfAvailable";
  }
  // A bare command is looked for in PATH.
  if (exec.command.find('/') != std::string::npos) exec.command = Resolve(folder, exec.command);
  return exec;
}

KubeUser ReadUser(const YamlFields& fields, const std::string& folder) {
  KubeUser user;
  fields.Text("client-certificate", &user.client_certificate);
  fields.Base64("client-certificate-data", &user.client_certificate_data);
  fields.Text("client-key", &user.client_key);
  fields.Base64("client-key-data", &user.client_key_data);
  fields.Text("token", &user.token);
  fields.Text("tokenFile", &user.token_file);
  fields.Text("as", &user.impersonate_user);
  fields.Text("as-uid", &user.impersonate_uid);
  fields.List("as-groups", &user.impersonate_groups);
  const YamlFields extra = fields.Object("as-user-extra");
  for (const std::string& key : extra.Keys()) {
    extra.List(key.c_str(), &user.impersonate_extra[key]);
  }
  fields.Text("username", &user.username);
  fields.Text("password", &user.password);
  user.has_auth_provider = fields.Has("auth-provider");
  if (user.has_auth_provider) fields.Object("auth-provider").Text("name", &user.auth_provider);
  if (fields.Has("exec")) user.exec = ReadExec(fields.Object("exec"), folder);
  user.client_certificate = Resolve(folder, user.client_certificate);
  user.client_key = Resolve(folder, user.client_key);
  user.token_file = Resolve(folder, user.token_file);
  return user;
}

KubeContext ReadContext(const YamlFields& fields) {
  KubeContext context;
  fields.Text("cluster", &context.cluster);
  fields.Text("user", &context.user);
  fields.Text("namespace", &context.ns);
  return context;
}

Result<Kubeconfig> ReadConfig(const YAML::Node& document, const std::string& folder) {
  Status problem;
  const YamlFields root(document, "", &problem);
  std::string api_version = "v1";
  std::string kind = "Config";
  root.Text("apiVersion", &api_version);
  root.Text("kind", &kind);
  if (problem.ok() && (api_version != "v1" || kind != "Config")) {
    return InvalidArgumentError(
        StrCat("no kind ", GoQuote(kind), " is registered for version ", GoQuote(api_version)));
  }
  Kubeconfig config;
  root.Text("current-context", &config.current_context);
  ReadNamed(root, {"clusters", "cluster", "NamedCluster", "*api.Cluster"}, &config.clusters,
            &problem,
            [&](const YamlFields& fields) { return ReadCluster(fields, folder, &problem); });
  ReadNamed(root, {"users", "user", "NamedAuthInfo", "*api.AuthInfo"}, &config.users, &problem,
            [&](const YamlFields& fields) { return ReadUser(fields, folder); });
  ReadNamed(root, {"contexts", "context", "NamedContext", "*api.Context"}, &config.contexts,
            &problem, ReadContext);
  ReadExtensions(root, &config.extensions, &problem);
  if (!problem.ok()) return problem;
  return config;
}

}  // namespace

std::string GoErrnoText(int error_number) {
  std::string text = std::strerror(error_number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

Result<std::string> ReadFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    return OsStatus(error, "").WithMessage(StrCat("open ", path, ": ", GoErrnoText(error)));
  }
  std::string content;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n == 0) return content;
    if (n < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      return OsStatus(error, "").WithMessage(StrCat("read ", path, ": ", GoErrnoText(error)));
    }
    content.append(buffer, static_cast<size_t>(n));
  }
}

Result<Kubeconfig> ParseKubeconfig(std::string_view text, const std::string& folder) {
  try {
    return ReadConfig(YAML::Load(std::string(text)), folder);
  } catch (const YAML::Exception& e) {
    if (e.mark.is_null()) return InvalidArgumentError(StrCat("yaml: ", e.msg));
    return InvalidArgumentError(StrCat("yaml: line ", e.mark.line + 1, ": ", e.msg));
  }
}

Result<Kubeconfig> LoadKubeconfigFile(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    const int error = errno;
    return OsStatus(error, "").WithMessage(StrCat("stat ", path, ": ", GoErrnoText(error)));
  }
  const std::string context = StrCat("error loading config file ", GoQuote(path));
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status().WithContext(context);
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  Result<Kubeconfig> config = ParseKubeconfig(*text, absolute.parent_path().string());
  if (!config.ok()) return config.status().WithContext(context);
  return config;
}

}  // namespace csinative::kube
