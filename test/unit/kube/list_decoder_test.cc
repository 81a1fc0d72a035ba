// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/list_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/k8s.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::Node NodeNamed(std::string name) {
  core::Node node;
  node.mutable_metadata()->set_name(std::move(name));
  return node;
}

std::vector<std::string> Drain(ListDecoder& decoder) {
  std::vector<std::string> names;
  for (;;) {
    const Result<std::optional<EncodedObject>> item = decoder.Next();
    if (!item.ok()) {
      names.push_back("!" + item.status().message());
      return names;
    }
    if (!*item) return names;
    core::Node node;
    const Status decoded = DecodeObject(**item, UnknownFields::kDrop, &node);
    EXPECT_TRUE(decoded.ok()) << decoded.ToString();
    names.push_back(node.metadata().name());
  }
}

std::string ProtobufBody() {
  return testing::ProtobufList<core::Node>("42", {NodeNamed("a"), NodeNamed(""), NodeNamed("c")},
                                           "more")
      .body;
}

std::string JsonBody() {
  return R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"42",)"
         R"("continue":"more"}, "items" : [{"metadata":{"name":"a"}} , {"metadata":{"name":""},)"
         R"("x":"]}\"{["},{"metadata":{"name":"c"}}],"extra":[1,{"items":[2]}]})"
         "\n";
}

TEST(ListDecoderTest, ItemsComeOutWhateverTheCutting) {
  const std::pair<Encoding, std::string> bodies[] = {{Encoding::kProtobuf, ProtobufBody()},
                                                     {Encoding::kJson, JsonBody()}};
  for (const auto& [encoding, body] : bodies) {
    for (size_t step : {size_t{1}, size_t{3}, size_t{64}, body.size()}) {
      ListDecoder decoder(encoding);
      std::vector<std::string> all;
      for (size_t at = 0; at < body.size(); at += step) {
        decoder.Feed(std::string_view(body).substr(at, step));
        for (std::string& name : Drain(decoder)) all.push_back(std::move(name));
      }
      EXPECT_THAT(all, ElementsAre("a", "", "c")) << step;
      EXPECT_TRUE(decoder.Finish().ok());
      EXPECT_EQ(decoder.metadata().resourceversion(), "42");
      EXPECT_EQ(decoder.metadata().continue_(), "more");
      EXPECT_EQ(decoder.kind(), "NodeList");
    }
  }
}

TEST(ListDecoderTest, EveryShorterBodyIsIncomplete) {
  const std::pair<Encoding, std::string> bodies[] = {{Encoding::kProtobuf, ProtobufBody()},
                                                     {Encoding::kJson, JsonBody()}};
  for (const auto& [encoding, body] : bodies) {
    // The protobuf envelope ends with two empty fields of two bytes that may be missing, the JSON
    // text with a line feed.
    const size_t optional_tail = encoding == Encoding::kProtobuf ? 4 : 1;
    for (size_t length = 0; length < body.size() - optional_tail; ++length) {
      ListDecoder decoder(encoding);
      decoder.Feed(std::string_view(body).substr(0, length));
      Drain(decoder);
      EXPECT_FALSE(decoder.Finish().ok()) << length;
    }
  }
}

TEST(ListDecoderTest, EmptyListsAreComplete) {
  ListDecoder protobuf(Encoding::kProtobuf);
  protobuf.Feed(testing::ProtobufList<core::Node>("1", {}).body);
  EXPECT_THAT(Drain(protobuf), IsEmpty());
  EXPECT_TRUE(protobuf.Finish().ok());
  for (const char* body : {R"({"items":[]})", R"({"items":null,"metadata":{}})", "{}"}) {
    ListDecoder json(Encoding::kJson);
    json.Feed(body);
    EXPECT_THAT(Drain(json), IsEmpty()) << body;
    EXPECT_TRUE(json.Finish().ok()) << body;
  }
}

TEST(ListDecoderTest, OtherBytesAreErrors) {
  ListDecoder protobuf(Encoding::kProtobuf);
  protobuf.Feed("{\"kind\":\"NodeList\"}");
  EXPECT_THAT(Drain(protobuf),
              ElementsAre("!provided data does not appear to be a protobuf message, expected "
                          "prefix [107 56 115 0]"));
  ListDecoder json(Encoding::kJson);
  json.Feed(ProtobufBody());
  EXPECT_THAT(Drain(json), ElementsAre("!unable to decode a list from the response"));
}

// An item that claims to be longer than the list it is in.
TEST(ListDecoderTest, ItemBeyondItsListIsAnError) {
  ListDecoder decoder(Encoding::kProtobuf);
  decoder.Feed(apis::WrapRaw("v1", "NodeList", std::string_view("\x12\x7f", 2)));
  EXPECT_THAT(Drain(decoder), ElementsAre("!unable to decode a list from the response"));
}

}  // namespace
}  // namespace csinative::kube
