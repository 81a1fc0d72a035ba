// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.1, D and H: files or in-cluster, and the forms of a server's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "apis/k8s.h"
#include "lib/base/strings.h"
#include "lib/kube/config.h"
#include "lib/kube/request.h"
#include "test/support/certs.h"
#include "test/support/oracle.h"
#include "test/unit/kube/temp_folder.h"

namespace csinative::kube {
namespace {

using ::testing::HasSubstr;

class ConfigOracle : public ::testing::Test {
 protected:
  ConfigOracle() {
    folder_.Write("sa/token", "in-cluster-token");
    folder_.Write("sa/namespace", "icc");
    folder_.Write("sa/ca.crt", testing::CertificateAuthority().certificate_pem());
    Inside(true);
  }
  // Whether the environment is a pod's.
  void Inside(bool inside) {
    environment_.clear();
    if (!inside) return;
    environment_ = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  }
  // A loader of the file with that content, or of none.
  DeferredConfig Deferred(const std::string& content) {
    DeferredConfig config;
    if (!content.empty()) config.rules.precedence = {folder_.Write("kubeconfig", content)};
    config.in_cluster.service_account_dir = folder_.Path("sa");
    config.in_cluster.getenv = [this](const std::string& name) -> std::optional<std::string> {
      const auto it = environment_.find(name);
      if (it == environment_.end()) return std::nullopt;
      return it->second;
    };
    return config;
  }
  static Result<RestConfig> Load(const DeferredConfig& config) {
    return LoadDeferredConfig(config, {});
  }

  const std::string kFile =
      "clusters: [{name: k, cluster: {server: 'https://file'}}]\nusers: [{name: u, user: {token: "
      "file-token}}]\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: NS}}]\n"
      "current-context: c\n";
  testing::TempFolder folder_;
  std::map<std::string, std::string> environment_;
};

TEST_F(ConfigOracle, InClusterWhenThereIsNothingElse) {
  {
    const oracle::Row row("kube-client/24.1/50");
    EXPECT_EQ(Load(Deferred(""))->host, "https://10.0.0.1:443");
    EXPECT_EQ(Load(Deferred(""))->bearer_token, "in-cluster-token");
    Inside(false);
    EXPECT_TRUE(IsEmptyConfig(Load(Deferred("")).status()));
    // Possible as far as one can see, and then the token cannot be read.
    Inside(true);
    DeferredConfig failing = Deferred("");
    folder_.Write("broken/token", "");
    std::filesystem::remove(folder_.path() / "broken/token");
    std::filesystem::create_symlink("/proc/self/mem", folder_.path() / "broken/token");
    failing.in_cluster.service_account_dir = folder_.Path("broken");
    const Result<RestConfig> failed = Load(failing);
    EXPECT_THAT(failed.status().message(), HasSubstr(folder_.Path("broken/token")));
  }
  {
    const oracle::Row row("kube-client/24.1/51");
    EXPECT_FALSE(Load(Deferred("current-context: not-there")).ok());
    EXPECT_THAT(Load(Deferred("[")).status().message(), HasSubstr("error loading config file"));
  }
  struct Entry {
    const char* name;
    std::optional<RestConfig> default_config;
    std::string file;
    std::string host;
  };
  RestConfig file_result = *Load(Deferred(kFile));
  const Entry kEntries[] = {
      {"equal to the default", file_result, kFile, "https://10.0.0.1:443"},
      {"another than the default", RestConfig{.host = "https://default"}, kFile, "https://file"},
      {"the default is of no use", std::nullopt, kFile, "https://file"},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.1/52");
    DeferredConfig config = Deferred(entry.file);
    config.default_config = entry.default_config;
    EXPECT_EQ(Load(config)->host, entry.host) << entry.name;
  }
}

TEST_F(ConfigOracle, OverridesInCluster) {
  const std::string kOwnHost = "https://10.0.0.1:443";
  const std::string kOwnToken = "in-cluster-token";
  const std::string kOwnFile = folder_.Path("sa/token");
  const std::string kOwnCa = folder_.Path("sa/ca.crt");
  struct Entry {
    KubeOverrides overrides;
    std::string host;
    std::string token;
    std::string token_file;
    std::string ca_file;
  };
  const Entry kEntries[] = {
      {{.cluster = {.server = "https://host-from-overrides.com"}},
       "https://host-from-overrides.com",
       kOwnToken,
       kOwnFile,
       kOwnCa},
      {{.user = {.token = "token-from-override"}}, kOwnHost, "token-from-override", "", kOwnCa},
      {{.cluster = {.certificate_authority = "/path/ca"}},
       kOwnHost,
       kOwnToken,
       kOwnFile,
       "/path/ca"},
      {{.cluster = {.server = "https://h", .certificate_authority = "/path/ca"},
        .user = {.token = "t"}},
       "https://h",
       "t",
       "",
       "/path/ca"},
      {{.user = {.token = "t", .token_file = "/f"}}, kOwnHost, "t", "/f", kOwnCa},
      {{.user = {.token_file = "/f"}}, kOwnHost, "", "/f", kOwnCa},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.1/53");
    const Result<RestConfig> config = InClusterUnder(Deferred("").in_cluster, entry.overrides, {});
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config->host, entry.host);
    EXPECT_EQ(config->bearer_token, entry.token);
    EXPECT_EQ(config->bearer_token_file, entry.token_file);
    EXPECT_EQ(config->ca_file, entry.ca_file);
  }
}

TEST_F(ConfigOracle, Namespace) {
  struct Entry {
    std::string ns;
    std::string result;
  };
  const Entry kEntries[] = {{"default", "default"}, {"other", "other"}, {"''", "icc"}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.1/54");
    EXPECT_EQ(*DeferredNamespace(Deferred(ReplaceAll(kFile, "NS", entry.ns)), {}), entry.result);
  }
}

TEST_F(ConfigOracle, FormsOfAServer) {
  struct Entry {
    const char* server;
    const char* url;  // of the nodes
  };
  const Entry kEntries[] = {{"127.0.0.1", "http://127.0.0.1/api/v1/nodes"},
                            {"127.0.0.1:8080", "http://127.0.0.1:8080/api/v1/nodes"},
                            {"foo.bar.com", "http://foo.bar.com/api/v1/nodes"},
                            {"http://host/prefix", "http://host/prefix/api/v1/nodes"},
                            {"http://host", "http://host/api/v1/nodes"},
                            {"http://host/", "http://host/api/v1/nodes"},
                            {"http://host/other", "http://host/other/api/v1/nodes"}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.1/55");
    const Result<ServerUrl> url = ParseServer(entry.server, TlsSettings::kAbsent);
    ASSERT_TRUE(url.ok()) << entry.server;
    EXPECT_EQ(StrCat(url->origin, url->path, *BuildPath("GET", ResourceOf<core::Node>(), {}, "")),
              entry.url);
  }
  {
    const oracle::Row row("kube-client/24.1/55");
    EXPECT_FALSE(ParseServer("host/server", TlsSettings::kAbsent).ok());
  }
  struct TlsEntry {
    const char* server;
    TlsSettings settings;
    bool tls;
  };
  const TlsEntry kTlsEntries[] = {{"", TlsSettings::kAbsent, false},
                                  {"https://localhost", TlsSettings::kAbsent, true},
                                  {"localhost", TlsSettings::kPresent, true},
                                  {"///:://localhost", TlsSettings::kPresent, false},
                                  {"1.2.3.4:567", TlsSettings::kPresent, true}};
  for (const TlsEntry& entry : kTlsEntries) {
    const oracle::Row row("kube-client/24.1/56");
    EXPECT_EQ(UsesTls(entry.server, entry.settings), entry.tls) << entry.server;
  }
}

}  // namespace
}  // namespace csinative::kube
