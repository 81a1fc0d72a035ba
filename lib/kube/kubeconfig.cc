// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/kubeconfig.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/base/base64.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"

namespace csinative::kube {
namespace {

// "no such file or directory": strerror as Go prints it.
std::string ErrnoText(int error_number) {
  std::string text = std::strerror(error_number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

// Reads fields of one YAML mapping; remembers the first thing that is wrong.
class Fields {
 public:
  Fields(YAML::Node node, std::string path, Status* problem)
      : node_(std::move(node)), path_(std::move(path)), problem_(problem) {
    if (!IsNull() && !node_.IsMap()) Complain(path_, "is not a mapping");
  }

  void Text(const char* key, std::string* out) const {
    const YAML::Node value = Member(key);
    if (!value || value.IsNull()) return;
    if (!value.IsScalar()) return Complain(PathOf(key), "is not a string");
    *out = value.Scalar();
  }
  void Flag(const char* key, bool* out) const {
    std::string text;
    Text(key, &text);
    if (text.empty()) return;
    if (text != "true" && text != "false") return Complain(PathOf(key), "is not a boolean");
    *out = text == "true";
  }
  void Base64(const char* key, std::string* out) const {
    std::string text;
    Text(key, &text);
    Result<std::string> decoded = Base64Decode(text);
    if (!decoded.ok()) return Complain(PathOf(key), decoded.status().message());
    *out = *std::move(decoded);
  }
  void List(const char* key, std::vector<std::string>* out) const {
    const YAML::Node value = Member(key);
    if (!value || value.IsNull()) return;
    if (!value.IsSequence()) return Complain(PathOf(key), "is not a list");
    for (const YAML::Node& item : value) {
      if (!item.IsScalar()) return Complain(PathOf(key), "holds something else than strings");
      out->push_back(item.Scalar());
    }
  }
  Fields Object(const char* key) const { return {Member(key), PathOf(key), problem_}; }
  bool Has(const char* key) const {
    const YAML::Node value = Member(key);
    return value && !value.IsNull();
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    if (IsNull() || !node_.IsMap()) return keys;
    for (const auto& member : node_) keys.push_back(member.first.Scalar());
    return keys;
  }
  // The elements of a list of mappings.
  template <typename Visit>
  void Elements(const char* key, Visit visit) const {
    const YAML::Node value = Member(key);
    if (!value || value.IsNull()) return;
    if (!value.IsSequence()) return Complain(PathOf(key), "is not a list");
    size_t index = 0;
    for (const YAML::Node& item : value) {
      visit(Fields(item, StrCat(PathOf(key), "[", index++, "]"), problem_));
    }
  }

 private:
  bool IsNull() const { return !node_ || node_.IsNull(); }
  YAML::Node Member(const char* key) const {
    if (IsNull() || !node_.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    return node_[key];
  }
  std::string PathOf(const char* key) const {
    return path_.empty() ? key : StrCat(path_, ".", key);
  }
  void Complain(const std::string& where, std::string_view what) const {
    if (problem_->ok()) {
      *problem_ =
          InvalidArgumentError(StrCat("yaml: ", where.empty() ? "the document" : where, " ", what));
    }
  }

  const YAML::Node node_;
  std::string path_;
  Status* problem_;
};

std::string Resolve(const std::string& folder, const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

KubeCluster ReadCluster(const Fields& fields, const std::string& folder) {
  KubeCluster cluster;
  fields.Text("server", &cluster.server);
  fields.Text("tls-server-name", &cluster.tls_server_name);
  fields.Flag("insecure-skip-tls-verify", &cluster.insecure_skip_tls_verify);
  fields.Text("certificate-authority", &cluster.certificate_authority);
  fields.Base64("certificate-authority-data", &cluster.certificate_authority_data);
  fields.Text("proxy-url", &cluster.proxy_url);
  fields.Flag("disable-compression", &cluster.disable_compression);
  cluster.certificate_authority = Resolve(folder, cluster.certificate_authority);
  return cluster;
}

KubeExec ReadExec(const Fields& fields) {
  KubeExec exec{.configured = true};
  fields.Text("command", &exec.command);
  fields.Text("apiVersion", &exec.api_version);
  fields.Text("interactiveMode", &exec.interactive_mode);
  fields.Elements("env", [&](const Fields& variable) {
    std::string name;
    variable.Text("name", &name);
    exec.env_names.push_back(name);
  });
  const std::string& version = exec.api_version;
  if (exec.interactive_mode.empty() && (version == "client.authentication.k8s.io/v1beta1" ||
                                        version == "client.authentication.k8s.io/v1alpha1")) {
    exec.interactive_mode = "IfAvailable";
  }
  return exec;
}

KubeUser ReadUser(const Fields& fields, const std::string& folder) {
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
  const Fields extra = fields.Object("as-user-extra");
  for (const std::string& key : extra.Keys()) {
    extra.List(key.c_str(), &user.impersonate_extra[key]);
  }
  fields.Text("username", &user.username);
  fields.Text("password", &user.password);
  user.has_auth_provider = fields.Has("auth-provider");
  if (user.has_auth_provider) fields.Object("auth-provider").Text("name", &user.auth_provider);
  if (fields.Has("exec")) user.exec = ReadExec(fields.Object("exec"));
  user.client_certificate = Resolve(folder, user.client_certificate);
  user.client_key = Resolve(folder, user.client_key);
  user.token_file = Resolve(folder, user.token_file);
  return user;
}

KubeContext ReadContext(const Fields& fields) {
  KubeContext context;
  fields.Text("cluster", &context.cluster);
  fields.Text("user", &context.user);
  fields.Text("namespace", &context.ns);
  return context;
}

// Go's word for one kind of named entry, in the error about duplicates.
struct EntryWords {
  const char* list;
  const char* inner;
  const char* list_type;
  const char* map_type;
};

template <typename T, typename Read>
void ReadNamed(const Fields& root, const EntryWords& words, std::map<std::string, T>* out,
               Status* problem, Read read) {
  root.Elements(words.list, [&](const Fields& entry) {
    std::string name;
    entry.Text("name", &name);
    if (!out->emplace(name, read(entry.Object(words.inner))).second && problem->ok()) {
      *problem = InvalidArgumentError(StrCat("error converting *[]", words.list_type,
                                             " into *map[string]*api.", words.map_type,
                                             ": duplicate name ", GoQuote(name), " in list"));
    }
  });
}

Result<Kubeconfig> ReadConfig(const YAML::Node& document, const std::string& folder) {
  Status problem;
  const Fields root(document, "", &problem);
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
  ReadNamed(root, {"clusters", "cluster", "NamedCluster", "Cluster"}, &config.clusters, &problem,
            [&](const Fields& fields) { return ReadCluster(fields, folder); });
  ReadNamed(root, {"users", "user", "NamedAuthInfo", "AuthInfo"}, &config.users, &problem,
            [&](const Fields& fields) { return ReadUser(fields, folder); });
  ReadNamed(root, {"contexts", "context", "NamedContext", "Context"}, &config.contexts, &problem,
            ReadContext);
  if (!problem.ok()) return problem;
  return config;
}

// A path that has to be readable.
Status CheckReadable(std::string_view what, const std::string& path, const std::string& name) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.valid()) return Status();
  return InvalidArgumentError(StrCat("unable to read ", what, " ", path, " for ", name,
                                     " due to open ", path, ": ", ErrnoText(errno)));
}

void CheckCluster(const std::string& name, const KubeCluster& cluster,
                  std::vector<std::string>* problems) {
  if (cluster == KubeCluster()) {
    problems->push_back("cluster has no server defined");
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
  for (const std::string& variable : exec.env_names) {
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

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    return OsStatus(error, "").WithMessage(StrCat("open ", path, ": ", ErrnoText(error)));
  }
  std::string content;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n == 0) return content;
    if (n < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      return OsStatus(error, "").WithMessage(StrCat("read ", path, ": ", ErrnoText(error)));
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
    return OsStatus(error, "").WithMessage(StrCat("stat ", path, ": ", ErrnoText(error)));
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

KubeSelection SelectCurrentContext(const Kubeconfig& config, const std::string& server_override) {
  KubeSelection selection;
  selection.context_name = config.current_context;
  if (!config.current_context.empty()) {
    const auto context = config.contexts.find(config.current_context);
    selection.context_missing = context == config.contexts.end();
    if (!selection.context_missing) {
      selection.cluster_name = context->second.cluster;
      selection.user_name = context->second.user;
      if (!context->second.ns.empty()) selection.ns = context->second.ns;
    }
  }
  const auto cluster = config.clusters.find(selection.cluster_name);
  if (cluster != config.clusters.end()) selection.cluster = cluster->second;
  const auto user = config.users.find(selection.user_name);
  if (user != config.users.end()) selection.user = user->second;
  if (!server_override.empty()) {
    selection.cluster.server = server_override;
    selection.cluster.tls_server_name.clear();
  }
  return selection;
}

Status ValidateSelection(const KubeSelection& selection) {
  std::vector<std::string> problems;
  if (selection.context_missing) {
    problems.push_back(
        StrCat("context was not found for specified context: ", selection.context_name));
  }
  CheckUser(selection.user_name, selection.user, &problems);
  CheckCluster(selection.cluster_name, selection.cluster, &problems);
  if (problems.empty()) return Status();
  if (problems.size() == 1) {
    std::string text = problems[0];
    if (text == "cluster has no server defined") {
      text =
          "no configuration has been provided, try setting KUBERNETES_MASTER environment variable";
    }
    return InvalidArgumentError(StrCat("invalid configuration: ", text));
  }
  return InvalidArgumentError(StrCat("invalid configuration: [", Join(problems, ", "), "]"));
}

}  // namespace csinative::kube
