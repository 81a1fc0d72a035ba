// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/watch_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/k8s.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;

core::Node NodeNamed(std::string name) {
  core::Node node;
  node.mutable_metadata()->set_name(std::move(name));
  return node;
}

// "type name" of each event, and how it ended.
std::vector<std::string> Drain(WatchDecoder& decoder) {
  std::vector<std::string> out;
  for (;;) {
    const Result<std::optional<WatchEvent>> event = decoder.Next();
    if (!event.ok()) {
      out.push_back("!" + event.status().message());
      return out;
    }
    if (!*event) return out;
    core::Node node;
    const Status decoded = DecodeObject((*event)->object, UnknownFields::kDrop, &node);
    EXPECT_TRUE(decoded.ok()) << decoded.ToString();
    EXPECT_EQ((*event)->object.kind, "Node");
    EXPECT_EQ((*event)->object.api_version, "v1");
    out.push_back(StrCat(static_cast<int>((*event)->type), " ", node.metadata().name()));
  }
}

std::string JsonEvent(std::string_view type, const core::Node& node) {
  return StrCat(R"({"type":")", type, R"(","object":)", testing::JsonOf(node), "}\n");
}

struct Dialect {
  Encoding encoding;
  std::string stream;
};

std::vector<Dialect> BothDialects() {
  return {{Encoding::kProtobuf, testing::Frame("ADDED", NodeNamed("a")) +
                                    testing::Frame("MODIFIED", NodeNamed("b{\"")) +
                                    testing::Frame("DELETED", NodeNamed("c"))},
          {Encoding::kJson, JsonEvent("ADDED", NodeNamed("a")) +
                                JsonEvent("MODIFIED", NodeNamed("b{\"")) + " \n" +
                                JsonEvent("DELETED", NodeNamed("c"))}};
}

// kube-client 24.6 F1, F3, F5.
TEST(WatchDecoderTest, EventsComeOutWhateverTheCutting) {
  for (const Dialect& dialect : BothDialects()) {
    for (size_t step : {size_t{1}, size_t{2}, size_t{7}, dialect.stream.size()}) {
      WatchDecoder decoder(dialect.encoding);
      std::vector<std::string> all;
      for (size_t at = 0; at < dialect.stream.size(); at += step) {
        decoder.Feed(std::string_view(dialect.stream).substr(at, step));
        for (std::string& line : Drain(decoder)) all.push_back(std::move(line));
      }
      EXPECT_THAT(all, ElementsAre("0 a", "1 b{\"", "2 c")) << step;
      EXPECT_TRUE(decoder.Finish().ok());
    }
  }
}

// F2.
TEST(WatchDecoderTest, EndInsideAnEventIsUnexpected) {
  for (const Dialect& dialect : BothDialects()) {
    WatchDecoder decoder(dialect.encoding);
    decoder.Feed(std::string_view(dialect.stream).substr(0, dialect.stream.size() - 3));
    EXPECT_EQ(Drain(decoder).size(), 2u);
    EXPECT_EQ(decoder.Finish().message(), "unexpected EOF");
  }
}

// F4.
TEST(WatchDecoderTest, HugeFrameIsRefused) {
  WatchDecoder decoder(Encoding::kProtobuf);
  decoder.Feed(std::string_view("\x01\x00\x00\x01", 4));
  EXPECT_THAT(Drain(decoder),
              ElementsAre("!object to decode was longer than maximum allowed size"));
}

// F8.
TEST(WatchDecoderTest, UnknownTypeIsAnError) {
  WatchDecoder protobuf(Encoding::kProtobuf);
  protobuf.Feed(testing::Frame("CHANGED", NodeNamed("a")));
  EXPECT_THAT(Drain(protobuf), ElementsAre("!got invalid watch event type: CHANGED"));
  WatchDecoder json(Encoding::kJson);
  json.Feed(JsonEvent("CHANGED", NodeNamed("a")));
  EXPECT_THAT(Drain(json), ElementsAre("!got invalid watch event type: CHANGED"));
}

TEST(WatchDecoderTest, WhatIsNoEventIsAnError) {
  for (const char* text : {"1 ", "[]", "{}", R"({"type":"ADDED"})", R"({"type":1,"object":{}})",
                           "}", R"({"type":"ADDED","object":{]})"}) {
    WatchDecoder decoder(Encoding::kJson);
    decoder.Feed(text);
    const Result<std::optional<WatchEvent>> event = decoder.Next();
    EXPECT_FALSE(event.ok()) << text;
  }
}

}  // namespace
}  // namespace csinative::kube
