// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/codec.h"

#include <gtest/gtest.h>

#include "apis/k8s.h"
#include "lib/kube/errors.h"
#include "test/support/kube_wire.h"

namespace csinative::kube {
namespace {

const ResourceInfo& Volumes() { return ResourceOf<core::PersistentVolume>(); }

Status Check(ApiResponse response, Encoding fallback = Encoding::kJson,
             std::string_view method = "GET") {
  return CheckAnswer(response, fallback, {method, &Volumes(), "bar"});
}

TEST(EncodingOfTest, ReadsMediaTypes) {
  EXPECT_EQ(*EncodingOf("", Encoding::kJson), Encoding::kJson);
  EXPECT_EQ(*EncodingOf("application/json; charset=utf-8", Encoding::kProtobuf), Encoding::kJson);
  EXPECT_EQ(*EncodingOf("application/vnd.kubernetes.protobuf;stream=watch", Encoding::kJson),
            Encoding::kProtobuf);
  EXPECT_EQ(EncodingOf("foobar", Encoding::kJson).status().code(), Code::kUnimplemented);
}

// kube-client 24.4 R1 to R12.
TEST(CheckAnswerTest, SuccessCodesPass) {
  EXPECT_TRUE(Check({.code = 200}).ok());
  EXPECT_TRUE(Check({.code = 201}).ok());
  EXPECT_TRUE(Check({.code = 204}).ok());
  for (int code : {199, 401, 403, 404, 409, 422, 500}) EXPECT_FALSE(Check({.code = code}).ok());
}

TEST(CheckAnswerTest, BrokenJsonBodyOfAFailureIsNotShown) {
  const Status status = Check({.code = 401, .content_type = "application/json", .body = "aaaaa"});
  EXPECT_TRUE(IsUnauthorized(status));
  EXPECT_EQ(status.message().find("aaaaa"), std::string::npos);
  EXPECT_NE(status.message().find("server has asked for the client to provide"), std::string::npos);
}

TEST(CheckAnswerTest, TextBodyOfAFailureIsKeptAsCause) {
  const Status status = Check({.code = 500, .content_type = "text/plain", .body = " why \n"});
  EXPECT_EQ(status.api_error()->causes[0].message, "why");
}

TEST(CheckAnswerTest, MalformedContentTypeIsAnInternalError) {
  const Status status = Check({.code = 500, .content_type = "application/,others"});
  EXPECT_EQ(status.message(), "Internal error occurred: mime: expected token after slash");
  EXPECT_EQ(status.api_error()->http_code, 500);
}

TEST(CheckAnswerTest, UnknownContentTypeGivesTheGenericError) {
  EXPECT_TRUE(IsNotFound(Check({.code = 404, .content_type = "application/unrecognized"})));
}

TEST(CheckAnswerTest, StatusObjectReplacesTheGenericError) {
  const Status status = Check(testing::JsonAnswer(
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone for good",)"
      R"("reason":"NotFound","details":{"name":"x","kind":"persistentvolumes",)"
      R"("causes":[{"reason":"R","message":"M","field":"F"}],"retryAfterSeconds":3},"code":404})",
      400));
  ASSERT_TRUE(IsNotFound(status));
  EXPECT_EQ(status.message(), "gone for good");
  EXPECT_EQ(status.api_error()->name, "x");
  EXPECT_EQ(status.api_error()->causes[0].field, "F");
  EXPECT_EQ(SuggestedDelay(status), std::chrono::seconds(3));
}

TEST(CheckAnswerTest, StatusWithoutVersionCountsAndWithoutKindDoesNot) {
  EXPECT_TRUE(IsNotFound(
      Check(testing::JsonAnswer(R"({"kind":"Status","status":"Failure","code":404})", 400))));
  for (const char* body : {R"({"status":"Failure","code":404})", "{}",
                           R"({"kind":"Status","apiVersion":"v1","status":"Success"})"}) {
    const Status status = Check(testing::JsonAnswer(body, 400));
    EXPECT_EQ(status.api_error()->reason, "BadRequest") << body;
  }
}

TEST(CheckAnswerTest, ProtobufStatusIsUnderstood) {
  const Status status = Check(testing::ProtobufFailure(409, "Conflict", "try again"));
  EXPECT_TRUE(IsConflict(status));
  EXPECT_EQ(status.message(), "try again");
  EXPECT_EQ(status.code(), Code::kAborted);
}

TEST(CheckAnswerTest, FailureInsideASuccessfulAnswerIsAFailure) {
  EXPECT_TRUE(IsNotFound(Check(testing::JsonAnswer(
      R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})"))));
}

TEST(CheckAnswerTest, RetryAfterOfAGenericErrorIsKept) {
  EXPECT_EQ(SuggestedDelay(Check({.code = 429, .retry_after = "7"})), std::chrono::seconds(7));
}

core::PersistentVolume SomeVolume() {
  core::PersistentVolume volume;
  volume.mutable_metadata()->set_name("pv-1");
  volume.mutable_metadata()->set_resourceversion("5");
  volume.mutable_spec()->set_storageclassname("fast");
  return volume;
}

TEST(DecodeAnswerTest, DecodesBothEncodings) {
  for (const ApiResponse& answer : {testing::ProtobufAnswer(SomeVolume()),
                                    testing::JsonAnswer(testing::JsonOf(SomeVolume()))}) {
    core::PersistentVolume decoded;
    const Status status = DecodeAnswer(answer, Encoding::kProtobuf, Volumes(), &decoded);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(decoded.SerializeAsString(), SomeVolume().SerializeAsString());
  }
}

TEST(DecodeAnswerTest, EmptyBodyIsNamed) {
  core::PersistentVolume decoded;
  EXPECT_EQ(DecodeAnswer({.code = 200, .content_type = "application/json"}, Encoding::kJson,
                         Volumes(), &decoded)
                .message(),
            "0-length response with status code: 200 and content type: application/json");
}

TEST(DecodeAnswerTest, AnotherKindIsRefused) {
  core::PersistentVolume decoded;
  EXPECT_FALSE(
      DecodeAnswer(testing::ProtobufAnswer(core::Node()), Encoding::kProtobuf, Volumes(), &decoded)
          .ok());
}

// Fields of the server that apis/ does not declare: managedFields here, field 17 of ObjectMeta.
std::string WithUnknownField(const google::protobuf::Message& object) {
  std::unique_ptr<google::protobuf::Message> copy(object.New());
  copy->CopyFrom(object);
  const auto* metadata = copy->GetDescriptor()->FindFieldByNumber(1);
  google::protobuf::Message* meta = copy->GetReflection()->MutableMessage(copy.get(), metadata);
  meta->GetReflection()->MutableUnknownFields(meta)->AddLengthDelimited(17, "managed");
  return copy->SerializePartialAsString();
}

TEST(DecodeAnswerTest, UnknownFieldsAreDroppedExceptForKindsThatAreWrittenWhole) {
  core::PersistentVolume volume;
  ApiResponse answer{.code = 200,
                     .body = apis::WrapRaw("v1", "PersistentVolume", WithUnknownField(volume))};
  ASSERT_TRUE(DecodeAnswer(answer, Encoding::kProtobuf, Volumes(), &volume).ok());
  EXPECT_EQ(volume.SerializeAsString().find("managed"), std::string::npos);

  coordination::Lease lease;
  answer.body = apis::WrapRaw("coordination.k8s.io/v1", "Lease", WithUnknownField(lease));
  ASSERT_TRUE(
      DecodeAnswer(answer, Encoding::kProtobuf, ResourceOf<coordination::Lease>(), &lease).ok());
  EXPECT_NE(lease.SerializeAsString().find("managed"), std::string::npos);
}

TEST(EncodeBodyTest, WritesEnvelopeOrJsonLine) {
  core::ConfigMap map;
  map.mutable_metadata()->set_name("m");
  EXPECT_EQ(EncodeBody(Encoding::kJson, "v1", "ConfigMap", map),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m"}})"
            "\n");
  const std::string envelope = EncodeBody(Encoding::kProtobuf, "v1", "ConfigMap", map);
  // kube-client 8.1.
  const std::string_view head(
      "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
      "ConfigMap",
      21);
  EXPECT_EQ(envelope.substr(0, head.size()), head);
}

}  // namespace
}  // namespace csinative::kube
