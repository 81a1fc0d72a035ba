// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.1: kubeconfig files, merging, overrides, validation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "lib/kube/config.h"
#include "lib/kube/kubeconfig_loading.h"
#include "lib/kube/kubeconfig_selection.h"
#include "test/support/oracle.h"
#include "test/unit/kube/temp_folder.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KubeconfigOracle : public ::testing::Test {
 protected:
  // A log at some verbosity.
  log::Logger LogAt(int verbosity) {
    output_ = std::make_shared<log::CollectingOutput>();
    const log::Logger log = log::NewLogger(output_);
    log.backend()->SetVerbosity(verbosity);
    return log;
  }
  std::string Logged() const {
    std::string all;
    for (const std::string& record : output_->Records()) all += record + "\n";
    return all;
  }
  GetEnv Environment() const {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto it = environment_.find(name);
      if (it == environment_.end()) return std::nullopt;
      return it->second;
    };
  }
  Result<Kubeconfig> LoadExplicit(const std::string& path) {
    return LoadKubeconfig({.explicit_path = path}, LogAt(0));
  }

  testing::TempFolder folder_;
  std::map<std::string, std::string> environment_;
  std::shared_ptr<log::CollectingOutput> output_;
};

Kubeconfig Parsed(const std::string& text) {
  Result<Kubeconfig> config = ParseKubeconfig(text, "/folder");
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? *std::move(config) : Kubeconfig();
}

// A file with one context "c" of cluster "k" and user "u", in flow style.
std::string One(const std::string& cluster, const std::string& user) {
  return StrCat("clusters: [{name: k, cluster: ", cluster, "}]\nusers: [{name: u, user: ", user,
                "}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n");
}

TEST_F(KubeconfigOracle, MissingAndBrokenFiles) {
  {
    const oracle::Row row("kube-client/24.1/1");
    EXPECT_THAT(LoadExplicit("bogus_file").status().message(), HasSubstr("bogus_file"));
  }
  {
    const oracle::Row row("kube-client/24.1/2");
    const LoadingRules rules{
        .precedence = {folder_.Path("bogus1"), folder_.Path("bogus2"), folder_.Path("bogus3")},
        .warn_if_all_missing = true};
    EXPECT_TRUE(LoadKubeconfig(rules, LogAt(1)).ok());
    EXPECT_THAT(Logged(), HasSubstr(StrCat("Config not found: ", folder_.Path("bogus1"), ", ",
                                           folder_.Path("bogus2"))));
  }
  for (const int verbosity : {1, 0}) {
    const oracle::Row row("kube-client/24.1/3");
    environment_["KUBECONFIG"] = folder_.Path("bogus");
    EXPECT_TRUE(LoadKubeconfig(DefaultLoadingRules(Environment()), LogAt(verbosity)).ok());
    const std::string line = "Config not found: " + folder_.Path("bogus");
    if (verbosity == 1) {
      EXPECT_THAT(Logged(), HasSubstr(line));
    } else {
      EXPECT_THAT(Logged(), Not(HasSubstr(line)));
    }
  }
  {
    const oracle::Row row("kube-client/24.1/4");
    const std::string path = folder_.Write("bogus", "bogus value");
    EXPECT_THAT(LoadExplicit(path).status().message(), HasSubstr(path));
    EXPECT_THAT(LoadKubeconfig({.precedence = {path, path + "2"}}, LogAt(0)).status().message(),
                HasSubstr(path));
  }
  {
    const oracle::Row row("kube-client/24.1/5");
    const std::string path = folder_.path().string();
    EXPECT_THAT(LoadExplicit(path).status().message(), HasSubstr(path));
    EXPECT_THAT(LoadKubeconfig({.precedence = {path}}, LogAt(0)).status().message(),
                HasSubstr(path));
  }
  // All of them are told together.
  const std::string one = folder_.Write("one", "[");
  const std::string two = folder_.Write("two", "[");
  const std::string both = LoadKubeconfig({.precedence = {one, two}}, LogAt(0)).status().message();
  EXPECT_THAT(both, HasSubstr(one));
  EXPECT_THAT(both, HasSubstr(two));
}

TEST_F(KubeconfigOracle, MergingFiles) {
  {
    const oracle::Row row("kube-client/24.1/6");
    const std::string wanted = folder_.Write("explicit", "current-context: any-context-value\n");
    const std::string other =
        folder_.Write("other", "current-context: a-different-context\nusers: [{name: x}]\n");
    const Result<Kubeconfig> config =
        LoadKubeconfig({.explicit_path = wanted, .precedence = {other}}, LogAt(0));
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->current_context, "any-context-value");
    EXPECT_THAT(config->users, IsEmpty());
  }
  {
    const oracle::Row row("kube-client/24.1/7");
    const std::string a = folder_.Write("a", R"(
users: [{name: red-user, user: {token: red-token}}]
clusters: [{name: cow-cluster, cluster: {server: 'http://cow.org:8080'}}]
contexts: [{name: federal-context, context: {user: red-user, cluster: cow-cluster, namespace: hammer-ns}}]
)");
    const std::string b = folder_.Write("b", R"(
users: [{name: red-user, user: {token: a-different-red-token}}, {name: yellow-user, user: {token: yellow-token}}]
clusters:
- {name: cow-cluster, cluster: {server: 'http://a-different-cow.org:8080', insecure-skip-tls-verify: true, disable-compression: true}}
- {name: donkey-cluster, cluster: {server: 'http://donkey.org:8080', insecure-skip-tls-verify: true}}
current-context: federal-context
)");
    const Result<Kubeconfig> merged = LoadKubeconfig({.precedence = {a, b}}, LogAt(0));
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    EXPECT_EQ(merged->current_context, "federal-context");
    EXPECT_EQ(merged->users.at("red-user").token, "red-token");
    EXPECT_EQ(merged->users.at("yellow-user").token, "yellow-token");
    EXPECT_EQ(merged->clusters.at("cow-cluster"), (KubeCluster{.server = "http://cow.org:8080"}));
    EXPECT_EQ(merged->clusters.at("donkey-cluster").server, "http://donkey.org:8080");
    EXPECT_EQ(merged->contexts.at("federal-context").ns, "hammer-ns");
  }
  {
    const oracle::Row row("kube-client/24.1/8");
    std::vector<Kubeconfig> files(4);
    files[0].users["blue"].token = "b";
    files[1].clusters["pig"].server = "p";
    files[2].contexts["shaker"].ns = "s";
    files[3].extensions["x"] = "{}";
    Kubeconfig all;
    all.users = files[0].users;
    all.clusters = files[1].clusters;
    all.contexts = files[2].contexts;
    all.extensions = files[3].extensions;
    EXPECT_EQ(MergeKubeconfigs(files), all);
  }
}

struct DuplicateEntry {
  const char* text;
  const char* types;
};

TEST_F(KubeconfigOracle, WhatAFileMayHold) {
  const DuplicateEntry kDuplicates[] = {
      {"clusters: [{name: x}, {name: x}]", "*[]NamedCluster into *map[string]*api.Cluster"},
      {"contexts: [{name: x}, {name: x}]", "*[]NamedContext into *map[string]*api.Context"},
      {"users: [{name: x}, {name: x}]", "*[]NamedAuthInfo into *map[string]*api.AuthInfo"},
      {"extensions: [{name: x}, {name: x}]", "*[]NamedExtension into *map[string]runtime.Object"},
  };
  for (const DuplicateEntry& entry : kDuplicates) {
    const oracle::Row row("kube-client/24.1/9");
    EXPECT_EQ(ParseKubeconfig(entry.text, "/").status().message(),
              StrCat("error converting ", entry.types, ": duplicate name \"x\" in list"));
  }
  {
    const oracle::Row row("kube-client/24.1/10");
    const Kubeconfig config = Parsed("current-context: any-context-value");
    EXPECT_EQ(config, (Kubeconfig{.current_context = "any-context-value"}));
  }
  {
    const oracle::Row row("kube-client/24.1/16");
    const Kubeconfig config = Parsed("users: [{name: u, user: {auth-provider: {name: gcp}}}]");
    EXPECT_EQ(config.users.at("u").auth_provider, "gcp");
  }
}

TEST_F(KubeconfigOracle, Paths) {
  const std::string kPaths = R"(
users: [{name: NAME, user: {client-certificate: relative/client/cert, client-key: ../relative/client/key, exec: {command: ../relative/client/cmd}}}]
clusters: [{name: NAME, cluster: {certificate-authority: ../relative/ca}}]
)";
  {
    const oracle::Row row("kube-client/24.1/11");
    const std::string one = folder_.Write("d1/sub/config", ReplaceAll(kPaths, "NAME", "one"));
    const std::string two = folder_.Write("d2/sub/config", ReplaceAll(kPaths, "NAME", "two"));
    const Result<Kubeconfig> config = LoadKubeconfig({.precedence = {one, two}}, LogAt(0));
    ASSERT_TRUE(config.ok()) << config.status().message();
    for (const auto& [name, dir] :
         std::map<std::string, std::string>{{"one", "d1"}, {"two", "d2"}}) {
      const KubeUser& user = config->users.at(name);
      EXPECT_EQ(user.client_certificate, folder_.Path(dir + "/sub/relative/client/cert"));
      EXPECT_EQ(user.client_key, folder_.Path(dir + "/relative/client/key"));
      EXPECT_EQ(user.exec.command, folder_.Path(dir + "/relative/client/cmd"));
      EXPECT_EQ(config->clusters.at(name).certificate_authority,
                folder_.Path(dir + "/relative/ca"));
    }
  }
  {
    const oracle::Row row("kube-client/24.1/12");
    const Kubeconfig config = Parsed(
        "users: [{name: u, user: {client-certificate: /a/c, client-key: /a/k, exec: {command: "
        "cmd}}}, {name: v, user: {exec: {command: /abs/cmd}}}]\n"
        "clusters: [{name: k, cluster: {certificate-authority: /a/ca}}]");
    EXPECT_EQ(config.users.at("u").client_certificate, "/a/c");
    EXPECT_EQ(config.users.at("u").client_key, "/a/k");
    EXPECT_EQ(config.users.at("u").exec.command, "cmd");
    EXPECT_EQ(config.users.at("v").exec.command, "/abs/cmd");
    EXPECT_EQ(config.clusters.at("k").certificate_authority, "/a/ca");
  }
}

TEST_F(KubeconfigOracle, WhichFilesAreRead) {
  struct Migration {
    const char* name;
    const char* before;  // null: there is no destination
    const char* source;  // null: no source
    const char* after;   // null: still no destination
  };
  const Migration kMigrations[] = {
      {"missing", nullptr, "users: []\n# x", "users: []\n# x"},
      {"present", "current-context: d", "users: []", "current-context: d"},
      {"no_source", nullptr, nullptr, nullptr}};
  for (const Migration& entry : kMigrations) {
    const oracle::Row row("kube-client/24.1/13");
    const std::string name = entry.name;
    const std::string destination = folder_.Path(name + "/config");
    if (entry.before != nullptr) folder_.Write(name + "/config", entry.before);
    if (entry.source != nullptr) folder_.Write(name + "/old", entry.source);
    EXPECT_TRUE(LoadKubeconfig({.precedence = {destination},
                                .migrations = {{destination, folder_.Path(name + "/old")}}},
                               LogAt(0))
                    .ok());
    const Result<std::string> after = ReadFile(destination);
    EXPECT_EQ(after.ok(), entry.after != nullptr) << name;
    if (after.ok()) EXPECT_EQ(*after, entry.after) << name;
  }
  {
    const oracle::Row row("kube-client/24.1/14");
    const LoadingRules rules{.precedence = {"a", "b", "c", "b", "e", "f"}};
    EXPECT_THAT(rules.Files(), ElementsAre("a", "b", "c", "e", "f"));
  }
  {
    const oracle::Row row("kube-client/24.1/15");
    environment_ = {{"HOME", "/home/me"}};
    LoadingRules rules = DefaultLoadingRules(Environment());
    EXPECT_THAT(rules.Files(), ElementsAre("/home/me/.kube/config"));
    rules.explicit_path = "/explicit";
    EXPECT_THAT(rules.Files(), ElementsAre("/explicit"));
    environment_["KUBECONFIG"] = "/env/kubeconfig:/other/kubeconfig";
    EXPECT_THAT(DefaultLoadingRules(Environment()).Files(),
                ElementsAre("/env/kubeconfig", "/other/kubeconfig"));
  }
}

// The generic merge of the originals, as it applies to the entries here.
TEST_F(KubeconfigOracle, MergingEntries) {
  {
    const oracle::Row row("kube-client/24.1/17");
    KubeUser to{.token = "one", .username = "5"};
    KubeCluster nested{.server = "four", .proxy_url = "6"};
    MergeUser({.token = "two"}, &to);
    MergeCluster({.server = "three", .tls_server_name = "4"}, &nested);
    EXPECT_EQ(to, (KubeUser{.token = "two", .username = "5"}));
    EXPECT_EQ(nested, (KubeCluster{.server = "three", .tls_server_name = "4", .proxy_url = "6"}));
  }
  {
    const oracle::Row row("kube-client/24.1/18");
    KubeUser to{.impersonate_groups = {"a", "b"}};
    MergeUser({.impersonate_groups = {"c"}}, &to);
    EXPECT_THAT(to.impersonate_groups, ElementsAre("c"));
  }
  {
    const oracle::Row row("kube-client/24.1/19");
    KubeUser to{.exec = {.configured = true, .command = "a", .install_hint = "h"}};
    MergeUser({}, &to);
    EXPECT_EQ(to.exec.command, "a");
    MergeUser({.exec = {.configured = true, .command = "b"}}, &to);
    EXPECT_EQ(to.exec, (KubeExec{.configured = true, .command = "b"}));
  }
  {
    // A pointer to a map has no counterpart.
    const oracle::Row row("kube-client/24.1/20");
    KubeUser to{.impersonate_extra = {{"a", {"1"}}}};
    MergeUser({.impersonate_extra = {{"b", {"1"}}}}, &to);
    EXPECT_EQ(to.impersonate_extra,
              (std::map<std::string, std::vector<std::string>>{{"a", {"1"}}, {"b", {"1"}}}));
  }
}

struct OverrideEntry {
  const char* row;
  KubeCluster file;
  KubeCluster instead;
  KubeCluster result;
};

TEST_F(KubeconfigOracle, OverridesOfTheCluster) {
  const std::string kServer = "https://localhost:8080";
  const OverrideEntry kEntries[] = {
      {"kube-client/24.1/21",
       {.server = kServer},
       {.disable_compression = true},
       {.server = kServer, .disable_compression = true}},
      {"kube-client/24.1/22",
       {.server = kServer, .certificate_authority_data = "CA"},
       {.insecure_skip_tls_verify = true},
       {.server = kServer, .insecure_skip_tls_verify = true}},
      {"kube-client/24.1/23",
       {.server = kServer, .certificate_authority_data = "CA"},
       {.certificate_authority = "/ca"},
       {.server = kServer, .certificate_authority = "/ca"}},
      {"kube-client/24.1/24",
       {.server = kServer, .tls_server_name = "before"},
       {.tls_server_name = "after"},
       {.server = kServer, .tls_server_name = "after"}},
      {"kube-client/24.1/24",
       {.server = kServer, .tls_server_name = "before"},
       {.server = "https://other"},
       {.server = "https://other"}},
      {"kube-client/24.1/34", {}, {}, {.server = "http://localhost:8080"}},
  };
  for (const OverrideEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    Kubeconfig config{.contexts = {{"clean", {.cluster = "clean"}}}, .current_context = "clean"};
    if (entry.file != KubeCluster()) config.clusters["clean"] = entry.file;
    const KubeCluster defaults = entry.file == KubeCluster()
                                     ? KubeCluster{.server = "http://localhost:8080"}
                                     : KubeCluster();
    const Result<KubeSelection> selection =
        SelectContext(config, {.cluster = entry.instead}, defaults);
    ASSERT_TRUE(selection.ok());
    EXPECT_EQ(selection->cluster.server, entry.result.server);
    EXPECT_EQ(selection->cluster, entry.result);
  }
}

TEST_F(KubeconfigOracle, OverridesOfTheUserAndTheNamespace) {
  {
    const oracle::Row row("kube-client/24.1/25");
    const Kubeconfig config =
        Parsed(One("{server: 'https://a'}",
                   "{as: alice, as-uid: abc123, as-groups: [group-1], as-user-extra: {some-key: "
                   "[some-value]}}"));
    const Result<KubeSelection> selection =
        SelectContext(config, {.cluster = {.server = "http://something"}});
    const Result<RestConfig> rest = ToRestConfig(*selection);
    ASSERT_TRUE(rest.ok());
    EXPECT_EQ(rest->host, "http://something");
    EXPECT_EQ(rest->impersonate_user, "alice");
    EXPECT_EQ(rest->impersonate_uid, "abc123");
    EXPECT_THAT(rest->impersonate_groups, ElementsAre("group-1"));
    EXPECT_THAT(rest->impersonate_extra.at("some-key"), ElementsAre("some-value"));
  }
  for (const char* ns : {"foo", ""}) {
    const oracle::Row row("kube-client/24.1/26");
    const Result<KubeSelection> selection =
        SelectContext(Parsed(One("{server: 'https://a'}", "{}")), {.context = {.ns = ns}});
    EXPECT_EQ(selection->ns_overridden, *ns != '\0');
    EXPECT_EQ(selection->ns, *ns != '\0' ? "foo" : "default");
  }
  struct Entry {
    KubeUser file;
    KubeUser instead;
    KubeUser result;
  };
  const Entry kEntries[] = {
      {{.client_certificate_data = "C", .client_key_data = "K"},
       {.client_certificate = "/c", .client_key = "/k"},
       {.client_certificate = "/c", .client_key = "/k"}},
      {{.client_certificate = "/c", .client_key = "/k"},
       {.client_certificate_data = "C", .client_key_data = "K"},
       {.client_certificate_data = "C", .client_key_data = "K"}},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.1/38");
    Kubeconfig config = Parsed(One("{server: 'https://a'}", "{}"));
    config.users["u"] = entry.file;
    EXPECT_EQ(SelectContext(config, {.user = entry.instead})->user, entry.result);
  }
}

TEST_F(KubeconfigOracle, ClientConfiguration) {
  {
    const oracle::Row row("kube-client/24.1/27");
    const Result<RestConfig> rest = ToRestConfig(*SelectContext(
        Parsed(One(
            StrCat("{server: 'https://a', certificate-authority-data: ", Base64Encode("CA"), "}"),
            StrCat("{client-certificate-data: ", Base64Encode("CERT"),
                   ", client-key-data: ", Base64Encode("KEY"), "}"))),
        {}));
    ASSERT_TRUE(rest.ok());
    EXPECT_EQ(rest->tls.ca_pem, "CA");
    EXPECT_EQ(rest->tls.client_certificate_pem, "CERT");
    EXPECT_EQ(rest->tls.client_key_pem, "KEY");
    EXPECT_EQ(rest->ca_file + rest->client_certificate_file + rest->client_key_file, "");
  }
  for (const char* url :
       {"", "socks5://example.com", "https://example.com:1080", "http://example.com"}) {
    const oracle::Row row("kube-client/24.1/28");
    const Result<KubeSelection> selection = SelectContext(
        Parsed(One(StrCat("{server: 'https://a', proxy-url: '", url, "'}"), "{}")), {});
    EXPECT_TRUE(ValidateSelection(*selection).ok()) << url;
    EXPECT_EQ(ToRestConfig(*selection)->proxy_url, url);
  }
  for (const char* url : {"socks6://example.com", "example.com", "chewbacca@example.com"}) {
    const oracle::Row row("kube-client/24.1/29");
    const Result<KubeSelection> selection = SelectContext(
        Parsed(One(StrCat("{server: 'https://a', proxy-url: '", url, "'}"), "{}")), {});
    EXPECT_THAT(ValidateSelection(*selection).message(), HasSubstr("invalid 'proxy-url'")) << url;
  }
  const auto rest_of_user = [](const std::string& user) {
    return ToRestConfig(*SelectContext(Parsed(One("{server: 'https://a'}", user)), {}));
  };
  {
    const oracle::Row row("kube-client/24.1/30");
    EXPECT_EQ(rest_of_user("{username: n, password: p}")->username, "n");
    EXPECT_EQ(rest_of_user("{username: n, password: p}")->password, "p");
  }
  const std::string token_file = folder_.Write("token", "exampletoken");
  {
    const oracle::Row row("kube-client/24.1/31");
    EXPECT_EQ(rest_of_user(StrCat("{tokenFile: ", token_file, "}"))->bearer_token, "exampletoken");
  }
  {
    const oracle::Row row("kube-client/24.1/32");
    EXPECT_EQ(rest_of_user(StrCat("{token: expected, tokenFile: ", token_file, "}"))->bearer_token,
              "expected");
  }
  for (const char* server :
       {"https://anything.com:8080/foo/bar", "http://anything.com:8080/foo/bar/",
        "http://anything.com:8080/", "http://anything.com:8080//", "anything.com:8080/foo/bar",
        "anything.com:8080", "anything.com", "anything"}) {
    const oracle::Row row("kube-client/24.1/33");
    EXPECT_EQ(ServerOf({.cluster = {.server = server}}), server);
  }
  for (const KubeCluster& defaults : {KubeCluster(), KubeCluster{.server = "http://a"}}) {
    const oracle::Row row("kube-client/24.1/35");
    const Result<KubeSelection> selection =
        SelectContext({.current_context = "not-present"}, {}, defaults);
    EXPECT_THAT(ValidateSelection(*selection).message(),
                HasSubstr("context was not found for specified context: not-present"));
  }
}

TEST_F(KubeconfigOracle, Plugins) {
  {
    const oracle::Row row("kube-client/24.1/36");
    EXPECT_EQ(CleanInstallHint("some install hint with \x1b[1mcontrol chars\x1b[0m\nand a newline"),
              "some install hint with U+001B[1mcontrol charsU+001B[0m\nand a newline");
    for (const char* unchanged :
         {"\n \r \t \v \f", "αβγΩ", "e\u0301", "0123٣", "!?…", "∑∫√", "\u2029", "\u2003"}) {
      EXPECT_EQ(CleanInstallHint(unchanged), unchanged);
    }
  }
  {
    const oracle::Row row("kube-client/24.1/37");
    const Kubeconfig config =
        Parsed(One("{server: 'https://a', extensions: [{name: client.authentication.k8s.io/exec, "
                   "extension: {audience: foo, other: bar}}]}",
                   "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: c, args: "
                   "[arg-1, arg-2], provideClusterInfo: true}}"));
    const Result<RestConfig> rest = ToRestConfig(*SelectContext(config, {}));
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_THAT(rest->exec->args, ElementsAre("arg-1", "arg-2"));
    EXPECT_TRUE(rest->exec->provide_cluster_info);
    EXPECT_EQ(rest->exec->cluster_config, R"({"audience":"foo","other":"bar"})");
  }
}

struct ValidationEntry {
  const char* row;
  Kubeconfig config;
  std::vector<std::string> problems;  // parts of the message; empty: valid
};

std::vector<ValidationEntry> ValidationEntries() {
  const auto user = [](std::string text) {
    return Parsed("users: [{name: error, user: " + text + "}]");
  };
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
  return {
      {"kube-client/24.1/39", {}, {"invalid configuration: no configuration has been provided"}},
      {"kube-client/24.1/41",
       {.current_context = "missing"},
       {"context was not found for specified "}},
      {"kube-client/24.1/42",
       Parsed("contexts: [{name: anything, context: {user: missing, cluster: missing}}]"),
       {"user \"missing\" was not found for context \"anything\"",
        "cluster \"missing\" was not found for context \"anything\""}},
      {"kube-client/24.1/43",
       Parsed("contexts: [{name: anything, context: {}}]"),
       {"user was not specified for context \"anything\"",
        "cluster was not specified for context \"anything\""}},
      {"kube-client/24.1/43",
       Parsed("contexts: [{name: '', context: {user: u, cluster: k}}]"),
       {"empty context name", "is not allowed"}},
      {"kube-client/24.1/44", {.clusters = {{"empty", {}}}}, {"cluster has no server defined"}},
      {"kube-client/24.1/45",
       user("{client-certificate: /missing/c, client-key: /missing/k}"),
       {"unable to read client-cert", "unable to read client-key"}},
      {"kube-client/24.1/46",
       user("{client-certificate: /c, client-certificate-data: Qw==, client-key: /k, "
            "client-key-data: Sw==}"),
       {"client-cert-data and client-cert are both specified",
        "client-key-data and client-key are both specified"}},
      {"kube-client/24.1/47",
       user("{token: t, username: n, password: p}"),
       {"more than one authentication method", "token", "basicAuth"}},
      {"kube-client/24.1/48",
       user("{exec: {command: c, interactiveMode: Never}}"),
       {"apiVersion must be specified for error"}},
      {"kube-client/24.1/48",
       user("{exec: {" + v1 + ", interactiveMode: Never}}"),
       {"command must be specified for error"}},
      {"kube-client/24.1/48",
       user("{exec: {" + v1 + ", command: c}}"),
       {"interactiveMode must be specified for error"}},
      {"kube-client/24.1/48",
       user("{exec: {" + v1 + ", command: c, interactiveMode: invalid}}"),
       {"invalid interactiveMode for error: \"invalid\""}},
      {"kube-client/24.1/48",
       user("{auth-provider: {name: p}, exec: {" + v1 + ", command: c, interactiveMode: Never}}"),
       {"authProvider cannot be provided in combination with an exec plugin for error"}},
      {"kube-client/24.1/48",
       user("{exec: {" + v1 + ", command: c, interactiveMode: Never, env: [{value: x}]}}"),
       {"env variable name must be specified for error"}},
      {"kube-client/24.1/48",
       user("{exec: {" + v1 + ", command: c, interactiveMode: Never, env: [{name: x}]}}"),
       {}},
      {"kube-client/24.1/49", user("{as: alice}"), {}},
      {"kube-client/24.1/49",
       user("{as: alice, as-uid: '1', as-groups: [g], as-user-extra: {k: [v]}}"),
       {}},
      {"kube-client/24.1/49",
       user("{as-groups: [g]}"),
       {"requesting uid, groups or user-extra for error without impersonating a user"}},
      {"kube-client/24.1/49",
       user("{as-user-extra: {k: [v]}}"),
       {"requesting uid, groups or user-extra for error without impersonating a user"}},
      {"kube-client/24.1/49",
       user("{as-uid: '1'}"),
       {"requesting uid, groups or user-extra for error without impersonating a user"}},
  };
}

TEST_F(KubeconfigOracle, Validation) {
  for (const ValidationEntry& entry : ValidationEntries()) {
    const oracle::Row row(entry.row);
    const Status status = ValidateKubeconfig(entry.config);
    EXPECT_EQ(status.ok(), entry.problems.empty()) << status.message();
    for (const std::string& problem : entry.problems) {
      EXPECT_THAT(status.message(), HasSubstr(problem));
    }
  }
  {
    const oracle::Row row("kube-client/24.1/39");
    EXPECT_TRUE(IsEmptyConfig(ValidateContext({}, "not-here")));
  }
  {
    const oracle::Row row("kube-client/24.1/40");
    const Kubeconfig config = Parsed(
        "clusters: [{name: good, cluster: {server: a}}, {name: bad, cluster: {server: b, "
        "certificate-authority: /missing/ca}}]\nusers: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: clean, context: {cluster: good, user: u}}, {name: dirty, context: "
        "{cluster: bad, user: u}}]");
    EXPECT_TRUE(ValidateContext(config, "clean").ok());
    EXPECT_THAT(ValidateContext(config, "dirty").message(),
                HasSubstr("unable to read certificate-authority"));
  }
  {
    const oracle::Row row("kube-client/24.1/41");
    EXPECT_THAT(ValidateContext(Parsed("users: [{name: u}]"), "missing").message(),
                HasSubstr("context was not found for specified "));
  }
}

}  // namespace
}  // namespace csinative::kube
