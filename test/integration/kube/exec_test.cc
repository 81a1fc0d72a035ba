// SPDX-License-Identifier: Apache-2.0
//
// Credential plugins as programs, against a server that knows good credentials from bad ones
// (kube-client 5, 24.3).
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "apis/k8s.h"
#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "test/integration/kube/api_fixture.h"
#include "test/support/certs.h"
#include "test/support/oracle.h"

namespace csinative::kube {
namespace {

using ::testing::HasSubstr;

class ExecTest : public ApiFixture {
 protected:
  // A client whose credentials are what `plugin` prints: the content of the file "answer".
  Client& ExecClient(const std::string& more = "") {
    const std::string plugin = Write("plugin.sh", StrCat("#!/bin/sh\ncat ", Answer(), "\n"));
    ::chmod(plugin.c_str(), 0755);
    return NewClient(
        {.qps = -1},
        StrCat("clusters: [{name: k, cluster: {server: '", server_.url(),
               "', certificate-authority-data: ", Base64Encode(server_.ca_pem()),
               "}}]\nusers: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
               "command: ./plugin.sh, interactiveMode: Never",
               more, "}}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n",
               "current-context: c\n"));
  }
  std::string Answer() const { return (dir_ / "answer").string(); }
  void Print(const std::string& status) {
    Write("answer", StrCat(R"({"kind":"ExecCredential","apiVersion":)"
                           R"("client.authentication.k8s.io/v1","status":{)",
                           status, "}}"));
  }
  void PrintToken(const std::string& token) { Print(StrCat(R"("token":")", token, "\"")); }
  void PrintCertificate(const std::string& certificate, const std::string& key) {
    // Expired at once, so that each request asks again.
    Print(StrCat(R"("expirationTimestamp":"2001-01-01T00:00:00Z","clientCertificateData":")",
                 ReplaceAll(certificate, "\n", "\\n"), R"(","clientKeyData":")",
                 ReplaceAll(key, "\n", "\\n"), "\""));
  }
  Status Ask(Client& client) { return Run(client.Get<core::Namespace>({"", "default"})).status(); }
};

TEST_F(ExecTest, RejectedTokenIsReplacedForTheNextRequest) {
  const oracle::Row row("kube-client/24.3/10");
  PrintToken("token1");
  Client& client = ExecClient();
  EXPECT_TRUE(IsUnauthorized(Ask(client)));
  PrintToken(server_.admin_token());
  // The 401 that showed that the cached token is no good is the caller's.
  EXPECT_TRUE(Ask(client).ok());
  PrintToken("not asked for");
  EXPECT_TRUE(Ask(client).ok());
}

TEST_F(ExecTest, CertificatesComeAndGo) {
  const oracle::Row row("kube-client/24.3/13");
  const Result<apiserver::KeyPair> good = server_.ClientCertificate("plugged", {"system:masters"});
  const testing::KeyPair bad =
      testing::CertificateAuthority("nobody's")
          .IssueClient({.common_name = "plugged", .organizations = {"system:masters"}});
  PrintCertificate(good->certificate_pem, good->key_pem);
  Client& client = ExecClient();
  const Status first = Ask(client);
  ASSERT_TRUE(first.ok()) << first.ToString();
  EXPECT_EQ(api().log().back().user, "plugged");
  PrintCertificate(bad.certificate_pem, bad.key_pem);
  EXPECT_FALSE(Ask(client).ok());
  PrintCertificate(good->certificate_pem, good->key_pem);
  EXPECT_TRUE(Ask(client).ok());
  EXPECT_EQ(api().log().back().user, "plugged");
}

TEST_F(ExecTest, ExpiredCredentialsAreAskedForAgain) {
  Print(StrCat(R"("token":"wrong","expirationTimestamp":"2001-01-01T00:00:00Z")"));
  Client& client = ExecClient();
  EXPECT_TRUE(IsUnauthorized(Ask(client)));
  Print(StrCat(R"("token":")", server_.admin_token(),
               R"(","expirationTimestamp":"2001-01-01T00:00:00Z")"));
  EXPECT_TRUE(Ask(client).ok());
  Print(StrCat(R"("token":"wrong again","expirationTimestamp":"2001-01-01T00:00:00Z")"));
  EXPECT_TRUE(IsUnauthorized(Ask(client))) << "not cached";
}

TEST_F(ExecTest, PluginSeesItsVariablesAndTheCluster) {
  const std::string seen = (dir_ / "seen").string();
  PrintToken(server_.admin_token());
  Client& client = ExecClient(", env: [{name: WHERE, value: here}], provideClusterInfo: true");
  Write("plugin.sh", StrCat("#!/bin/sh\nprintf '%s ' \"$WHERE\" \"$KUBERNETES_EXEC_INFO\" > ", seen,
                            "\ncat ", Answer(), "\n"));
  EXPECT_TRUE(Ask(client).ok());
  const std::string text = *ReadFile(seen);
  EXPECT_THAT(text, HasSubstr("here "));
  EXPECT_THAT(text, HasSubstr(StrCat("\"server\":\"", server_.url(), "\"")));
  EXPECT_THAT(text, HasSubstr(Base64Encode(server_.ca_pem())));
}

TEST_F(ExecTest, MissingPluginFailsTheRequestOnly) {
  Client& client = ExecClient();
  std::filesystem::remove(dir_ / "plugin.sh");
  EXPECT_THAT(Ask(client).message(), HasSubstr("getting credentials: exec: executable "));
  EXPECT_THAT(Ask(client).message(), HasSubstr("plugin.sh not found"));
}

// kube-client 24.2 L2.
TEST_F(ExecTest, LogOfRequestsByVerbosity) {
  struct Entry {
    int verbosity;
    size_t responses;
    size_t requests;
    size_t headers;
    size_t curl;
  };
  const Entry kEntries[] = {
      {5, 0, 0, 0, 0}, {6, 1, 0, 0, 0}, {7, 1, 1, 0, 0}, {8, 1, 1, 1, 0}, {9, 1, 1, 1, 1}};
  Client& client = NewClient();
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.2/13");
    log_.backend()->SetVerbosity(entry.verbosity);
    output_->Clear();
    EXPECT_TRUE(Ask(client).ok());
    size_t responses = 0;
    size_t requests = 0;
    size_t headers = 0;
    size_t curl = 0;
    for (const std::string& record : output_->Records()) {
      if (record.find("] \"Response\"") != std::string::npos) {
        ++responses;
        for (const char* part : {"verb=\"GET\"", "url=\"https://", "status=200", "milliseconds="}) {
          EXPECT_THAT(record, HasSubstr(part));
        }
      }
      if (record.find("] \"Request\"") != std::string::npos) ++requests;
      if (record.find("] \"Response headers\"") != std::string::npos) ++headers;
      if (record.find("curlCommand=") != std::string::npos) ++curl;
      EXPECT_EQ(record.find(server_.admin_token()), std::string::npos) << record;
    }
    EXPECT_EQ(responses, entry.responses) << entry.verbosity;
    EXPECT_EQ(requests, entry.requests) << entry.verbosity;
    EXPECT_EQ(headers, entry.headers) << entry.verbosity;
    EXPECT_EQ(curl, entry.curl) << entry.verbosity;
  }
}

}  // namespace
}  // namespace csinative::kube
