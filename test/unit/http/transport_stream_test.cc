// SPDX-License-Identifier: Apache-2.0
//
// Responses that are read piece by piece.
#include "lib/http/gzip.h"
#include "test/unit/http/transport_fixture.h"

namespace csinative::http {
namespace {

using std::chrono::milliseconds;

using TransportStreamTest = TransportFixture;
using StreamPtr = std::unique_ptr<StreamingResponse>;

// Writes what the test pushes, until the channel closes.
async::Task<void> WritePieces(Script* script, ResponseWriter* writer) {
  Headers headers;
  headers.Add("X-Kind", "watch");
  (void)co_await writer->StartStream(200, std::move(headers));
  script->entered.Set();
  while (true) {
    Result<std::string> piece = co_await script->pieces.Pop();
    if (!piece.ok()) break;
    Status written = co_await writer->Write(std::move(piece).value());
    if (!written.ok()) break;
  }
  script->cancelled.Set();
}

async::Task<void> WriteMuch(Script* script, size_t total, ResponseWriter* writer) {
  (void)co_await writer->StartStream(200, {});
  script->entered.Set();
  std::string chunk(10000, 'x');
  while (script->written < total) {
    Status written = co_await writer->Write(chunk);
    if (!written.ok()) break;
    script->written += chunk.size();
  }
  script->cancelled.Set();
}

TEST_P(TransportStreamTest, PiecesArriveWhileTheServerGoesOn) {
  Serve([this](ServerRequest, ResponseWriter* w) { return WritePieces(&script_, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<void> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/w"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    if (!stream.ok()) co_return;
    EXPECT_EQ((*stream)->status(), 200);
    EXPECT_EQ((*stream)->headers().Get("x-kind"), "watch");
    for (int i = 0; i < 100; ++i) {
      const std::string sent = StrCat("event ", i);
      s->pieces.Push(sent);
      std::string received;
      while (received.size() < sent.size()) {
        Result<std::string> piece = co_await (*stream)->Read();
        EXPECT_TRUE(piece.ok());
        if (!piece.ok() || piece->empty()) co_return;
        received += *piece;
      }
      EXPECT_EQ(received, sent);
    }
    s->pieces.Close(CancelledError());
    Result<std::string> end = co_await (*stream)->Read();
    EXPECT_TRUE(end.ok());
    EXPECT_EQ(std::move(end).value_or("failed"), "");
    Result<std::string> again = co_await (*stream)->Read();
    EXPECT_EQ(std::move(again).value_or("failed"), "");
  };
  Run(talk(client_.get(), &script_));
}

TEST_P(TransportStreamTest, SlowReaderHoldsTheServerBack) {
  constexpr size_t kTotal = 64 << 20;
  Serve([this](ServerRequest, ResponseWriter* w) { return WriteMuch(&script_, kTotal, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<size_t> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    // The server has stopped once it writes nothing for a while.
    size_t before = 0;
    do {
      before = s->written;
      (void)co_await async::Sleep(milliseconds(30));
    } while (s->written != before);
    // Both sockets' buffers, at most some MiB.
    EXPECT_LT(before, kTotal / 2);
    size_t received = 0;
    while (true) {
      Result<std::string> piece = co_await (*stream)->Read();
      EXPECT_TRUE(piece.ok());
      if (!piece.ok() || piece->empty()) break;
      EXPECT_LT(piece->size(), size_t{1} << 20);
      received += piece->size();
    }
    co_return received;
  };
  EXPECT_GE(Run(talk(client_.get(), &script_)), kTotal);
}

TEST_P(TransportStreamTest, DestroyedStreamClosesTheConnection) {
  Serve([this](ServerRequest, ResponseWriter* w) { return WritePieces(&script_, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<void> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    stream = InternalError("dropped");
    (void)co_await s->cancelled.Wait();
  };
  Run(talk(client_.get(), &script_));
}

TEST_P(TransportStreamTest, StreamThatIsHeldBackCanBeDestroyed) {
  Serve([this](ServerRequest, ResponseWriter* w) { return WriteMuch(&script_, 64 << 20, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<void> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    (void)co_await async::Sleep(milliseconds(30));
    stream = InternalError("dropped");
    (void)co_await s->cancelled.Wait();
  };
  Run(talk(client_.get(), &script_));
}

TEST_P(TransportStreamTest, CancelledReadReturnsAtOnce) {
  Serve([this](ServerRequest, ResponseWriter* w) { return WritePieces(&script_, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<Status> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    Result<std::string> piece = co_await async::WithTimeout(milliseconds(20), (*stream)->Read());
    // The stream itself lives on.
    s->pieces.Push("late");
    Result<std::string> late = co_await (*stream)->Read();
    EXPECT_EQ(std::move(late).value_or("failed"), "late");
    co_return piece.status();
  };
  Status status = Run(talk(client_.get(), &script_));
  EXPECT_TRUE(IsDeadlineExceeded(status)) << status.ToString();
}

TEST_P(TransportStreamTest, SilentStreamEndsAfterItsIdleTimeout) {
  Serve([this](ServerRequest, ResponseWriter* w) { return WritePieces(&script_, w); });
  Connect();
  const auto talk = [](Client* client, Script* s) -> async::Task<Status> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, milliseconds(100));
    EXPECT_TRUE(stream.ok());
    for (int i = 0; i < 5; ++i) {  // longer than the timeout in all
      (void)co_await async::Sleep(milliseconds(30));
      s->pieces.Push("tick");
      Result<std::string> piece = co_await (*stream)->Read();
      EXPECT_EQ(std::move(piece).value_or("failed"), "tick");
    }
    Result<std::string> silence = co_await (*stream)->Read();
    co_return silence.status();
  };
  Status status = Run(talk(client_.get(), &script_));
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kTimeout) << status.ToString();
}

TEST_P(TransportStreamTest, ServerThatDiesIsAReset) {
  Serve([this](ServerRequest, ResponseWriter* w) { return WritePieces(&script_, w); });
  Connect();
  const auto talk = [](Client* client, Script* s, Server* server) -> async::Task<Status> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    s->pieces.Push("one");
    Result<std::string> piece = co_await (*stream)->Read();
    EXPECT_EQ(std::move(piece).value_or("failed"), "one");
    server->DropConnections();
    Result<std::string> broken = co_await (*stream)->Read();
    co_return broken.status();
  };
  Status status = Run(talk(client_.get(), &script_, server_.get()));
  EXPECT_EQ(KindOfFailure(status), TransportError::Kind::kReset);
}

TEST_P(TransportStreamTest, RefusalIsAStreamWithItsStatus) {
  ServeAnswers([](const ServerRequest&) { return Response{.status = 410, .body = "too old"}; });
  Connect();
  const auto talk = [](Client* client) -> async::Task<std::string> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ((*stream)->status(), 410);
    std::string body;
    while (true) {
      Result<std::string> piece = co_await (*stream)->Read();
      EXPECT_TRUE(piece.ok());
      if (!piece.ok() || piece->empty()) co_return body;
      body += *piece;
    }
  };
  EXPECT_EQ(Run(talk(client_.get())), "too old");
}

TEST_P(TransportStreamTest, StreamsDoNotTakeThePlacesOfRequests) {
  Serve([this](ServerRequest request, ResponseWriter* w) {
    if (request.target == "/unary") return SendAnswer({.status = 200}, w);
    return WritePieces(&script_, w);
  });
  Connect({.max_connections = 1});
  const auto talk = [](Client* client) -> async::Task<void> {
    std::vector<StreamPtr> streams;
    for (int i = 0; i < 3; ++i) {
      Result<StreamPtr> stream = co_await client->Stream({.target = "/w"}, Duration::zero());
      EXPECT_TRUE(stream.ok());
      streams.push_back(std::move(stream).value());
    }
    Result<Response> response = co_await client->Do({.target = "/unary"});
    EXPECT_TRUE(response.ok());
  };
  Run(talk(client_.get()));
}

async::Task<void> WriteGzip(ResponseWriter* writer, std::string compressed) {
  Headers headers;
  headers.Add("Content-Encoding", "gzip");
  (void)co_await writer->StartStream(200, std::move(headers));
  for (size_t at = 0; at < compressed.size(); at += 100) {
    (void)co_await writer->Write(compressed.substr(at, 100));
  }
}

TEST_P(TransportStreamTest, GzipIsDecodedPieceByPiece) {
  std::string plain;
  for (int i = 0; i < 20000; ++i) plain += StrCat(i * 7919, ",");
  Serve([compressed = Gzip(plain)](ServerRequest, ResponseWriter* w) {
    return WriteGzip(w, compressed);
  });
  Connect();
  const auto talk = [](Client* client) -> async::Task<std::string> {
    Result<StreamPtr> stream = co_await client->Stream({.target = "/"}, Duration::zero());
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ((*stream)->headers().Get("Content-Encoding"), std::nullopt);
    std::string body;
    while (true) {
      Result<std::string> piece = co_await (*stream)->Read();
      EXPECT_TRUE(piece.ok());
      if (!piece.ok() || piece->empty()) co_return body;
      body += *piece;
    }
  };
  EXPECT_TRUE(Run(talk(client_.get())) == plain);
}

INSTANTIATE_TEST_SUITE_P(Each, TransportStreamTest,
                         ::testing::Values(Transport::kBeast, Transport::kCppRest),
                         [](const auto& info) { return TransportName(info.param); });

}  // namespace
}  // namespace csinative::http
