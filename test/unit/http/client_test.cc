// SPDX-License-Identifier: Apache-2.0
//
// The choice of a transport, and what only one of them does: proxies, IPv6, several addresses.
#include "lib/http/client.h"

#include <dirent.h>
#include <fcntl.h>

#include "lib/http/listen.h"
#include "lib/http/stream.h"
#include "lib/http/transport.h"
#include "test/unit/http/raw_client.h"
#include "test/unit/http/transport_fixture.h"

namespace csinative::http {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
      {"TlsProxy", {.base_url = https, .proxy_url = "https://p"}, "proxy URL: only http"},
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

// Copies from one side of a tunnel to the other.
async::Task<void> Pump(std::shared_ptr<Stream> from, std::shared_ptr<Stream> to) {
  while (true) {
    Result<std::string> piece = co_await from->Read();
    if (!piece.ok() || piece->empty()) break;
    Status written = co_await to->Write(std::move(piece).value());
    if (!written.ok()) break;
  }
  to->Close(Stream::CloseMode::kAbrupt);
}

// A proxy for one connection: answers CONNECT with `answer`, and tunnels to the port if it is not
// 0.
async::Task<void> ServeProxy(async::RealLoop* loop, int listener, std::string answer, int port,
                             std::string* seen) {
  auto accepting = std::make_shared<Stream>(
      loop->io(), UniqueFd(::fcntl(listener, F_DUPFD_CLOEXEC, 0)), nullptr);
  (void)co_await accepting->WaitReadable();
  accepting->Close(Stream::CloseMode::kAbrupt);
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  auto client = std::make_shared<Stream>(loop->io(), std::move(fd), nullptr);
  while (seen->find("\r\n\r\n") == std::string::npos) {
    Result<std::string> piece = co_await client->Read();
    if (!piece.ok() || piece->empty()) break;
    *seen += *piece;
  }
  (void)co_await client->Write(std::move(answer));
  if (port != 0) {
    auto origin = std::make_shared<Stream>(loop->io(), ConnectLoopback(port), nullptr);
    async::Scope scope(*loop);
    scope.Spawn(Pump(client, origin));
    scope.Spawn(Pump(origin, client));
    co_await scope.Join();
  }
  client->Close(Stream::CloseMode::kAbrupt);
}

class ProxyTest : public ClientTest {
 protected:
  Result<Response> GetThroughProxy(std::string answer, int port) {
    const auto talk = [](async::RealLoop* loop, std::unique_ptr<Client>* client, int listener,
                         std::string text, int to,
                         std::string* seen) -> async::Task<Result<Response>> {
      async::Scope scope(*loop);
      scope.Spawn(ServeProxy(loop, listener, std::move(text), to, seen));
      Result<Response> response = co_await (*client)->Do({.target = "/x"});
      client->reset();  // closes the tunnel
      co_await scope.Close();
      co_return response;
    };
    return Run(talk(&loop_, &client_, listener_.get(), std::move(answer), port, &seen_));
  }
  std::string ProxyUrl(const std::string& user = "") {
    Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
    return StrCat("http://", user, "127.0.0.1:", LocalPort(listener_.get()));
  }

  UniqueFd listener_;
  std::string seen_;  // what the proxy was sent first
};

TEST_P(ProxyTest, HttpsGoesThroughATunnel) {
  const testing::CertificateAuthority ca;
  const testing::KeyPair pair = ca.IssueServer({.common_name = "s", .names = {"origin.example"}});
  Serve([](ServerRequest,
           ResponseWriter* w) { return SendAnswer({.status = 200, .body = "secret"}, w); },
        {.address = "127.0.0.1:0",
         .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
  Connect({.base_url = "https://origin.example:6443",
           .tls = {.ca_pem = ca.certificate_pem()},
           .proxy_url = ProxyUrl("user:p%40ss@")});
  Result<Response> response =
      GetThroughProxy("HTTP/1.1 200 Connection established\r\n\r\n", server_->port());
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body, "secret");
  EXPECT_THAT(seen_, StartsWith("CONNECT origin.example:6443 HTTP/1.1\r\n"
                                "Host: origin.example:6443\r\n"));
  EXPECT_THAT(seen_, HasSubstr("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"));
}

TEST_P(ProxyTest, RefusedTunnelIsAFailure) {
  Connect({.base_url = "https://origin.example", .proxy_url = ProxyUrl()});
  Result<Response> response = GetThroughProxy(
      "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno", 0);
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kOther);
  EXPECT_EQ(response.status().message(), "proxyconnect tcp: Proxy Authentication Required");
}

TEST_P(ProxyTest, PlainHttpIsAskedForByItsUrl) {
  ServeOk();  // plays the proxy
  Connect({.base_url = "http://origin.example:8080",
           .proxy_url = StrCat("http://127.0.0.1:", server_->port())});
  ASSERT_TRUE(Get("/a?b").ok());
  EXPECT_EQ(requests_[0].target, "http://origin.example:8080/a?b");
  EXPECT_EQ(requests_[0].headers.Get("Host"), "origin.example:8080");
}

INSTANTIATE_TEST_SUITE_P(Each, ClientTest, ::testing::Values(Transport::kAuto, Transport::kBeast),
                         [](const auto& info) { return TransportName(info.param); });
INSTANTIATE_TEST_SUITE_P(Each, ProxyTest, ::testing::Values(Transport::kAuto, Transport::kBeast),
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
