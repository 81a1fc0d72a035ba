// SPDX-License-Identifier: Apache-2.0
//
// Certificates that are replaced while the transport runs (kube-client 4.3, 4.4).
#include <gmock/gmock.h>

#include "apis/k8s.h"
#include "lib/base/strings.h"
#include "lib/kube/http_transport.h"
#include "test/integration/kube/api_fixture.h"
#include "test/support/certs.h"
#include "test/support/oracle.h"

namespace csinative::kube {
namespace {

using ::testing::HasSubstr;

class RotationTest : public ApiFixture {
 protected:
  // A client that looks at the files before each request.
  Client& ClientFor(RestConfig config) {
    config.host = server_.url();
    Result<std::unique_ptr<ApiTransport>> transport = NewHttpTransport(
        loop_, std::move(config), "test", log_,
        {.ages = {.authorities = Duration::zero(), .client_certificate = Duration::zero()}});
    EXPECT_TRUE(transport.ok()) << transport.status().ToString();
    transports_.push_back(*std::move(transport));
    clients_.push_back(*Client::Create(loop_, *random_, *transports_.back(), log_, {.qps = -1}));
    return *clients_.back();
  }
  void WriteClientCertificate(const std::string& user) {
    const Result<apiserver::KeyPair> pair = server_.ClientCertificate(user, {});
    ASSERT_TRUE(pair.ok());
    Write("client.crt", pair->certificate_pem);
    Write("client.key", pair->key_pem);
  }
  static Status Ask(RotationTest* test, Client& client) {
    return test->Run(client.Get<core::Namespace>({"", "default"})).status();
  }
};

TEST_F(RotationTest, ReplacedAuthorityIsTrustedWithoutARestart) {
  const std::string ca_file =
      Write("ca", testing::CertificateAuthority("before").certificate_pem());
  Client& client = ClientFor({.ca_file = ca_file, .bearer_token = server_.admin_token()});
  const Status before = Ask(this, client);
  ASSERT_NE(before.transport_error(), nullptr);
  EXPECT_EQ(before.transport_error()->kind, TransportError::Kind::kTls);
  Write("ca", server_.ca_pem());
  EXPECT_TRUE(Ask(this, client).ok());
  // A file that is being written is not used.
  Write("ca", "");
  EXPECT_TRUE(Ask(this, client).ok());
}

// The same with the gate off: what was read first is what counts.
TEST_F(RotationTest, AuthoritiesThatMayNotChangeDoNot) {
  const oracle::Row row("kube-client/24.2/20");
  const std::string ca_file =
      Write("ca", testing::CertificateAuthority("before").certificate_pem());
  Client& reloading = ClientFor({.ca_file = ca_file, .bearer_token = server_.admin_token()});
  Client& fixed =
      ClientFor({.ca_file = ca_file, .bearer_token = server_.admin_token(), .reload_ca = false});
  EXPECT_FALSE(Ask(this, reloading).ok());
  EXPECT_FALSE(Ask(this, fixed).ok());
  Write("ca", server_.ca_pem());
  EXPECT_TRUE(Ask(this, reloading).ok());
  EXPECT_FALSE(Ask(this, fixed).ok());
}

TEST_F(RotationTest, EmptyAuthorityFileTrustsNobody) {
  const std::string ca_file = Write("ca", "");
  Client& client = ClientFor({.ca_file = ca_file, .bearer_token = server_.admin_token()});
  EXPECT_THAT(Ask(this, client).message(),
              HasSubstr("x509: certificate signed by unknown authority"));
  Write("ca", server_.ca_pem());
  EXPECT_TRUE(Ask(this, client).ok());
}

TEST_F(RotationTest, ReplacedClientCertificateEndsOpenWatches) {
  WriteClientCertificate("first");
  Client& client = ClientFor({.ca_file = Write("ca", server_.ca_pem()),
                              .client_certificate_file = (dir_ / "client.crt").string(),
                              .client_key_file = (dir_ / "client.key").string()});
  Result<std::unique_ptr<ApiStream>> watch =
      Run(client.OpenStream(&ResourceOf<core::Node>(), "", {{"watch", "true"}}));
  ASSERT_TRUE(watch.ok()) << watch.status().ToString();

  // Whoever reads the watch is woken when another request finds the new files.
  Status ended;
  async::Scope scope(loop_);
  scope.Spawn([](ApiStream* stream, Status* out) -> async::Task<void> {
    Result<std::string> bytes = co_await stream->Read();
    *out = bytes.status();
  }(watch->get(), &ended));
  WriteClientCertificate("second");
  EXPECT_TRUE(Ask(this, client).ok());
  EXPECT_EQ(api().log().back().user, "second");
  Run(scope.Join());
  ASSERT_NE(ended.transport_error(), nullptr) << ended.ToString();
  EXPECT_EQ(ended.transport_error()->kind, TransportError::Kind::kReset);
  EXPECT_FALSE(Run((*watch)->Read()).ok());
}

}  // namespace
}  // namespace csinative::kube
