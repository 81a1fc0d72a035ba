// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.6: frames, JSON streams and envelopes, and what becomes of broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apis/envelope.h"
#include "lib/base/strings.h"
#include "lib/kube/json_scanner.h"
#include "lib/kube/watch_decoder.h"
#include "lib/kube/watch_stream.h"
#include "test/support/oracle.h"
#include "test/unit/kube/client_fixture.h"

namespace csinative::kube {
namespace {

using namespace std::string_literals;  // NOLINT: texts with zero bytes
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

// A frame as it is on the wire: four bytes of length, most significant first.
std::string Framed(const std::string& payload) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(payload.size() >> shift);
  return out + payload;
}

// Feeds `bytes` in pieces of these sizes, then the rest, and names the events that come out.
Texts FramesOf(const std::string& bytes, const std::vector<size_t>& pieces) {
  apis::WatchFrameReader reader;
  Texts out;
  const auto drain = [&] {
    for (;;) {
      const Result<std::optional<apis::WatchFrame>> frame = reader.Next();
      if (!frame.ok()) {
        out.push_back("!" + frame.status().message());
        continue;
      }
      if (!*frame) return;
      out.push_back((*frame)->type);
    }
  };
  size_t at = 0;
  for (const size_t piece : pieces) {
    reader.Feed(std::string_view(bytes).substr(at, piece));
    at += std::min(piece, bytes.size() - at);
    drain();
  }
  reader.Feed(std::string_view(bytes).substr(at));
  drain();
  out.push_back(reader.Finish().ok() ? "end" : reader.Finish().message());
  return out;
}

TEST(WireOracle, LengthDelimitedFrames) {
  // The oracle's frames hold any bytes; here they are events of as many sizes, one of them empty.
  const std::string stream = Framed("\x0a\x02" + "01"s) + Framed("\x0a\x03" + "567"s) + Framed("") +
                             Framed("\x0a\x01" + "8"s);
  for (const std::vector<size_t>& pieces :
       {std::vector<size_t>{1, 1, 2, 3, 3, 3}, std::vector<size_t>{40}, std::vector<size_t>{}}) {
    const oracle::Row row("kube-client/24.6/1");
    EXPECT_THAT(FramesOf(stream, pieces), ElementsAre("01", "567", "", "8", "end"));
  }
  {
    const oracle::Row row("kube-client/24.6/3");
    EXPECT_THAT(FramesOf("\0\0\0\x04\x0a\x02"s, {1, 1}), ElementsAre("unexpected EOF"));
  }
  {
    const oracle::Row row("kube-client/24.6/5");
    const std::string large(apis::kMaxWatchFrame + 1, 'x');
    EXPECT_THAT(FramesOf(Framed(large) + Framed("\x0a\x01" + "8"s), {1 << 20, 1 << 22}),
                ElementsAre("!object to decode was longer than maximum allowed size", "8", "end"));
  }
}

TEST(WireOracle, JsonStreams) {
  const std::string stream = "{\"test\":true}\n1\n[\"a\"]\n";
  for (const size_t piece : {size_t{20}, size_t{3}, size_t{1}}) {
    const oracle::Row row("kube-client/24.6/4");
    Texts values;
    std::string buffer;
    JsonScanner scanner;
    for (size_t at = 0; at < stream.size(); at += piece) {
      buffer += stream.substr(at, piece);
      for (;;) {
        buffer.erase(0, buffer.find_first_not_of('\n'));
        const size_t length = scanner.Find(buffer);
        if (length == JsonScanner::npos) break;
        values.push_back(buffer.substr(0, length));
        buffer.erase(0, length);
        scanner.Reset();
      }
    }
    EXPECT_THAT(values, ElementsAre("{\"test\":true}", "1", "[\"a\"]")) << piece;
  }
}

TEST(WireOracle, Envelopes) {
  struct Entry {
    std::string bytes;
    const char* text;
  };
  const char* const kPrefix =
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
  const Entry kEntries[] = {
      {"", "empty data"}, {"nope", kPrefix}, {"k8s\0"s, "empty body"}, {"k8s", kPrefix}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.6/10");
    EXPECT_EQ(apis::Unwrap(entry.bytes).status().message(), entry.text);
  }
}

class WatchOracle : public ClientFixture {
 protected:
  // Everything that a watch tells, "!" before a failure; "closed" for its end.
  Texts Tell(std::unique_ptr<ApiStream> stream, int verbosity = 0) {
    const log::Logger log = log::NewLogger(output_);
    log.backend()->SetVerbosity(verbosity);
    std::unique_ptr<WatchStream> watch = *WatchStream::Create(loop_, log, std::move(stream));
    Texts out;
    for (;;) {
      const Result<std::optional<WatchEvent>> event = watch->Next();
      if (!event.ok()) {
        failure_ = event.status();
        out.push_back("!" + event.status().message());
        return out;
      }
      if (*event) {
        core::Node node;
        EXPECT_TRUE(DecodeObject((*event)->object, UnknownFields::kDrop, &node).ok());
        out.push_back(StrCat(static_cast<int>((*event)->type), " ", node.metadata().name()));
        continue;
      }
      if (!*Run(watch->Fill())) {
        out.push_back("closed");
        return out;
      }
    }
  }
  static std::string Json(const std::string& type, const std::string& name) {
    return StrCat(R"({"type":")", type, R"(","object":)", testing::JsonOf(NodeNamed(name)), "}\n");
  }
  static std::string ThreeFrames() {
    return testing::Frame("ADDED", NodeNamed("first")) +
           testing::Frame("MODIFIED", NodeNamed("second")) +
           testing::Frame("DELETED", NodeNamed("last"));
  }
  Status failure_;
};

TEST_F(WatchOracle, Events) {
  const Texts kThree = {"0 first", "1 second", "2 last", "closed"};
  {
    // The client asks for protobuf, the server sends JSON.
    const oracle::Row row("kube-client/24.6/6");
    testing::FakeStream server = transport_->AnswerStream("application/json");
    server.Send(Json("ADDED", "first") + Json("MODIFIED", "second"));
    server.Send(Json("DELETED", "last"));
    server.End();
    EXPECT_EQ(Tell(*Watch()), kThree);
  }
  {
    const oracle::Row row("kube-client/24.6/8");
    Restart();
    for (int i = 0; i < 3; ++i) transport_->Answer({.code = 429, .retry_after = "1"});
    testing::FakeStream server = transport_->AnswerStream();
    server.Send(ThreeFrames());
    server.End();
    EXPECT_EQ(Tell(*Watch()), kThree);
    EXPECT_EQ(attempts(), 4u);
  }
  {
    const oracle::Row row("kube-client/24.6/2");
    Restart();
    testing::FakeStream server = transport_->AnswerStream();
    server.Fail(Status(Code::kDeadlineExceeded, "net/http: request canceled (Client.Timeout)",
                       TransportError{TransportError::Kind::kTimeout}));
    output_->Clear();
    EXPECT_THAT(Tell(*Watch()), ElementsAre("closed"));
    EXPECT_TRUE(output_->Records().empty()) << "nothing is said about it";
  }
}

TEST_F(WatchOracle, Garbage) {
  for (const char* type :
       {"application/json", "application/vnd.kubernetes.protobuf;stream=watch"}) {
    const oracle::Row row("kube-client/24.6/7");
    Restart();
    testing::FakeStream server = transport_->AnswerStream(std::string(type));
    server.Send("foobar ");
    const Texts told = Tell(*Watch());
    ASSERT_EQ(told.size(), 1u) << type;
    EXPECT_THAT(told[0], HasSubstr("!unable to decode an event from the watch stream: "));
  }
  const std::string kBroken[] = {testing::Frame("STRANGE", NodeNamed()),
                                 Framed("\x0a\x05" + "ADDED"s + "\x12\x05\x0a\x03" + "abc"s)};
  for (const std::string& bytes : kBroken) {
    const oracle::Row row("kube-client/24.6/9");
    Restart();
    testing::FakeStream server = transport_->AnswerStream();
    server.Send(bytes + ThreeFrames());
    EXPECT_EQ(Tell(*Watch()).size(), 1u);
    ASSERT_NE(failure_.api_error(), nullptr);
    EXPECT_EQ(failure_.api_error()->reason, "InternalError");
    EXPECT_EQ(failure_.api_error()->http_code, 500);
    Texts causes;
    for (const ApiCause& cause : failure_.api_error()->causes) causes.push_back(cause.reason);
    EXPECT_THAT(causes, ElementsAre("UnexpectedServerResponse", "ClientWatchDecoding"));
    EXPECT_TRUE(server.closed());
  }
}

}  // namespace
}  // namespace csinative::kube
