// SPDX-License-Identifier: Apache-2.0
#include "lib/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "test/support/certs.h"
#include "test/unit/http/raw_client.h"

namespace csinative::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kGet[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// What the handlers of a test see and wait for.
struct Script {
  std::vector<ServerRequest> requests;
  async::Event entered;
  async::Event cancelled;
  async::Event go_on;
  Status write_status;
};

async::Task<void> Echo(Script* script, ServerRequest request, ResponseWriter* writer) {
  Response response{.status = 200};
  response.headers.Add("Content-Type", "text/plain");
  response.body = StrCat(request.method, " ", request.target, " ", request.body);
  script->requests.push_back(std::move(request));
  (void)co_await writer->Send(std::move(response));
}

async::Task<void> WaitForCancel(Script* script, ResponseWriter*) {
  script->entered.Set();
  Status status = co_await script->go_on.Wait();
  if (!status.ok()) script->cancelled.Set();
}

class ServerTest : public ::testing::Test {
 protected:
  ~ServerTest() override {
    if (server_) Run(server_->Close());
  }
  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(loop_, std::move(task));
  }
  void Start(Handler handler, ServerConfig config = {.address = "127.0.0.1:0"}) {
    auto server = Listen(loop_, std::move(config), std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(server).value();
  }
  void StartEcho(ServerConfig config = {.address = "127.0.0.1:0"}) {
    Start([this](ServerRequest r, ResponseWriter* w) { return Echo(&script_, std::move(r), w); },
          std::move(config));
  }
  // One exchange on its own connection: all bytes of the answer.
  std::string Exchange(std::string bytes, int family = AF_INET) {
    RawClient client(loop_, server_->port(), family);
    return Run(SendAndRead(&client, std::move(bytes)));
  }
  static async::Task<std::string> SendAndRead(RawClient* client, std::string bytes) {
    (void)co_await client->Send(std::move(bytes));
    co_return co_await client->ReadToEnd();
  }

  async::RealLoop loop_;
  Script script_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersWithLengthAndDate) {
  StartEcho();
  const std::string answer = Exchange(
      "POST /a?b=c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nxyz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                 "Content-Length: 15\r\nConnection: close\r\nDate: "));
  EXPECT_THAT(answer, EndsWith(" GMT\r\n\r\nPOST /a?b=c xyz"));
  ASSERT_EQ(script_.requests.size(), 1u);
  EXPECT_THAT(script_.requests[0].peer, StartsWith("127.0.0.1:"));
}

TEST_F(ServerTest, KeepsTheConnectionForPipelinedRequests) {
  StartEcho();
  const std::string answer = Exchange(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("GET /1 "));
  EXPECT_THAT(answer, HasSubstr("GET /2 "));
  EXPECT_THAT(answer, EndsWith("GET /3 "));
}

TEST_F(ServerTest, Http10ConnectionClosesAfterTheAnswer) {
  StartEcho();
  EXPECT_THAT(Exchange("GET /old HTTP/1.0\r\n\r\n"), EndsWith("GET /old "));
}

TEST_F(ServerTest, HeadAnswerHasLengthButNoBody) {
  StartEcho();
  const std::string answer = Exchange("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, ChunkedRequestBodyArrivesWhole) {
  StartEcho();
  EXPECT_THAT(Exchange("PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"),
              EndsWith("PUT / abcdefg"));
}

TEST_F(ServerTest, ExpectContinueIsAnsweredBeforeTheBody) {
  StartEcho();
  RawClient client(loop_, server_->port());
  const auto talk = [](RawClient* c) -> async::Task<std::string> {
    (void)co_await c->Send(
        "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
        "Content-Length: 2\r\n\r\n");
    std::string interim = co_await c->ReadUntil("\r\n\r\n");
    EXPECT_EQ(interim, "HTTP/1.1 100 Continue\r\n\r\n");
    (void)co_await c->Send("ok");
    co_return co_await c->ReadToEnd();
  };
  EXPECT_THAT(Run(talk(&client)), EndsWith("PUT / ok"));
}

std::string ManyHeaders() {
  std::string out;
  for (int i = 0; i < 1000; ++i) out += StrCat("X-", i, ": ", std::string(80, 'x'), "\r\n");
  return out;
}

struct RefusedCase {
  std::string name;
  std::string request;
  std::string answer_start;
};
class ServerRefusesTest : public ServerTest, public ::testing::WithParamInterface<RefusedCase> {};

TEST_P(ServerRefusesTest, WithoutCallingTheHandler) {
  StartEcho({.address = "127.0.0.1:0", .max_body_bytes = 10});
  EXPECT_THAT(Exchange(GetParam().request), StartsWith(GetParam().answer_start));
  EXPECT_TRUE(script_.requests.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, ServerRefusesTest,
    ::testing::Values(
        RefusedCase{"Garbage", "hello\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        RefusedCase{"NoHost", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        RefusedCase{"BigHeader", "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(70000, 'a'),
                    "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
        RefusedCase{"ManyHeaders", "GET / HTTP/1.1\r\nHost: x\r\n" + ManyHeaders(),
                    "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
        RefusedCase{"BigBody", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n",
                    "HTTP/1.1 413 "},
        RefusedCase{"BigBodyThatHasArrived",
                    "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n12345678901",
                    "HTTP/1.1 413 "},
        RefusedCase{"BigChunkedBody",
                    "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "6\r\n123456\r\n6\r\n123456\r\n0\r\n\r\n",
                    "HTTP/1.1 413 "}),
    [](const auto& info) { return info.param.name; });

TEST_F(ServerTest, HandlerWithoutAnswerProduces500) {
  Start([](ServerRequest, ResponseWriter*) -> async::Task<void> { co_return; });
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
}

async::Task<void> StreamTwo(ResponseWriter* writer) {
  (void)co_await writer->StartStream(200, {});
  (void)co_await writer->Write("hello");
  (void)co_await writer->Write("");
  (void)co_await writer->Write(std::string(17, 'x'));
}

TEST_F(ServerTest, StreamIsChunkedAndEndsCleanly) {
  Start([](ServerRequest, ResponseWriter* w) { return StreamTwo(w); });
  const std::string answer = Exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n5\r\nhello\r\n11\r\nxxxxxxxxxxxxxxxxx\r\n0\r\n\r\n"));
}

TEST_F(ServerTest, StreamToHttp10EndsWithTheConnection) {
  Start([](ServerRequest, ResponseWriter* w) { return StreamTwo(w); });
  const std::string answer = Exchange("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nhelloxxxxxxxxxxxxxxxxx"));
}

async::Task<void> StreamThenAbort(ResponseWriter* writer) {
  (void)co_await writer->StartStream(200, {});
  (void)co_await writer->Write("partial");
  writer->Abort();
}

TEST_F(ServerTest, AbortEndsTheStreamWithoutFinalChunk) {
  Start([](ServerRequest, ResponseWriter* w) { return StreamThenAbort(w); });
  EXPECT_THAT(Exchange(kGet), EndsWith("7\r\npartial\r\n"));
}

TEST_F(ServerTest, DisconnectCancelsTheHandler) {
  Start([this](ServerRequest, ResponseWriter* w) { return WaitForCancel(&script_, w); });
  RawClient client(loop_, server_->port());
  const auto talk = [](RawClient* c, Script* script) -> async::Task<void> {
    (void)co_await c->Send(kGet);
    (void)co_await script->entered.Wait();
    c->Close();
    (void)co_await script->cancelled.Wait();
  };
  Run(talk(&client, &script_));
  EXPECT_TRUE(script_.cancelled.is_set());
}

async::Task<void> StreamForever(Script* script, ResponseWriter* writer) {
  (void)co_await writer->StartStream(200, {});
  script->entered.Set();
  while (true) {
    script->write_status = co_await writer->Write(std::string(100000, 'x'));
    if (!script->write_status.ok()) break;
  }
  script->cancelled.Set();
}

TEST_F(ServerTest, WriterThatIsBlockedEndsWhenTheClientGoes) {
  Start([this](ServerRequest, ResponseWriter* w) { return StreamForever(&script_, w); });
  RawClient client(loop_, server_->port());
  const auto talk = [](RawClient* c, Script* script) -> async::Task<void> {
    (void)co_await c->Send(kGet);
    (void)co_await script->entered.Wait();
    (void)co_await async::Sleep(std::chrono::milliseconds(20));  // lets the socket fill up
    EXPECT_FALSE(script->cancelled.is_set());
    c->Close();
    (void)co_await script->cancelled.Wait();
  };
  Run(talk(&client, &script_));
  EXPECT_FALSE(script_.write_status.ok());
}

TEST_F(ServerTest, CloseCancelsHandlersAndEndsStreams) {
  Start([this](ServerRequest, ResponseWriter* w) -> async::Task<void> {
    const auto stream = [](Script* script, ResponseWriter* writer) -> async::Task<void> {
      (void)co_await writer->StartStream(200, {});
      (void)co_await writer->Write("a");
      script->entered.Set();
      script->write_status = co_await script->go_on.Wait();
    };
    return stream(&script_, w);
  });
  RawClient client(loop_, server_->port());
  const auto talk = [](RawClient* c, Script* script, Server* server) -> async::Task<std::string> {
    (void)co_await c->Send(kGet);
    (void)co_await script->entered.Wait();
    co_await server->Close();
    co_return co_await c->ReadToEnd();
  };
  EXPECT_THAT(Run(talk(&client, &script_, server_.get())), EndsWith("1\r\na\r\n0\r\n\r\n"));
  EXPECT_TRUE(IsCancelled(script_.write_status));
  EXPECT_FALSE(ConnectLoopback(server_->port()).valid());
}

TEST_F(ServerTest, CloseEndsIdleConnections) {
  StartEcho();
  RawClient client(loop_, server_->port());
  const auto talk = [](RawClient* c, Server* server) -> async::Task<std::string> {
    (void)co_await c->Send(kGet);
    (void)co_await c->ReadUntil("GET / ");
    co_await server->Close();
    co_return co_await c->ReadToEnd();
  };
  EXPECT_EQ(Run(talk(&client, server_.get())), "");
}

TEST_F(ServerTest, ClientsAboveTheLimitAreLetInWhenOthersHaveGone) {
  StartEcho({.address = "127.0.0.1:0", .max_connections = 2});
  RawClient first(loop_, server_->port());
  RawClient second(loop_, server_->port());
  RawClient third(loop_, server_->port());
  const auto talk = [](RawClient* a, RawClient* b, RawClient* c,
                       Script* script) -> async::Task<void> {
    for (RawClient* client : {a, b}) {
      (void)co_await client->Send(kGet);
      (void)co_await client->ReadUntil("GET / ");
    }
    (void)co_await c->Send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)co_await async::Sleep(std::chrono::milliseconds(30));
    EXPECT_EQ(script->requests.size(), 2u);
    (void)co_await b->Send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    (void)co_await b->ReadToEnd();
    const std::string answer = co_await c->ReadUntil("GET /3 ");
    EXPECT_THAT(answer, EndsWith("GET /3 "));
  };
  Run(talk(&first, &second, &third, &script_));
}

TEST_F(ServerTest, DropConnectionsBreaksAllButListensOn) {
  Start([this](ServerRequest, ResponseWriter* w) { return WaitForCancel(&script_, w); });
  // In this order: once the second one is served, the first one is known to the server.
  RawClient idle(loop_, server_->port());
  RawClient busy(loop_, server_->port());
  const auto talk = [](RawClient* b, RawClient* i, Script* script,
                       Server* server) -> async::Task<void> {
    (void)co_await b->Send(kGet);
    (void)co_await script->entered.Wait();
    server->DropConnections();
    (void)co_await script->cancelled.Wait();
    std::string rest = co_await b->ReadToEnd();
    EXPECT_EQ(rest, "");
    rest = co_await i->ReadToEnd();
    EXPECT_EQ(rest, "");
  };
  Run(talk(&busy, &idle, &script_, server_.get()));
  EXPECT_TRUE(ConnectLoopback(server_->port()).valid());
}

TEST_F(ServerTest, PortAloneListensOnBothFamilies) {
  StartEcho({.address = ":0"});
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_THAT(Exchange(request, AF_INET), EndsWith("GET / "));
  EXPECT_THAT(Exchange(request, AF_INET6), EndsWith("GET / "));
  ASSERT_EQ(script_.requests.size(), 2u);
  EXPECT_THAT(script_.requests[0].peer, StartsWith("127.0.0.1:"));
  EXPECT_THAT(script_.requests[1].peer, StartsWith("[::1]:"));
}

TEST_F(ServerTest, Ipv6LiteralListensOnIt) {
  StartEcho({.address = "[::1]:0"});
  EXPECT_THAT(Exchange("GET / HTTP/1.0\r\n\r\n", AF_INET6), EndsWith("GET / "));
  EXPECT_FALSE(ConnectLoopback(server_->port(), AF_INET).valid());
}

TEST_F(ServerTest, PortInUseIsGosText) {
  StartEcho({.address = ":0"});
  const std::string port = std::to_string(server_->port());
  const Handler none = [](ServerRequest, ResponseWriter*) -> async::Task<void> { co_return; };
  EXPECT_EQ(Listen(loop_, {.address = ":" + port}, none).status().message(),
            "listen tcp :" + port + ": bind: address already in use");
  EXPECT_EQ(Listen(loop_, {.address = "127.0.0.1:" + port}, none).status().message(),
            "listen tcp 127.0.0.1:" + port + ": bind: address already in use");
}

struct BadAddressCase {
  std::string address;
  std::string message;
};
class ListenFailsTest : public ::testing::TestWithParam<BadAddressCase> {};

TEST_P(ListenFailsTest, WithGosText) {
  async::RealLoop loop;
  const Handler none = [](ServerRequest, ResponseWriter*) -> async::Task<void> { co_return; };
  EXPECT_EQ(Listen(loop, {.address = GetParam().address}, none).status().message(),
            GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, ListenFailsTest,
    ::testing::Values(
        BadAddressCase{"8080", "listen tcp: address 8080: missing port in address"},
        BadAddressCase{"::1:80", "listen tcp: address ::1:80: too many colons in address"},
        BadAddressCase{"[::1]", "listen tcp: address [::1]: missing port in address"},
        BadAddressCase{"[::1:80", "listen tcp: address [::1:80: missing ']' in address"},
        BadAddressCase{":99999", "listen tcp: address 99999: invalid port"},
        BadAddressCase{":no-such-service", "listen tcp: lookup tcp/no-such-service: unknown port"},
        BadAddressCase{"192.0.2.1:1",
                       "listen tcp 192.0.2.1:1: bind: cannot assign requested address"}));

class TlsServerTest : public ServerTest {
 protected:
  ServerConfig Config(ServerTls::ClientCertificate client_certificate) {
    const auto pair = ca_.IssueServer({.common_name = "server", .names = {"localhost"}});
    return {.address = "127.0.0.1:0",
            .tls = ServerTls{.certificate_pem = pair.certificate_pem,
                             .key_pem = pair.key_pem,
                             .client_ca_pem = ca_.certificate_pem(),
                             .client_certificate = client_certificate}};
  }
  static async::Task<std::string> Talk(RawClient* client, TlsConfig tls) {
    Status status = co_await client->StartTls(std::move(tls), "localhost");
    if (!status.ok()) co_return status.message();
    (void)co_await client->Send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    Result<std::string> piece = co_await client->stream().Read();
    if (!piece.ok()) co_return piece.status().message();
    std::string rest = co_await client->ReadToEnd();
    co_return *piece + rest;
  }

  csinative::testing::CertificateAuthority ca_;
};

TEST_F(TlsServerTest, ClientCertificateBecomesNameAndGroups) {
  StartEcho(Config(ServerTls::ClientCertificate::kOptional));
  const auto pair = ca_.IssueClient({.common_name = "alice", .organizations = {"one", "two"}});
  RawClient client(loop_, server_->port());
  EXPECT_THAT(Run(Talk(&client, {.ca_pem = ca_.certificate_pem(),
                                 .client_certificate_pem = pair.certificate_pem,
                                 .client_key_pem = pair.key_pem})),
              EndsWith("GET / "));
  ASSERT_EQ(script_.requests.size(), 1u);
  EXPECT_EQ(script_.requests[0].client_common_name, "alice");
  EXPECT_EQ(script_.requests[0].client_organizations, (std::vector<std::string>{"one", "two"}));
}

TEST_F(TlsServerTest, NoClientCertificateLeavesTheSubjectEmpty) {
  StartEcho(Config(ServerTls::ClientCertificate::kOptional));
  RawClient client(loop_, server_->port());
  EXPECT_THAT(Run(Talk(&client, {.ca_pem = ca_.certificate_pem()})), EndsWith("GET / "));
  ASSERT_EQ(script_.requests.size(), 1u);
  EXPECT_EQ(script_.requests[0].client_common_name, "");
}

TEST_F(TlsServerTest, RequiredClientCertificateMissingIsAnAlert) {
  StartEcho(Config(ServerTls::ClientCertificate::kRequired));
  RawClient client(loop_, server_->port());
  EXPECT_EQ(Run(Talk(&client, {.ca_pem = ca_.certificate_pem()})),
            "remote error: tls: certificate required");
  EXPECT_TRUE(script_.requests.empty());
}

TEST_F(TlsServerTest, UnusableKeyPairIsInvalidArgument) {
  ServerConfig config = Config(ServerTls::ClientCertificate::kOptional);
  config.tls->key_pem = ca_.IssueServer({.common_name = "other"}).key_pem;
  const Handler none = [](ServerRequest, ResponseWriter*) -> async::Task<void> { co_return; };
  EXPECT_EQ(Listen(loop_, config, none).status().message(),
            "tls: private key does not match public key");
}

}  // namespace
}  // namespace csinative::http
