// SPDX-License-Identifier: Apache-2.0
//
// Trust, names and client certificates.
#include "lib/http/listen.h"
#include "test/unit/http/transport_fixture.h"

namespace csinative::http {
namespace {

using csinative::testing::CertificateAuthority;
using csinative::testing::CertificateOptions;
using csinative::testing::KeyPair;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class TransportTlsTest : public TransportFixture {
 protected:
  void ServeTls(const CertificateOptions& options,
                ServerTls::ClientCertificate client = ServerTls::ClientCertificate::kOptional) {
    const KeyPair pair = ca_.IssueServer(options);
    Serve(
        [this](ServerRequest request, ResponseWriter* writer) {
          requests_.push_back(request);
          return SendAnswer({.status = 200, .body = "secret"}, writer);
        },
        {.address = "127.0.0.1:0",
         .tls = ServerTls{.certificate_pem = pair.certificate_pem,
                          .key_pem = pair.key_pem,
                          .client_ca_pem = ca_.certificate_pem(),
                          .client_certificate = client}});
  }
  // The outcome of one GET with that configuration.
  Status Try(TlsConfig tls, const std::string& host = "127.0.0.1") {
    Connect({.base_url = StrCat("https://", host, ":", server_->port()), .tls = std::move(tls)});
    return Get("/").status();
  }
  TlsConfig Trusting() const { return {.ca_pem = ca_.certificate_pem()}; }

  CertificateAuthority ca_;
};

TEST_P(TransportTlsTest, IpAddressIsVerifiedAgainstTheCertificate) {
  ServeTls({.common_name = "s", .names = {"127.0.0.1"}});
  EXPECT_TRUE(Try(Trusting()).ok()) << Try(Trusting()).ToString();
}

TEST_P(TransportTlsTest, HostNameIsVerifiedAgainstTheCertificate) {
  ServeTls({.common_name = "s", .names = {"localhost"}});
  EXPECT_TRUE(Try(Trusting(), "localhost").ok()) << Try(Trusting(), "localhost").ToString();
}

TEST_P(TransportTlsTest, ConnectionIsKeptOverTls) {
  ServeTls({.common_name = "s", .names = {"127.0.0.1"}});
  EXPECT_TRUE(Try(Trusting()).ok());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Get("/").ok());
  std::set<std::string> peers;
  for (const ServerRequest& request : requests_) peers.insert(request.peer);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_P(TransportTlsTest, OtherAuthorityIsNotTrusted) {
  ServeTls({.common_name = "s", .names = {"127.0.0.1"}});
  const CertificateAuthority other;
  Status status = Try({.ca_pem = other.certificate_pem()});
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTls);
  EXPECT_EQ(status.message(),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority");
  EXPECT_TRUE(requests_.empty());
}

TEST_P(TransportTlsTest, WithoutAuthorityOnlyTheSystemsAreTrusted) {
  ServeTls({.common_name = "s", .names = {"127.0.0.1"}});
  EXPECT_EQ(KindOfFailure(Try({})), TransportError::Kind::kTls);
}

TEST_P(TransportTlsTest, WrongNameIsRefused) {
  ServeTls({.common_name = "localhost", .names = {"other.example", "10.9.8.7"}});
  Status status = Try(Trusting(), "localhost");
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTls);
  EXPECT_EQ(status.message(),
            "tls: failed to verify certificate: x509: certificate is valid for other.example, "
            "not localhost");
  status = Try(Trusting(), "127.0.0.1");
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTls);
  EXPECT_EQ(status.message(),
            "tls: failed to verify certificate: x509: certificate is valid for 10.9.8.7, "
            "not 127.0.0.1");
  EXPECT_TRUE(requests_.empty());
}

TEST_P(TransportTlsTest, CommonNameAloneDoesNotCount) {
  ServeTls({.common_name = "localhost"});
  EXPECT_EQ(Try(Trusting(), "localhost").message(),
            "tls: failed to verify certificate: x509: certificate is not valid for any names, "
            "but wanted to match localhost");
  EXPECT_EQ(Try(Trusting(), "127.0.0.1").message(),
            "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 "
            "because it doesn't contain any IP SANs");
}

TEST_P(TransportTlsTest, ServerNameReplacesTheHost) {
  ServeTls({.common_name = "s", .names = {"kubernetes.default"}});
  TlsConfig tls = Trusting();
  tls.server_name = "kubernetes.default";
  EXPECT_TRUE(Try(tls).ok()) << Try(tls).ToString();
  ASSERT_FALSE(requests_.empty());
  EXPECT_EQ(requests_[0].headers.Get("Host"), StrCat("127.0.0.1:", server_->port()));
  tls.server_name = "127.0.0.2";
  EXPECT_EQ(KindOfFailure(Try(tls)), TransportError::Kind::kTls);
}

TEST_P(TransportTlsTest, ExpiredAndFutureCertificatesAreRefused) {
  ServeTls({.common_name = "s",
            .names = {"127.0.0.1"},
            .not_before = -hours(2),
            .not_after = -hours(1)});
  EXPECT_THAT(Try(Trusting()).message(), HasSubstr("has expired or is not yet valid"));
  Run(server_->Close());
  ServeTls(
      {.common_name = "s", .names = {"127.0.0.1"}, .not_before = hours(1), .not_after = hours(2)});
  Status status = Try(Trusting());
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTls);
  EXPECT_THAT(status.message(), HasSubstr("has expired or is not yet valid"));
}

TEST_P(TransportTlsTest, ClientCertificateCannotServe) {
  const KeyPair pair = ca_.IssueClient({.common_name = "s", .names = {"127.0.0.1"}});
  Serve([](ServerRequest, ResponseWriter*) -> async::Task<void> { co_return; },
        {.address = "127.0.0.1:0",
         .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
  EXPECT_THAT(Try(Trusting()).message(), HasSubstr("incompatible key usage"));
}

TEST_P(TransportTlsTest, InsecureAcceptsAnything) {
  ServeTls(
      {.common_name = "s", .names = {"other"}, .not_before = -hours(2), .not_after = -hours(1)});
  Status status = Try({.insecure_skip_verify = true});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(TransportTlsTest, ClientCertificateIsPresented) {
  ServeTls({.common_name = "s", .names = {"127.0.0.1"}}, ServerTls::ClientCertificate::kRequired);
  const KeyPair pair = ca_.IssueClient({.common_name = "driver", .organizations = {"nodes"}});
  TlsConfig tls = Trusting();
  tls.client_certificate_pem = pair.certificate_pem;
  tls.client_key_pem = pair.key_pem;
  Status status = Try(tls);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].client_common_name, "driver");
  EXPECT_EQ(requests_[0].client_organizations, std::vector<std::string>{"nodes"});
}

TEST_P(TransportTlsTest, MissingClientCertificateIsATlsFailure) {
  ServeTls({.common_name = "s", .names = {"127.0.0.1"}}, ServerTls::ClientCertificate::kRequired);
  Status status = Try(Trusting());
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTls);
  EXPECT_EQ(status.message(), "remote error: tls: certificate required");
}

TEST_P(TransportTlsTest, PlainServerIsATlsFailure) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Status status = Try(Trusting());
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTls);
  EXPECT_EQ(status.message(), "tls: first record does not look like a TLS handshake");
}

TEST_P(TransportTlsTest, SilentServerEndsTheHandshakeByTimeout) {
  Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");  // accepts in the kernel only
  ASSERT_TRUE(listener.ok());
  TlsConfig tls = Trusting();
  Connect({.base_url = StrCat("https://127.0.0.1:", LocalPort(listener->get())),
           .tls = tls,
           .connect_timeout = milliseconds(50)});
  Status status = Get("/").status();
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTimeout);
  EXPECT_EQ(status.message(), "net/http: TLS handshake timeout");
}

TEST_P(TransportTlsTest, ServerThatDropsOverTlsIsAReset) {
  const KeyPair pair = ca_.IssueServer({.common_name = "s", .names = {"127.0.0.1"}});
  Serve(
      [](ServerRequest, ResponseWriter* w) -> async::Task<void> {
        const auto drop = [](ResponseWriter* writer) -> async::Task<void> {
          (void)co_await writer->StartStream(200, {});
          (void)co_await writer->Write("half");
          writer->Abort();
        };
        return drop(w);
      },
      {.address = "127.0.0.1:0",
       .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
  Status status = Try(Trusting());
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kReset) << status.ToString();
}

TEST_P(TransportTlsTest, BigBodiesTravelOverTls) {
  const KeyPair pair = ca_.IssueServer({.common_name = "s", .names = {"127.0.0.1"}});
  Serve([](ServerRequest request,
           ResponseWriter* w) { return SendAnswer({.status = 200, .body = request.body}, w); },
        {.address = "127.0.0.1:0",
         .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
  Connect({.base_url = StrCat("https://127.0.0.1:", server_->port()), .tls = Trusting()});
  std::string big;
  for (int i = 0; i < 300000; ++i) big += std::to_string(i);
  Result<Response> response = Do({.method = "POST", .target = "/", .body = big});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_TRUE(response->body == big);
}

INSTANTIATE_TEST_SUITE_P(Each, TransportTlsTest,
                         ::testing::Values(Transport::kBeast, Transport::kCppRest),
                         [](const auto& info) { return TransportName(info.param); });

}  // namespace
}  // namespace csinative::http
