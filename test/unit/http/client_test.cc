// SPDX-License-Identifier: Apache-2.0
//
// The choice of a transport, and what only one of them does: IPv6, several addresses. Proxies are
// in proxy_test.cc.
#include "lib/http/client.h"

#include <dirent.h>

#include "lib/http/transport.h"
#include "test/unit/http/raw_client.h"
#include "test/unit/http/transport_fixture.h"

namespace csinative::http {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::StartsWith;

struct BadConfigCase {
  std::string name;
  ClientConfig config;
  std::string message;
};
class NewClientRefusesTest : public ::testing::TestWithParam<BadConfigCase> {};

TEST_P(NewClientRefusesTest, WithInvalidArgument) {
  async::RealLoop loop;
  auto client = NewClient(loop, GetParam().config);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(client.status().message(), StartsWith(GetParam().message));
}

std::vector<BadConfigCase> BadConfigs() {
  const std::string https = "https://127.0.0.1";
  const testing::CertificateAuthority ca;
  const testing::KeyPair one = ca.IssueClient({.common_name = "one"});
  const testing::KeyPair two = ca.IssueClient({.common_name = "two"});
  std::string broken = ca.certificate_pem();
  broken.replace(100, 20, "AAAAAAAAAAAAAAAAAAAA");
  return {
      {"NoScheme", {.base_url = "127.0.0.1:80"}, "server URL: URL without scheme"},
      {"OtherScheme", {.base_url = "ftp://x"}, "server URL: unsupported protocol scheme \"ftp\""},
      {"Path", {.base_url = "http://x/api"}, "server URL: URL with a path"},
      {"NoHost", {.base_url = "http://:80"}, "server URL: no host"},
      {"BadPort", {.base_url = "http://x:99999"}, "server URL: invalid port"},
      {"BadIpv6", {.base_url = "http://[::g]:1"}, "server URL: invalid IPv6 address"},
      {"OtherProxy",
       {.base_url = https, .proxy_url = "socks6://p"},
       "proxy URL: unsupported protocol scheme \"socks6\""},
      {"NoPem",
       {.base_url = https, .tls = {.ca_pem = "text"}},
       "unable to load root certificates: unable to parse bytes as PEM block"},
      {"KeyAsAuthority",
       {.base_url = https, .tls = {.ca_pem = one.key_pem}},
       "unable to load root certificates: no valid certificate authority data seen"},
      {"BrokenAuthority",
       {.base_url = https, .tls = {.ca_pem = broken}},
       "unable to load root certificates: failed to parse certificate: "},
      {"KeyOfAnother",
       {.base_url = https,
        .tls = {.client_certificate_pem = one.certificate_pem, .client_key_pem = two.key_pem}},
       "tls: private key does not match public key"},
      {"NoKey",
       {.base_url = https, .tls = {.client_certificate_pem = one.certificate_pem}},
       "tls: failed to find any PEM data in key input"},
      {"NoCertificate",
       {.base_url = https, .tls = {.client_key_pem = one.key_pem}},
       "tls: failed to find any PEM data in certificate input"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, NewClientRefusesTest, ::testing::ValuesIn(BadConfigs()),
                         [](const auto& info) { return info.param.name; });

class ClientTest : public TransportFixture {
 protected:
  void ServeOk(const std::string& address = "127.0.0.1:0") {
    Serve(
        [this](ServerRequest request, ResponseWriter* writer) {
          requests_.push_back(request);
          return SendAnswer({.status = 200, .body = "origin"}, writer);
        },
        {.address = address});
  }
};

TEST_P(ClientTest, Ipv6LiteralWorks) {
  ServeOk("[::1]:0");
  Connect({.base_url = StrCat("http://[::1]:", server_->port())});
  Result<Response> response = Get("/");
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(requests_[0].headers.Get("Host"), StrCat("[::1]:", server_->port()));
}

TEST_P(ClientTest, Ipv6LiteralIsVerified) {
  const testing::CertificateAuthority ca;
  const testing::KeyPair pair = ca.IssueServer({.common_name = "s", .names = {"::1"}});
  Serve([](ServerRequest, ResponseWriter* w) { return SendAnswer({.status = 200}, w); },
        {.address = "[::1]:0",
         .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
  Connect({.base_url = StrCat("https://[::1]:", server_->port()),
           .tls = {.ca_pem = ca.certificate_pem()}});
  EXPECT_TRUE(Get("/").ok()) << Get("/").status().ToString();
}

TEST_P(ClientTest, RepeatedRequestFieldsStayApart) {
  ServeOk();
  Connect();
  Request request;
  request.headers.Add("Impersonate-Group", "one");
  request.headers.Add("Impersonate-Group", "two, with comma");
  ASSERT_TRUE(Do(std::move(request)).ok());
  std::vector<std::string> groups;
  for (const auto& [name, value] : requests_[0].headers.fields()) {
    if (EqualsIgnoreCase(name, "Impersonate-Group")) groups.push_back(value);
  }
  EXPECT_THAT(groups, ElementsAre("one", "two, with comma"));
}

INSTANTIATE_TEST_SUITE_P(Each, ClientTest, ::testing::Values(Transport::kAuto, Transport::kBeast),
                         [](const auto& info) { return TransportName(info.param); });
// A client whose host name resolves to exactly these addresses, in that order.
class AddressesTest : public ClientTest {
 protected:
  Result<Response> GetFrom(std::vector<std::string> addresses, Fallback fallback) {
    ClientSetup setup;
    setup.config.base_url = StrCat("http://origin.example:", server_->port());
    Result<Origin> origin = ParseOrigin(setup.config.base_url);
    EXPECT_TRUE(origin.ok());
    setup.origin = std::move(origin).value();
    for (const std::string& address : addresses) {
      setup.addresses.emplace_back(boost::asio::ip::make_address(address), server_->port());
    }
    client_ = GetParam() == Transport::kBeast ? NewBeastClient(loop_, std::move(setup))
                                              : NewCppRestClient(loop_, std::move(setup), fallback);
    return Get("/");
  }
};

TEST_P(AddressesTest, SecondAddressIsTried) {
  ServeOk("127.0.0.1:0");
  Result<Response> response = GetFrom({"127.0.0.2", "127.0.0.1"}, Fallback::kNone);
  EXPECT_TRUE(response.ok()) << response.status().ToString();
}

TEST_P(AddressesTest, AddressOfTheOtherFamilyIsTried) {
  ServeOk("[::1]:0");
  Result<Response> response = GetFrom({"127.0.0.1", "::1"}, Fallback::kBeast);
  EXPECT_TRUE(response.ok()) << response.status().ToString();
}

TEST_P(AddressesTest, FailureOfTheFirstAddressIsTold) {
  ServeOk("127.0.0.3:0");
  Result<Response> response = GetFrom({"127.0.0.1", "127.0.0.2"}, Fallback::kNone);
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kRefused);
  EXPECT_EQ(response.status().message(),
            StrCat("dial tcp 127.0.0.1:", server_->port(), ": connect: connection refused"));
}

INSTANTIATE_TEST_SUITE_P(Each, AddressesTest,
                         ::testing::Values(Transport::kBeast, Transport::kCppRest),
                         [](const auto& info) { return TransportName(info.param); });

class CppRestOnlyTest : public ClientTest {};

TEST_P(CppRestOnlyTest, SaysWhatItCannotDo) {
  ServeOk("[::1]:0");
  Connect({.base_url = StrCat("http://[::1]:", server_->port())});
  EXPECT_EQ(Get("/").status().code(), Code::kUnimplemented);
  EXPECT_EQ(
      NewClient(loop_,
                {.base_url = "http://x", .proxy_url = "http://p", .transport = Transport::kCppRest})
          .status()
          .code(),
      Code::kUnimplemented);
  EXPECT_TRUE(requests_.empty());
}

size_t Threads() {
  size_t count = 0;
  DIR* dir = ::opendir("/proc/self/task");
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(dir);
  return count;
}

TEST_P(CppRestOnlyTest, OneThreadServesAllClients) {
  ServeOk();
  // The library's own default is 40 threads.
  for (int i = 0; i < 5; ++i) {
    Connect();
    EXPECT_TRUE(Get("/").ok());
  }
  // This one, the library's, and one resolver for each of the two event loops.
  EXPECT_LE(Threads(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Each, CppRestOnlyTest, ::testing::Values(Transport::kCppRest),
                         [](const auto& info) { return TransportName(info.param); });

}  // namespace
}  // namespace csinative::http
