// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "test/support/certs.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A folder of its own, gone with the test.
class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string name = std::filesystem::temp_directory_path() / "config_test.XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~ConfigTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path.string();
  }
  Result<RestConfig> Load(const std::string& master, const std::string& kubeconfig) {
    return LoadConfig({.master = master,
                       .kubeconfig = kubeconfig,
                       .getenv = [this](const std::string& name) -> std::optional<std::string> {
                         auto it = environment_.find(name);
                         if (it == environment_.end()) return std::nullopt;
                         return it->second;
                       },
                       .service_account_dir = (dir_ / "sa").string()},
                      log::NewLogger(output_));
  }
  Result<RestConfig> LoadText(const std::string& content) {
    return Load("", Write("kubeconfig", content));
  }
  // The failure for this kubeconfig, "" if there is none.
  std::string Problem(const std::string& content) { return LoadText(content).status().message(); }
  // A kubeconfig with one context of the given cluster and user bodies (flow style YAML).
  static std::string One(const std::string& cluster, const std::string& user) {
    return StrCat("clusters: [{name: k, cluster: ", cluster, "}]\nusers: [{name: u, user: ", user,
                  "}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n",
                  "current-context: c\n");
  }

  std::filesystem::path dir_;
  std::map<std::string, std::string> environment_;
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
};

TEST_F(ConfigTest, EverythingInlineIsTakenOver) {
  const Result<RestConfig> config =
      LoadText(StrCat("apiVersion: v1\nkind: Config\nunknown: {a: [1]}\n"
                      "clusters:\n- name: k\n  cluster:\n    server: https://10.0.0.1:6443/base/\n"
                      "    certificate-authority-data: ",
                      Base64Encode("CA"),
                      "\n    tls-server-name: api.example\n    disable-compression: true\n"
                      "users:\n- name: u\n  user:\n    client-certificate-data: ",
                      Base64Encode("CERT"), "\n    client-key-data: ", Base64Encode("KEY"),
                      "\n    as: alice\n    as-uid: abc\n    as-groups: [g1, g2]\n"
                      "    as-user-extra: {k: [v1, v2]}\n"
                      "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n"
                      "current-context: c\n"));
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->host, "https://10.0.0.1:6443");
  EXPECT_EQ(config->path_prefix, "/base");
  EXPECT_EQ(config->tls.ca_pem, "CA");
  EXPECT_EQ(config->tls.client_certificate_pem, "CERT");
  EXPECT_EQ(config->tls.client_key_pem, "KEY");
  EXPECT_EQ(config->tls.server_name, "api.example");
  EXPECT_TRUE(config->disable_compression);
  EXPECT_EQ(config->impersonate_user, "alice");
  EXPECT_THAT(config->impersonate_groups, ElementsAre("g1", "g2"));
  EXPECT_THAT(config->impersonate_extra, ElementsAre(Pair("k", ElementsAre("v1", "v2"))));
  EXPECT_EQ(config->ns, "n");
}

TEST_F(ConfigTest, JsonIsUnderstoodToo) {
  const Result<RestConfig> config =
      LoadText(R"({"clusters":[{"name":"k","cluster":{"server":"https://a"}}],)"
               R"("contexts":[{"name":"c","context":{"cluster":"k"}}],"current-context":"c"})");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->host, "https://a");
  EXPECT_EQ(config->ns, "default");
}

// kube-client 24.1 K1, K4, K5, K9 and common 6.
TEST_F(ConfigTest, UnusableFilesAreNamed) {
  EXPECT_EQ(Load("", "/no/such/file").status().message(),
            "stat /no/such/file: no such file or directory");
  EXPECT_EQ(Load("", dir_.string()).status().message(),
            StrCat("error loading config file \"", dir_.string(), "\": read ", dir_.string(),
                   ": is a directory"));
  const std::string path = Write("kubeconfig", "bogus value");
  EXPECT_THAT(Load("", path).status().message(),
              HasSubstr(StrCat("error loading config file \"", path, "\": yaml: ")));
  EXPECT_THAT(Problem("a: [\n"), HasSubstr("yaml: line"));
  EXPECT_THAT(Problem("clusters: 5"), HasSubstr("clusters is not a list"));
  EXPECT_THAT(Problem("clusters: [{name: k, cluster: {server: [1]}}]"),
              HasSubstr("clusters[0].cluster.server is not a string"));
  EXPECT_THAT(Problem("users: [{name: u}, {name: u}]"),
              HasSubstr("error converting *[]NamedAuthInfo into *map[string]*api.AuthInfo: "
                        "duplicate name \"u\" in list"));
  EXPECT_THAT(Problem("kind: Pod\napiVersion: v1"),
              HasSubstr("no kind \"Pod\" is registered for version \"v1\""));
}

// K11, K12.
TEST_F(ConfigTest, RelativePathsStartAtTheFile) {
  Write("certs/client.crt", "C");
  Write("certs/client.key", "K");
  Write("ca.crt", "A");
  const std::string path =
      Write("sub/kubeconfig", One("{server: https://a, certificate-authority: ../ca.crt}",
                                  StrCat("{client-certificate: ../certs/client.crt, client-key: ",
                                         (dir_ / "certs/client.key").string(), "}")));
  const Result<RestConfig> config = Load("", path);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->ca_file, (dir_ / "ca.crt").string());
  EXPECT_EQ(config->client_certificate_file, (dir_ / "certs/client.crt").string());
  EXPECT_EQ(config->client_key_file, (dir_ / "certs/client.key").string());
}

// V1, V3, V6 and common 6.
TEST_F(ConfigTest, MissingPiecesOfTheConfiguration) {
  const std::string nothing =
      "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
      "environment variable";
  EXPECT_EQ(Problem(""), nothing);
  EXPECT_EQ(Problem("clusters: []"), nothing);
  EXPECT_EQ(Problem("current-context: x"),
            "invalid configuration: [context was not found for specified context: x, cluster has "
            "no server defined]");
  EXPECT_EQ(Problem(One("{insecure-skip-tls-verify: true}", "{}")),
            "invalid configuration: no server found for cluster \"k\"");
}

// V2, V7 to V11.
TEST_F(ConfigTest, InvalidEntriesAreAllListed) {
  EXPECT_EQ(Problem(One("{server: https://a}", "{client-certificate: /no/c, client-key: /no/k}")),
            "invalid configuration: [unable to read client-cert /no/c for u due to open /no/c: no "
            "such file or directory, unable to read client-key /no/k for u due to open /no/k: no "
            "such file or directory]");
  EXPECT_EQ(Problem(One("{server: https://a, certificate-authority: /no/ca}", "{}")),
            "invalid configuration: unable to read certificate-authority /no/ca for k due to open "
            "/no/ca: no such file or directory");
  EXPECT_THAT(Problem(One("{server: https://a}", "{token: t, username: n}")),
              HasSubstr("more than one authentication method found for u; found [token basicAuth], "
                        "only one is allowed"));
  EXPECT_THAT(Problem(One("{server: https://a}", "{as-uid: x}")),
              HasSubstr("requesting uid, groups or user-extra for u without impersonating a user"));
  EXPECT_THAT(Problem(One("{server: https://a}", "{client-certificate-data: QQ==}")),
              HasSubstr("client-key-data or client-key must be specified for u to use the "
                        "clientCert authentication method."));
  EXPECT_THAT(Problem(One("{server: https://a, proxy-url: 'socks6://x'}", "{}")),
              HasSubstr("invalid 'proxy-url' \"socks6://x\" for cluster \"k\": unsupported scheme "
                        "\"socks6\", must be http, https, or socks5"));
  EXPECT_THAT(Problem(One("{server: https://a}", "{exec: {apiVersion: v1}}")),
              HasSubstr("[command must be specified for u"));
  EXPECT_THAT(Problem(One("{server: https://a}", "{client-key-data: '*'}")),
              HasSubstr("illegal base64 data"));
}

TEST_F(ConfigTest, OnlyTheSelectedContextIsLookedAt) {
  EXPECT_EQ(Problem(One("{server: https://a}", "{}") + "extensions: []\npreferences: {}\n"), "");
  EXPECT_TRUE(LoadText("clusters: [{name: k, cluster: {server: https://a}}, {name: bad, cluster: "
                       "{certificate-authority: /no}}]\ncontexts: [{name: c, context: {cluster: "
                       "k, user: nobody}}]\ncurrent-context: c")
                  .ok());
}

TEST_F(ConfigTest, UnsupportedCredentialsSaySo) {
  EXPECT_EQ(Problem(One("{server: https://a}",
                        "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}")),
            "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"");
  EXPECT_EQ(Problem(One("{server: https://a}", "{auth-provider: {name: gcp}}")),
            "no Auth Provider found for name \"gcp\"");
  // A token keeps the plugin from being asked.
  EXPECT_EQ(Problem(One("{server: https://a}",
                        "{token: t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                        "command: x}}")),
            "");
}

// C10 to C13.
TEST_F(ConfigTest, TokensAndTheirFiles) {
  const std::string token_file = Write("token", "from-file\n");
  Result<RestConfig> config =
      LoadText(One("{server: https://a}", StrCat("{tokenFile: ", token_file, "}")));
  EXPECT_EQ(config->bearer_token, "from-file\n");
  EXPECT_EQ(config->bearer_token_file, token_file);
  config = LoadText(One("{server: https://a}", StrCat("{token: t, tokenFile: ", token_file, "}")));
  EXPECT_EQ(config->bearer_token, "t");
  EXPECT_EQ(Problem(One("{server: https://a}", "{tokenFile: /no/t}")),
            "open /no/t: no such file or directory");
}

TEST_F(ConfigTest, PlainHttpGetsNoCredentials) {
  for (const char* server : {"http://a:80", "a:80"}) {
    const Result<RestConfig> config =
        LoadText(One(StrCat("{server: '", server, "', insecure-skip-tls-verify: true}"),
                     "{token: t, as: alice}"));
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->host, "http://a:80");
    EXPECT_EQ(config->bearer_token, "");
    EXPECT_FALSE(config->tls.insecure_skip_verify);
    EXPECT_EQ(config->impersonate_user, "alice");
  }
}

// H1.
TEST_F(ConfigTest, ServerForms) {
  EXPECT_EQ(Load("127.0.0.1", "")->host, "http://127.0.0.1");
  EXPECT_EQ(Load("https://h:1//p/q/?x=1", "")->path_prefix, "//p/q");
  EXPECT_EQ(Load("host/server", "").status().message(),
            "host must be a URL or a host:port pair: \"host/server\"");
}

TEST_F(ConfigTest, MasterReplacesTheServerAndItsName) {
  const std::string path =
      Write("kubeconfig", One("{server: https://a, tls-server-name: n}", "{}"));
  const Result<RestConfig> config = Load("https://b", path);
  EXPECT_EQ(config->host, "https://b");
  EXPECT_EQ(config->tls.server_name, "");
}

class InClusterTest : public ConfigTest {
 protected:
  InClusterTest() {
    environment_ = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  }
  void WriteServiceAccount() {
    Write("sa/token", "tok");
    Write("sa/ca.crt", testing::CertificateAuthority().certificate_pem());
  }
};

TEST_F(InClusterTest, ComesFromTheServiceAccount) {
  WriteServiceAccount();
  Write("sa/namespace", "team\n");
  const Result<RestConfig> config = Load("", "");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->host, "https://10.0.0.1:443");
  EXPECT_EQ(config->bearer_token, "tok");
  EXPECT_EQ(config->bearer_token_file, (dir_ / "sa/token").string());
  EXPECT_EQ(config->ca_file, (dir_ / "sa/ca.crt").string());
  EXPECT_EQ(config->ns, "team");
  environment_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  EXPECT_EQ(Load("", "")->host, "https://[fd00::1]:443");
}

TEST_F(InClusterTest, FailuresHaveTheKnownTexts) {
  EXPECT_EQ(Load("", "").status().message(),
            StrCat("open ", (dir_ / "sa/token").string(), ": no such file or directory"));
  environment_.erase("KUBERNETES_SERVICE_PORT");
  EXPECT_EQ(Load("", "").status().message(),
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
            "KUBERNETES_SERVICE_PORT must be defined");
}

TEST_F(InClusterTest, BadAuthorityIsLoggedAndLeftOut) {
  WriteServiceAccount();
  Write("sa/ca.crt", "panda");
  const Result<RestConfig> config = Load("", "");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->ca_file, "");
  EXPECT_THAT(output_->Last(), HasSubstr("Expected to load root CA config"));
}

TEST_F(InClusterTest, MasterAloneKeepsTheCredentials) {
  WriteServiceAccount();
  const Result<RestConfig> config = Load("https://other:1", "");
  EXPECT_EQ(config->host, "https://other:1");
  EXPECT_EQ(config->bearer_token, "tok");
}

TEST_F(InClusterTest, ProxyOfTheEnvironmentIsUsed) {
  WriteServiceAccount();
  environment_["HTTPS_PROXY"] = "proxy:3128";
  EXPECT_EQ(Load("", "")->proxy_url, "http://proxy:3128");
  environment_["NO_PROXY"] = "10.0.0.0/8";
  EXPECT_EQ(Load("", "")->proxy_url, "");
}

}  // namespace
}  // namespace csinative::kube
