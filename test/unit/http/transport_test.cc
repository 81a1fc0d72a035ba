// SPDX-License-Identifier: Apache-2.0
//
// Exchanges with a body that is read whole.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "lib/http/gzip.h"
#include "lib/http/listen.h"
#include "lib/http/stream.h"
#include "test/support/fault_proxy.h"
#include "test/support/oracle.h"
#include "test/unit/http/raw_client.h"
#include "test/unit/http/transport_fixture.h"

namespace csinative::http {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using TransportTest = TransportFixture;

std::string Noise(size_t size) {
  std::string out(size, '\0');
  uint32_t state = 12345;
  for (char& c : out) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

TEST_P(TransportTest, EveryStatusIsAnAnswer) {
  ServeAnswers([](const ServerRequest& request) {
    return Response{.status = std::stoi(request.target.substr(1)), .body = "text"};
  });
  Connect();
  for (int status : {200, 201, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504}) {
    Result<Response> response = Get(StrCat("/", status));
    ASSERT_TRUE(response.ok()) << status << " " << response.status().ToString();
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(response->body, "text");
  }
}

TEST_P(TransportTest, StatusesWithoutBodyKeepTheConnection) {
  const oracle::Row row("kube-client/24.5/24");  // of HTTP/1.1
  ServeAnswers([](const ServerRequest& request) {
    return Response{.status = std::stoi(request.target.substr(1)), .body = ""};
  });
  Connect();
  std::set<std::string> peers;
  for (int status : {204, 304, 200}) {
    Result<Response> response = Get(StrCat("/", status));
    ASSERT_TRUE(response.ok()) << status << " " << response.status().ToString();
    EXPECT_EQ(response->status, status);
    peers.insert(requests_.back().peer);
  }
  EXPECT_EQ(peers.size(), 1u);
}

TEST_P(TransportTest, RequestArrivesUnchanged) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  struct Row {
    std::string method;
    std::string target;
    std::string body;
  };
  const std::vector<Row> rows = {
      {"GET", "/api/v1/namespaces/a/pods?watch=true&labelSelector=a%3Db%2Cc%21%3Dd", ""},
      {"GET", "/a%2Fb/c%20d?x=%7B%22y%22%3A1%7D&fieldSelector=metadata.name%3Dz", ""},
      {"GET", "/trailing/", ""},
      {"GET", "/", ""},
      {"GET", "/?only=query", ""},
      {"GET", "/a:b@c,d;e=f!$'()*+~_-.", ""},
      {"GET", "/double//slash", ""},
      {"DELETE", "/x", ""},
      {"DELETE", "/x", "{\"propagationPolicy\":\"Background\"}"},
      {"POST", "/x", ""},
      {"PUT", "/x", Noise(300000)},
      {"PATCH", "/x", "{}"},
  };
  for (const Row& row : rows) {
    Request request{.method = row.method, .target = row.target, .body = row.body};
    request.headers.Add("X-Mixed-Case", "Value; q=1");
    request.headers.Add("Authorization", "Bearer abc");
    Result<Response> response = Do(std::move(request));
    ASSERT_TRUE(response.ok()) << row.target << " " << response.status().ToString();
    const ServerRequest& seen = requests_.back();
    EXPECT_EQ(seen.method, row.method);
    EXPECT_EQ(seen.target, row.target);
    EXPECT_EQ(seen.body, row.body);
    EXPECT_EQ(seen.headers.Get("x-mixed-case"), "Value; q=1");
    EXPECT_EQ(seen.headers.Get("Authorization"), "Bearer abc");
    EXPECT_EQ(seen.headers.Get("Host"), StrCat("127.0.0.1:", server_->port()));
    EXPECT_EQ(seen.headers.Get("Accept-Encoding"), std::nullopt);
    EXPECT_EQ(seen.headers.Get("Transfer-Encoding"), std::nullopt);
    if (row.method == "POST" || row.method == "PUT" || row.method == "PATCH") {
      EXPECT_EQ(seen.headers.Get("Content-Length"), std::to_string(row.body.size()));
    }
  }
}

TEST_P(TransportTest, HeaderNamesOfTheAnswerCompareWithoutCase) {
  ServeAnswers([](const ServerRequest&) {
    Response response{.status = 200};
    response.headers.Add("x-lower", "1");
    response.headers.Add("X-UPPER", "two words");
    return response;
  });
  Connect();
  Result<Response> response = Get("/");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->headers.Get("X-Lower"), "1");
  EXPECT_EQ(response->headers.Get("x-upper"), "two words");
}

TEST_P(TransportTest, HeadHasNoBody) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200, .body = "12345"}; });
  Connect();
  Result<Response> response = Do({.method = "HEAD"});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(response->headers.Get("Content-Length"), "5");
}

TEST_P(TransportTest, BigBodiesTravelWhole) {
  const std::string big = Noise(5 << 20);
  ServeAnswers(
      [&](const ServerRequest& request) { return Response{.status = 200, .body = request.body}; });
  Connect();
  Result<Response> response = Do({.method = "POST", .target = "/", .body = big});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_TRUE(response->body == big);
}

TEST_P(TransportTest, ChunkedAnswerIsJoined) {
  Serve([](ServerRequest, ResponseWriter* writer) -> async::Task<void> {
    const auto stream = [](ResponseWriter* w) -> async::Task<void> {
      (void)co_await w->StartStream(200, {});
      for (int i = 0; i < 5; ++i) (void)co_await w->Write(std::string(1000, 'a' + i));
    };
    return stream(writer);
  });
  Connect();
  Result<Response> response = Get("/");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->body.size(), 5000u);
  EXPECT_EQ(response->body[4999], 'e');
}

TEST_P(TransportTest, BodyBeyondTheLimitFails) {
  ServeAnswers([](const ServerRequest&) {
    return Response{.status = 200, .body = std::string(100001, 'x')};
  });
  Connect({.max_body_bytes = 100000});
  EXPECT_EQ(Get("/").status().code(), Code::kResourceExhausted);
}

TEST_P(TransportTest, HeaderBeyondTheLimitFails) {
  ServeAnswers([](const ServerRequest&) {
    Response response{.status = 200};
    for (int i = 0; i < 10; ++i) response.headers.Add(StrCat("X-", i), std::string(8000, 'x'));
    return response;
  });
  Connect();
  Result<Response> response = Get("/");
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kOther);
  EXPECT_THAT(response.status().message(), HasSubstr("headers exceeded 65536 bytes"));
}

TEST_P(TransportTest, RequestThatWouldSmuggleAHeaderIsRefused) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  Request value;
  value.headers.Add("X", "a\r\nY: b");
  EXPECT_EQ(Do(value).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Do({.target = "/ HTTP/1.1\r\nX: y\r\n"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Do({.method = "GET /x"}).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(requests_.empty());
}

TEST_P(TransportTest, RedirectIsAnAnswerAndNotFollowed) {
  for (int status : {301, 302, 303, 307, 308}) {
    ServeAnswers([&](const ServerRequest&) {
      Response response{.status = status};
      response.headers.Add("Location", StrCat("http://127.0.0.1:", server_->port(), "/next"));
      return response;
    });
    Connect();
    requests_.clear();
    Result<Response> response = Get("/first");
    ASSERT_TRUE(response.ok());
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(requests_.size(), 1u);
    client_.reset();
    Run(server_->Close());
  }
}

TEST_P(TransportTest, GzipIsDecodedWhenTheServerUsesIt) {
  const std::string plain(100000, 'p');
  ServeAnswers([&](const ServerRequest& request) {
    Response response{.status = 200, .body = plain};
    if (request.headers.Get("Accept-Encoding") == "gzip") {
      response.body = Gzip(plain);
      response.headers.Add("Content-Encoding", "gzip");
    }
    return response;
  });
  Connect();
  Request request;
  request.headers.Add("Accept-Encoding", "gzip");
  Result<Response> response = Do(std::move(request));
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_TRUE(response->body == plain);
  EXPECT_EQ(response->headers.Get("Content-Encoding"), std::nullopt);
  EXPECT_EQ(response->headers.Get("Content-Length"), std::nullopt);
}

TEST_P(TransportTest, GzipBombIsStopped) {
  ServeAnswers([&](const ServerRequest&) {
    Response response{.status = 200, .body = Gzip(std::string(10 << 20, '\0'))};
    response.headers.Add("Content-Encoding", "gzip");
    return response;
  });
  Connect({.max_body_bytes = 1 << 20});
  EXPECT_EQ(Get("/").status().code(), Code::kResourceExhausted);
}

TEST_P(TransportTest, ConnectionIsKeptForTheNextRequest) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  std::set<std::string> peers;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Get("/").ok());
    peers.insert(requests_.back().peer);
  }
  EXPECT_EQ(peers.size(), 1u);
}

TEST_P(TransportTest, ConnectionCloseIsHonoured) {
  ServeAnswers([](const ServerRequest&) {
    Response response{.status = 200, .body = "x"};
    response.headers.Add("Connection", "close");
    return response;
  });
  Connect();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Get("/").ok());
  EXPECT_EQ(requests_.size(), 3u);
}

// Answers after a moment, so that requests meet.
async::Task<void> PassGate(Script* gate, ServerRequest request, ResponseWriter* writer) {
  gate->peers.insert(request.peer);
  gate->most = std::max(gate->most, ++gate->inside);
  (void)co_await async::Sleep(milliseconds(2));
  --gate->inside;
  (void)co_await writer->Send({.status = 200, .body = request.target});
}

async::Task<void> CountOk(Client* client, int i, int* ok) {
  Result<Response> response = co_await client->Do({.target = StrCat("/", i)});
  if (response.ok() && response->body == StrCat("/", i)) ++*ok;
}

TEST_P(TransportTest, ManyRequestsShareFewConnections) {
  Serve([this](ServerRequest r, ResponseWriter* w) { return PassGate(&script_, std::move(r), w); });
  Connect({.max_connections = 4});
  int ok = 0;
  const auto all = [](async::RealLoop* loop, Client* client, int* count) -> async::Task<void> {
    async::Scope scope(*loop);
    for (int i = 0; i < 60; ++i) scope.Spawn(CountOk(client, i, count));
    co_await scope.Join();
  };
  Run(all(&loop_, client_.get(), &ok));
  EXPECT_EQ(ok, 60);
  EXPECT_EQ(script_.most, 4);
  EXPECT_EQ(script_.peers.size(), 4u);
}

async::Task<void> Hang(Script* script, ResponseWriter*) {
  ++script->calls;
  script->entered.Set();
  Status status = co_await script->go_on.Wait();
  if (!status.ok()) script->cancelled.Set();
}

TEST_P(TransportTest, DeadlineEndsASlowExchangeAndItsConnection) {
  const oracle::Row row("kube-client/24.2/24");  // of HTTP/1.1
  Serve([this](ServerRequest, ResponseWriter* w) { return Hang(&script_, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<Status> {
    Result<Response> response =
        co_await async::WithTimeout(milliseconds(50), client->Do({.target = "/"}));
    (void)co_await s->cancelled.Wait();
    co_return response.status();
  };
  Status status = Run(talk(client_.get(), &script_));
  EXPECT_TRUE(IsDeadlineExceeded(status)) << status.ToString();
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTimeout);
  EXPECT_THAT(status.message(), HasSubstr("deadline exceeded"));
}

TEST_P(TransportTest, CancelledExchangeClosesItsConnection) {
  Serve([this](ServerRequest, ResponseWriter* w) { return Hang(&script_, w); });
  Connect();
  const auto talk = [](async::RealLoop* loop, Client* client, Script* s) -> async::Task<Status> {
    const auto one = [](Client* c, Status* out) -> async::Task<void> {
      Result<Response> response = co_await c->Do({.target = "/"});
      *out = response.status();
    };
    Status status;
    async::Scope scope(*loop);
    scope.Spawn(one(client, &status));
    (void)co_await s->entered.Wait();
    co_await scope.Close();
    (void)co_await s->cancelled.Wait();
    co_return status;
  };
  EXPECT_TRUE(IsCancelled(Run(talk(&loop_, client_.get(), &script_))));
}

TEST_P(TransportTest, CancelledWhileQueuedNeverReachesTheServer) {
  Serve([this](ServerRequest, ResponseWriter* w) { return Hang(&script_, w); });
  Connect({.max_connections = 1});
  const auto talk = [](async::RealLoop* loop, Client* client, Script* s) -> async::Task<Status> {
    int ok = 0;
    async::Scope scope(*loop);
    scope.Spawn(CountOk(client, 0, &ok));
    (void)co_await s->entered.Wait();
    Result<Response> queued =
        co_await async::WithTimeout(milliseconds(20), client->Do({.target = "/queued"}));
    co_await scope.Close();
    co_return queued.status();
  };
  EXPECT_TRUE(IsDeadlineExceeded(Run(talk(&loop_, client_.get(), &script_))));
  EXPECT_EQ(script_.calls, 1);
}

async::Task<Status> PutAfter(Client* client, MonotonicTime send_before) {
  co_return (co_await client->Do(
                 {.method = "PUT", .target = "/late", .body = "x", .send_before = send_before}))
      .status();
}

TEST_P(TransportTest, RequestWhoseTimeHasPassedIsNotSent) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  EXPECT_TRUE(Run(PutAfter(client_.get(), loop_.Now() + std::chrono::seconds(60))).ok());
  EXPECT_EQ(Run(PutAfter(client_.get(), loop_.Now())).message(),
            "http: the time to send the request has passed");
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_P(TransportTest, RequestWhoseTimePassesWhileItIsQueuedIsNotSent) {
  Serve([this](ServerRequest, ResponseWriter* w) { return Hang(&script_, w); });
  Connect({.max_connections = 1});
  auto talk = [](async::RealLoop* loop, Client* client, Script* s) -> async::Task<Status> {
    int ok = 0;
    async::Scope scope(*loop);
    scope.Spawn(CountOk(client, 0, &ok));
    (void)co_await s->entered.Wait();
    const MonotonicTime limit = loop->Now() + milliseconds(20);
    Status late;
    scope.Spawn([](async::Task<Status> task, Status* out) -> async::Task<void> {
      *out = co_await std::move(task);
    }(PutAfter(client, limit), &late));
    (void)co_await async::SleepUntil(limit);
    s->go_on.Set();
    co_await scope.Join();
    co_return late;
  };
  EXPECT_EQ(Run(talk(&loop_, client_.get(), &script_)).message(),
            "http: the time to send the request has passed");
  EXPECT_EQ(script_.calls, 1);
}

// As when a process is stopped in the middle of a handshake, and goes on much later.
TEST_P(TransportTest, RequestWhoseTimePassesWhileItsConnectionIsMadeIsNotSent) {
  const testing::CertificateAuthority authority;
  const testing::KeyPair pair =
      authority.IssueServer({.common_name = "server", .names = {"127.0.0.1"}});
  Serve(
      [this](ServerRequest request, ResponseWriter* writer) {
        requests_.push_back(request);
        return SendAnswer({.status = 200}, writer);
      },
      {.address = "127.0.0.1:0",
       .tls = ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem}});
  test::FaultProxy proxy(loop_, server_->port());
  ASSERT_TRUE(proxy.Start().ok());
  // The server's part of the handshake takes about a tenth of a second.
  proxy.set_pause(std::chrono::microseconds(100));
  Connect({.base_url = StrCat("https://127.0.0.1:", proxy.port()),
           .tls = {.ca_pem = authority.certificate_pem()}});
  const MonotonicTime limit = loop_.Now() + milliseconds(10);
  EXPECT_EQ(Run(PutAfter(client_.get(), limit)).message(),
            "http: the time to send the request has passed");
  EXPECT_GE(loop_.Now(), limit);
  EXPECT_EQ(requests_.size(), 0u);
  EXPECT_TRUE(Get("/after").ok());
}

TEST_P(TransportTest, DeadlineThatHasPassedSendsNothing) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  EXPECT_TRUE(IsDeadlineExceeded(
      Run(async::WithTimeout(milliseconds(0), client_->Do({.target = "/"}))).status()));
  EXPECT_TRUE(Get("/after").ok());
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].target, "/after");
}

async::Task<void> AbortAfterFirst(int* calls, ResponseWriter* writer) {
  if (++*calls == 1) {
    (void)co_await writer->Send({.status = 201});
  } else {
    writer->Abort();
  }
}

class ResendTest : public TransportFixture {
 protected:
  // The first request is answered, the second finds the connection broken after it was received.
  void RunWith(Request request) {
    Serve([this](ServerRequest, ResponseWriter* w) { return AbortAfterFirst(&script_.calls, w); });
    Connect();
    EXPECT_TRUE(Do(request).ok());
    Result<Response> second = Do(request);
    EXPECT_EQ(KindOfFailure(second.status()), TransportError::Kind::kReset);
    EXPECT_EQ(script_.calls, 2);
  }
};

TEST_P(ResendTest, PostIsExecutedOnceWhenItsConnectionDrops) {
  RunWith({.method = "POST", .target = "/", .body = "{}"});
}
TEST_P(ResendTest, PostWithoutBodyIsExecutedOnceWhenItsConnectionDrops) {
  RunWith({.method = "POST", .target = "/"});
}
TEST_P(ResendTest, DeleteIsExecutedOnceWhenItsConnectionDrops) {
  RunWith({.method = "DELETE", .target = "/"});
}
TEST_P(ResendTest, GetIsExecutedOnceWhenItsConnectionDrops) { RunWith({.target = "/"}); }

TEST_P(TransportTest, ConnectionClosedWhileIdleIsNotUsed) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  for (int i = 0; i < 5; ++i) {
    Result<Response> response = Do({.method = "POST", .target = "/", .body = "x"});
    ASSERT_TRUE(response.ok()) << i << " " << response.status().ToString();
    server_->DropConnections();
    EXPECT_TRUE(Run(async::Sleep(milliseconds(1))).ok());
  }
  EXPECT_EQ(requests_.size(), 5u);
}

async::Task<void> DropMidBody(ResponseWriter* writer) {
  (void)co_await writer->StartStream(200, {});
  (void)co_await writer->Write("half of");
  writer->Abort();
}

TEST_P(TransportTest, ServerThatDiesMidBodyIsAReset) {
  Serve([](ServerRequest, ResponseWriter* w) { return DropMidBody(w); });
  Connect();
  Result<Response> response = Get("/");
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kReset);
  EXPECT_THAT(response.status().message(), HasSubstr("unexpected EOF"));
}

TEST_P(TransportTest, ServerThatClosesBeforeTheAnswerIsAReset) {
  Serve([](ServerRequest, ResponseWriter* w) -> async::Task<void> {
    w->Abort();
    co_return;
  });
  Connect();
  Result<Response> response = Get("/");
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kReset);
  EXPECT_THAT(response.status().message(), HasSubstr("EOF"));
}

// Accepts one connection, sends `bytes` after the request's header and closes.
async::Task<void> AnswerRaw(async::RealLoop* loop, int listener, std::string bytes) {
  auto accepting = std::make_shared<Stream>(
      loop->io(), UniqueFd(::fcntl(listener, F_DUPFD_CLOEXEC, 0)), nullptr);
  (void)co_await accepting->WaitReadable();
  accepting->Close(Stream::CloseMode::kAbrupt);
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  auto stream = std::make_shared<Stream>(loop->io(), std::move(fd), nullptr);
  std::string seen;
  while (seen.find("\r\n\r\n") == std::string::npos) {
    Result<std::string> piece = co_await stream->Read();
    if (!piece.ok() || piece->empty()) break;
    seen += *piece;
  }
  (void)co_await stream->Write(std::move(bytes));
  stream->Close(Stream::CloseMode::kAbrupt);
}

struct MalformedCase {
  std::string name;
  std::string bytes;
  TransportError::Kind kind;
};

TEST_P(TransportTest, AnswerThatIsNoHttpIsAFailure) {
  for (const MalformedCase& row : std::vector<MalformedCase>{
           {"garbage", "SSH-2.0-OpenSSH\r\n\r\n", TransportError::Kind::kOther},
           {"cut status line", "HTTP/1.1 20", TransportError::Kind::kReset},
           {"cut header", "HTTP/1.1 200 OK\r\nContent-Le", TransportError::Kind::kReset},
           {"cut body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
            TransportError::Kind::kReset},
           {"nothing", "", TransportError::Kind::kReset}}) {
    Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");
    ASSERT_TRUE(listener.ok());
    Connect({.base_url = StrCat("http://127.0.0.1:", LocalPort(listener->get()))});
    const auto talk = [](async::RealLoop* loop, Client* client, int fd,
                         std::string bytes) -> async::Task<Result<Response>> {
      async::Scope scope(*loop);
      scope.Spawn(AnswerRaw(loop, fd, std::move(bytes)));
      Result<Response> response = co_await client->Do({.target = "/"});
      co_await scope.Close();
      co_return response;
    };
    Result<Response> response = Run(talk(&loop_, client_.get(), listener->get(), row.bytes));
    ASSERT_FALSE(response.ok()) << row.name;
    EXPECT_EQ(KindOfFailure(response.status()), row.kind)
        << row.name << " " << response.status().ToString();
  }
}

// The header alone in the first packet, then the body byte by byte.
async::Task<void> TrickleAnswer(async::RealLoop* loop, int listener, std::string bytes) {
  auto accepting = std::make_shared<Stream>(
      loop->io(), UniqueFd(::fcntl(listener, F_DUPFD_CLOEXEC, 0)), nullptr);
  (void)co_await accepting->WaitReadable();
  accepting->Close(Stream::CloseMode::kAbrupt);
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  auto stream = std::make_shared<Stream>(loop->io(), std::move(fd), nullptr);
  (void)co_await stream->Read();
  for (char c : bytes) {
    (void)co_await stream->Write(std::string(1, c));
    (void)co_await async::Sleep(std::chrono::microseconds(100));
  }
  (void)co_await stream->Read();
  stream->Close(Stream::CloseMode::kAbrupt);
}

TEST_P(TransportTest, AnswerMayComeByteByByte) {
  for (const std::string bytes :
       {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n3\r\nody\r\n0\r\n\r\n"}) {
    Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");
    ASSERT_TRUE(listener.ok());
    Connect({.base_url = StrCat("http://127.0.0.1:", LocalPort(listener->get()))});
    const auto talk = [](async::RealLoop* loop, std::unique_ptr<Client>* client, int fd,
                         std::string text) -> async::Task<Result<Response>> {
      async::Scope scope(*loop);
      scope.Spawn(TrickleAnswer(loop, fd, std::move(text)));
      Result<Response> response = co_await (*client)->Do({.target = "/"});
      client->reset();
      co_await scope.Join();
      co_return response;
    };
    Result<Response> response = Run(talk(&loop_, &client_, listener->get(), bytes));
    ASSERT_TRUE(response.ok()) << response.status().ToString();
    EXPECT_EQ(response->body, "body");
  }
}

TEST_P(TransportTest, BodyThatEndsWithTheConnectionIsRead) {
  Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(listener.ok());
  Connect({.base_url = StrCat("http://127.0.0.1:", LocalPort(listener->get()))});
  const auto talk = [](async::RealLoop* loop, Client* client,
                       int fd) -> async::Task<Result<Response>> {
    async::Scope scope(*loop);
    scope.Spawn(AnswerRaw(loop, fd, "HTTP/1.0 200 OK\r\n\r\nold style"));
    Result<Response> response = co_await client->Do({.target = "/"});
    co_await scope.Close();
    co_return response;
  };
  Result<Response> response = Run(talk(&loop_, client_.get(), listener->get()));
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body, "old style");
}

int FreePort() {
  Result<UniqueFd> listener = ListenTcp("127.0.0.1:0");
  EXPECT_TRUE(listener.ok());
  return LocalPort(listener->get());
}

TEST_P(TransportTest, RefusedPortIsSaidInGosWords) {
  const int port = FreePort();
  Connect({.base_url = StrCat("http://127.0.0.1:", port)});
  Result<Response> response = Get("/");
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kRefused);
  EXPECT_EQ(response.status().message(),
            StrCat("dial tcp 127.0.0.1:", port, ": connect: connection refused"));
}

TEST_P(TransportTest, UnknownHostIsAResolveFailure) {
  Connect({.base_url = "http://no-such-host.invalid"});
  Result<Response> response = Get("/");
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kResolve);
  EXPECT_THAT(response.status().message(), StartsWith("dial tcp: lookup no-such-host.invalid: "));
}

TEST_P(TransportTest, HostNameIsResolved) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect({.base_url = StrCat("http://localhost:", server_->port())});
  Result<Response> response = Get("/");
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(requests_[0].headers.Get("Host"), StrCat("localhost:", server_->port()));
}

// A listener whose queue is full: connections neither succeed nor fail.
TEST_P(TransportTest, ConnectTimeoutIsGosIoTimeout) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const int port = LocalPort(listener.get());
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::vector<UniqueFd> fillers;
  for (int i = 0; i < 3; ++i) {
    fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(fillers.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  Connect({.base_url = StrCat("http://127.0.0.1:", port), .connect_timeout = milliseconds(50)});
  Result<Response> response = Get("/");
  EXPECT_EQ(KindOfFailure(response.status()), TransportError::Kind::kTimeout);
  EXPECT_EQ(response.status().message(), StrCat("dial tcp 127.0.0.1:", port, ": i/o timeout"));
}

// Descriptors of this process that are connected to the port.
std::vector<int> SocketsTo(int port) {
  std::vector<int> found;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer = {};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
      found.push_back(fd);
    }
  }
  return found;
}

int SocketOption(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(::getsockopt(fd, level, option, &value, &size), 0);
  return value;
}

TEST_P(TransportTest, SocketNoticesDeadPeersAndIsNotInherited) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  ASSERT_TRUE(Get("/").ok());
  const std::vector<int> sockets = SocketsTo(server_->port());
  ASSERT_EQ(sockets.size(), 1u);
  const int fd = sockets[0];
  EXPECT_EQ(SocketOption(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(SocketOption(fd, IPPROTO_TCP, TCP_KEEPIDLE), 10);
  EXPECT_EQ(SocketOption(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(SocketOption(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(SocketOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 25000);
  EXPECT_EQ(SocketOption(fd, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

// Waits until no socket is connected to the port: closing may take place on another thread.
async::Task<void> WaitForNoSockets(int port) {
  while (!SocketsTo(port).empty()) (void)co_await async::Sleep(milliseconds(1));
}

TEST_P(TransportTest, IdleConnectionIsClosedAfterItsTime) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect({.idle_connection_timeout = milliseconds(20)});
  ASSERT_TRUE(Get("/").ok());
  Run(async::WithTimeout(std::chrono::seconds(5), WaitForNoSockets(server_->port())));
  EXPECT_THAT(SocketsTo(server_->port()), ElementsAre());
  EXPECT_TRUE(Get("/").ok());
}

TEST_P(TransportTest, DestroyedClientClosesItsConnections) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 200}; });
  Connect();
  ASSERT_TRUE(Get("/").ok());
  client_.reset();
  Run(async::WithTimeout(std::chrono::seconds(5), WaitForNoSockets(server_->port())));
  EXPECT_THAT(SocketsTo(server_->port()), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(Each, TransportTest,
                         ::testing::Values(Transport::kBeast, Transport::kCppRest),
                         [](const auto& info) { return TransportName(info.param); });
INSTANTIATE_TEST_SUITE_P(Each, ResendTest,
                         ::testing::Values(Transport::kBeast, Transport::kCppRest),
                         [](const auto& info) { return TransportName(info.param); });

}  // namespace
}  // namespace csinative::http
