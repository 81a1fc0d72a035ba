// SPDX-License-Identifier: Apache-2.0
//
// Our schema and converters against bytes that Kubernetes' own serializers (1.36) made: for each
// kind one object with every field set and one with none, in both encodings. testdata/README.md
// says how the files came about.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "apis/envelope.h"
#include "apis/json/from_json.h"
#include "apis/json/to_json.h"
#include "apis/k8s.h"
#include "apis/resource_table.h"

namespace csinative::apis {
namespace {

using google::protobuf::Message;

std::string ReadFile(const std::string& name) {
  std::ifstream in("test/unit/apis/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const Message* PrototypeOf(const Envelope& envelope) {
  if (envelope.kind == "Status") return &meta::Status::default_instance();
  if (envelope.kind == "DeleteOptions") return &meta::DeleteOptions::default_instance();
  if (envelope.kind == "Binding") return &core::Binding::default_instance();
  if (envelope.kind == "TokenRequest") return &authentication::TokenRequest::default_instance();
  const ResourceInfo* info = FindKind(envelope.api_version, envelope.kind);
  return info ? info->prototype : nullptr;
}

class GoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Reads <kind>.<variant>.pb and the JSON next to it.
  void Load(const std::string& variant) {
    bytes_ = ReadFile(std::string(GetParam()) + "." + variant + ".pb");
    json_ = ReadFile(std::string(GetParam()) + "." + variant + ".json");
    ASSERT_FALSE(json_.empty());
    json_.pop_back();  // the line end
    Result<Envelope> envelope = Unwrap(bytes_);
    ASSERT_TRUE(envelope.ok());
    envelope_ = *envelope;
    const Message* prototype = PrototypeOf(envelope_);
    ASSERT_NE(prototype, nullptr);
    message_.reset(prototype->New());
    ASSERT_TRUE(
        message_->ParseFromArray(envelope_.raw.data(), static_cast<int>(envelope_.raw.size())));
  }

  std::string AsServerJson() const {
    return ToJsonString(
        *message_,
        {.api_version = envelope_.api_version, .kind = envelope_.kind, .like_api_server = true});
  }

  std::string bytes_;
  std::string json_;
  Envelope envelope_;  // views into bytes_
  std::unique_ptr<Message> message_;
};

TEST_P(GoldenTest, FullProtobufRoundTripsToTheByte) {
  ASSERT_NO_FATAL_FAILURE(Load("full"));
  EXPECT_EQ(Wrap(envelope_.api_version, envelope_.kind, *message_), bytes_);
}

TEST_P(GoldenTest, SchemaKnowsEveryField) {
  ASSERT_NO_FATAL_FAILURE(Load("full"));
  std::string before = message_->SerializeAsString();
  message_->DiscardUnknownFields();
  EXPECT_EQ(message_->SerializeAsString(), before);
}

TEST_P(GoldenTest, FullProtobufBecomesGosJson) {
  ASSERT_NO_FATAL_FAILURE(Load("full"));
  EXPECT_EQ(AsServerJson(), json_);
}

TEST_P(GoldenTest, FullJsonBecomesGosProtobuf) {
  ASSERT_NO_FATAL_FAILURE(Load("full"));
  message_->Clear();
  std::vector<std::string> unknown;
  Status status = FromJsonString(json_, message_.get(), {.unknown_fields = &unknown});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(unknown, std::vector<std::string>());
  EXPECT_EQ(Wrap(envelope_.api_version, envelope_.kind, *message_), bytes_);
}

TEST_P(GoldenTest, EmptyObjectHasTheFieldsThatGoAlwaysWrites) {
  ASSERT_NO_FATAL_FAILURE(Load("zero"));
  EXPECT_EQ(AsServerJson(), json_);
  // The same when the sender left out everything that is empty, as we do.
  message_->Clear();
  EXPECT_EQ(AsServerJson(), json_);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, GoldenTest,
    ::testing::Values("binding", "configmap", "csidriver", "csinode", "csistoragecapacity",
                      "deleteoptions", "event", "lease", "namespace", "node", "persistentvolume",
                      "persistentvolumeclaim", "pod", "secret", "serviceaccount", "status",
                      "storageclass", "tokenrequest", "volumeattachment", "volumeattributesclass"),
    [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace csinative::apis
