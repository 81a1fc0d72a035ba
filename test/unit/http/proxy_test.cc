// SPDX-License-Identifier: Apache-2.0
//
// Clients behind a proxy: HTTP with CONNECT, the same inside TLS, and SOCKS5.
#include <fcntl.h>
#include <sys/socket.h>

#include "lib/http/client.h"
#include "lib/http/listen.h"
#include "lib/http/stream.h"
#include "lib/http/tls.h"
#include "test/unit/http/raw_client.h"
#include "test/unit/http/transport_fixture.h"

namespace csinative::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::string_literals;  // NOLINT: texts with zero bytes

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

async::Task<void> ReadUntil(Stream* stream, std::string end, std::string* seen) {
  while (seen->find(end) == std::string::npos) {
    Result<std::string> piece = co_await stream->Read();
    if (!piece.ok() || piece->empty()) co_return;
    *seen += *piece;
  }
}

async::Task<void> ReadBytes(Stream* stream, size_t size, std::string* seen) {
  const size_t wanted = seen->size() + size;
  while (seen->size() < wanted) {
    Result<std::string> piece = co_await stream->Read();
    if (!piece.ok() || piece->empty()) co_return;
    *seen += *piece;
  }
}

// What a proxy does: how it is spoken to, and what it answers.
struct ProxyScript {
  std::string answer;    // to CONNECT, or to the SOCKS request
  std::string greeting;  // SOCKS: the answer to the client's; empty: an HTTP proxy
  std::string password;  // SOCKS: the answer to user name and password; empty: not asked for
  SslContextPtr tls;     // null: plain
  int port = 0;          // where a tunnel ends; 0: nowhere
};

async::Task<void> TalkSocks(Stream* client, ProxyScript script, std::string* seen) {
  co_await ReadBytes(client, 3, seen);
  (void)co_await client->Write(script.greeting);
  if (!script.password.empty()) {
    // One piece: version, user, password.
    Result<std::string> piece = co_await client->Read();
    if (piece.ok()) *seen += "|" + *piece + "|";
    (void)co_await client->Write(script.password);
  }
  Result<std::string> piece = co_await client->Read();
  if (piece.ok()) *seen += *piece;
}

// A proxy for one connection.
async::Task<void> ServeProxy(async::RealLoop* loop, int listener, ProxyScript script,
                             std::string* seen) {
  auto accepting = std::make_shared<Stream>(
      loop->io(), UniqueFd(::fcntl(listener, F_DUPFD_CLOEXEC, 0)), nullptr);
  (void)co_await accepting->WaitReadable();
  accepting->Close(Stream::CloseMode::kAbrupt);
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  auto client = std::make_shared<Stream>(loop->io(), std::move(fd), nullptr);
  if (script.tls) {
    client->StartTls(*NewServerSession(script.tls));
    (void)co_await client->Handshake();
  }
  if (script.greeting.empty()) {
    co_await ReadUntil(client.get(), "\r\n\r\n", seen);
  } else {
    co_await TalkSocks(client.get(), script, seen);
  }
  (void)co_await client->Write(script.answer);
  if (script.port != 0) {
    auto origin = std::make_shared<Stream>(loop->io(), ConnectLoopback(script.port), nullptr);
    async::Scope scope(*loop);
    scope.Spawn(Pump(client, origin));
    scope.Spawn(Pump(origin, client));
    co_await scope.Join();
  }
  client->Close(Stream::CloseMode::kAbrupt);
}

class ProxyTest : public TransportFixture {
 protected:
  Result<Response> GetThrough(ProxyScript script) {
    const auto talk = [](async::RealLoop* loop, std::unique_ptr<Client>* client, int listener,
                         ProxyScript proxy, std::string* seen) -> async::Task<Result<Response>> {
      async::Scope scope(*loop);
      scope.Spawn(ServeProxy(loop, listener, std::move(proxy), seen));
      Result<Response> response = co_await (*client)->Do({.target = "/x"});
      client->reset();  // closes the tunnel
      co_await scope.Close();
      co_return response;
    };
    return Run(talk(&loop_, &client_, listener_.get(), std::move(script), &seen_));
  }
  std::string ProxyUrl(const std::string& scheme, const std::string& user = "") {
    Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
    return StrCat(scheme, "://", user, "127.0.0.1:", LocalPort(listener_.get()));
  }
  // An https server that only a proxy can find, and a client for it.
  void ServeBehind(const std::string& proxy_url) {
    const testing::KeyPair pair =
        ca_.IssueServer({.common_name = "s", .names = {"origin.example"}});
    Serve([](ServerRequest,
             ResponseWriter* w) { return SendAnswer({.status = 200, .body = "secret"}, w); },
          {.address = "127.0.0.1:0",
           .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
    Connect({.base_url = "https://origin.example:6443",
             .tls = {.ca_pem = ca_.certificate_pem()},
             .proxy_url = proxy_url});
  }
  SslContextPtr ProxyCertificate(const std::string& name) {
    const testing::KeyPair pair = ca_.IssueServer({.common_name = "p", .names = {name}});
    return *NewServerTlsContext(
        ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem});
  }

  const std::string kConnected = "HTTP/1.1 200 Connection established\r\n\r\n";
  const std::string kSocksDone = "\x05\0\0\x01\0\0\0\0\0\0"s;
  // version, connect, host name, its length
  const std::string kSocksRequest = "\x05\x01\0\x03\x0e"s + "origin.example" + "\x19\x2b";
  testing::CertificateAuthority ca_;
  UniqueFd listener_;
  std::string seen_;  // what the proxy was sent first
};

TEST_P(ProxyTest, HttpsGoesThroughATunnel) {
  ServeBehind(ProxyUrl("http", "user:p%40ss@"));
  Result<Response> response = GetThrough({.answer = kConnected, .port = server_->port()});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body, "secret");
  EXPECT_THAT(seen_, StartsWith("CONNECT origin.example:6443 HTTP/1.1\r\n"
                                "Host: origin.example:6443\r\n"));
  EXPECT_THAT(seen_, HasSubstr("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"));
}

TEST_P(ProxyTest, RefusedTunnelIsAFailure) {
  Connect({.base_url = "https://origin.example", .proxy_url = ProxyUrl("http")});
  Result<Response> response = GetThrough(
      {.answer = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno"});
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kOther);
  EXPECT_EQ(response.status().message(), "proxyconnect tcp: Proxy Authentication Required");
}

TEST_P(ProxyTest, PlainHttpIsAskedForByItsUrl) {
  // The server plays the proxy.
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200, .body = "origin"}; });
  Connect({.base_url = "http://origin.example:8080",
           .proxy_url = StrCat("http://127.0.0.1:", server_->port())});
  ASSERT_TRUE(Get("/a?b").ok());
  EXPECT_EQ(requests_[0].target, "http://origin.example:8080/a?b");
  EXPECT_EQ(requests_[0].headers.Get("Host"), "origin.example:8080");
}

TEST_P(ProxyTest, TunnelInsideTls) {
  ServeBehind(ProxyUrl("https"));
  Result<Response> response = GetThrough(
      {.answer = kConnected, .tls = ProxyCertificate("127.0.0.1"), .port = server_->port()});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body, "secret");
  EXPECT_THAT(seen_, StartsWith("CONNECT origin.example:6443 HTTP/1.1\r\n"));
}

TEST_P(ProxyTest, ProxyWithAnotherNameIsNotTrusted) {
  ServeBehind(ProxyUrl("https"));
  Result<Response> response = GetThrough(
      {.answer = kConnected, .tls = ProxyCertificate("elsewhere"), .port = server_->port()});
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kTls);
  EXPECT_EQ(seen_, "");
}

TEST_P(ProxyTest, SocksConnects) {
  ServeBehind(ProxyUrl("socks5"));
  Result<Response> response =
      GetThrough({.answer = kSocksDone, .greeting = "\x05\0"s, .port = server_->port()});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body, "secret");
  EXPECT_EQ(seen_, "\x05\x01\0"s + kSocksRequest);
}

TEST_P(ProxyTest, SocksWithUserNameAndPassword) {
  ServeBehind(ProxyUrl("socks5", "user:p%40ss@"));
  Result<Response> response = GetThrough({.answer = kSocksDone,
                                          .greeting = "\x05\x02"s,
                                          .password = "\x01\0"s,
                                          .port = server_->port()});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(seen_, "\x05\x02\0\x02|\x01\x04"s + "user\x04p@ss|" + kSocksRequest);
}

TEST_P(ProxyTest, SocksRefusals) {
  struct Refusal {
    ProxyScript script;
    const char* message;
  };
  const Refusal kRefusals[] = {
      {{.answer = "\x05\x05\0\x01\0\0\0\0\0\0"s, .greeting = "\x05\0"s},
       "socks connect tcp: connection refused"},
      {{.greeting = "\x05\xff"s}, "socks connect tcp: no acceptable authentication methods"},
      {{.greeting = "\x04\0"s}, "socks connect tcp: unexpected protocol version"}};
  for (const Refusal& refusal : kRefusals) {
    Connect({.base_url = "https://origin.example", .proxy_url = ProxyUrl("socks5")});
    EXPECT_EQ(GetThrough(refusal.script).status().message(), refusal.message);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ProxyTest, ::testing::Values(Transport::kAuto, Transport::kBeast),
                         [](const auto& info) { return TransportName(info.param); });

}  // namespace
}  // namespace csinative::http
