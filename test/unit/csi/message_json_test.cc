// SPDX-License-Identifier: Apache-2.0
//
// Rows of common/20.5.
#include "lib/csi/message_json.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "proto/csi/v1/csi.pb.h"

namespace csinative::csi {
namespace {

using ::csi::v1::CreateVolumeRequest;
using ::csi::v1::VolumeCapability;

TEST(StrippedJsonTest, EmptyMessageIsAnEmptyObject) {
  EXPECT_EQ(StrippedJson(CreateVolumeRequest()), "{}");
}

TEST(StrippedJsonTest, WholeRequestWithSecretsStripped) {
  CreateVolumeRequest request;
  request.set_name("test-volume");
  request.mutable_capacity_range()->set_required_bytes(1024);
  request.mutable_capacity_range()->set_limit_bytes(1024);
  VolumeCapability* capability = request.add_volume_capabilities();
  capability->mutable_mount()->set_fs_type("ext4");
  for (const char* flag : {"flag1", "flag2", "flag3"}) {
    capability->mutable_mount()->add_mount_flags(flag);
  }
  capability->mutable_access_mode()->set_mode(
      VolumeCapability::AccessMode::MULTI_NODE_MULTI_WRITER);
  (*request.mutable_secrets())["secret1"] = "hidden1";
  (*request.mutable_parameters())["param2"] = "param2";
  (*request.mutable_parameters())["param1"] = "param1";
  request.mutable_volume_content_source();
  request.mutable_accessibility_requirements();
  const std::string before = request.SerializeAsString();
  EXPECT_EQ(
      StrippedJson(request),
      R"({"accessibility_requirements":{},"capacity_range":{"limit_bytes":1024,"required_bytes":1024},)"
      R"("name":"test-volume","parameters":{"param1":"param1","param2":"param2"},)"
      R"("secrets":"***stripped***","volume_capabilities":[{"access_mode":)"
      R"({"mode":"MULTI_NODE_MULTI_WRITER"},"mount":{"fs_type":"ext4","mount_flags":)"
      R"(["flag1","flag2","flag3"]}}],"volume_content_source":{}})");
  EXPECT_EQ(request.secrets().at("secret1"), "hidden1");
  EXPECT_EQ(request.SerializeAsString().size(), before.size());
}

TEST(StrippedJsonTest, TopologiesAsNestedMaps) {
  CreateVolumeRequest request;
  request.set_name("foo");
  auto* first = request.mutable_accessibility_requirements()->add_requisite();
  (*first->mutable_segments())["x"] = "y";
  (*first->mutable_segments())["foo"] = "bar";
  auto* second = request.mutable_accessibility_requirements()->add_requisite();
  (*second->mutable_segments())["a"] = "b";
  EXPECT_EQ(StrippedJson(request),
            R"({"accessibility_requirements":{"requisite":[{"segments":{"foo":"bar","x":"y"}},)"
            R"({"segments":{"a":"b"}}]},"name":"foo"})");
}

TEST(StrippedJsonTest, UnknownEnumNumberPrintsAsNumber) {
  CreateVolumeRequest request;
  request.add_volume_capabilities()->mutable_access_mode()->set_mode(
      static_cast<VolumeCapability::AccessMode::Mode>(12345));
  EXPECT_EQ(StrippedJson(request), R"({"volume_capabilities":[{"access_mode":{"mode":12345}}]})");
}

TEST(StrippedJsonTest, WrapperAndTimestampPrintAsObjects) {
  ::csi::v1::ProbeResponse probe;
  probe.mutable_ready()->set_value(true);
  EXPECT_EQ(StrippedJson(probe), R"({"ready":{"value":true}})");
  probe.mutable_ready()->set_value(false);
  EXPECT_EQ(StrippedJson(probe), R"({"ready":{}})");
  ::csi::v1::CreateSnapshotResponse snapshot;
  snapshot.mutable_snapshot()->mutable_creation_time()->set_seconds(5);
  snapshot.mutable_snapshot()->mutable_creation_time()->set_nanos(7);
  EXPECT_EQ(StrippedJson(snapshot), R"({"snapshot":{"creation_time":{"nanos":7,"seconds":5}}})");
}

TEST(StrippedJsonTest, EscapesAsGoDoes) {
  CreateVolumeRequest request;
  request.set_name("<a&b>\xe2\x80\xa8");
  EXPECT_EQ(StrippedJson(request), R"({"name":"\u003ca\u0026b\u003e\u2028"})");
}

TEST(StrippedJsonTest, UnknownFieldsAreNotPrinted) {
  CreateVolumeRequest request;
  request.set_name("n");
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(9000, "hidden");
  EXPECT_EQ(StrippedJson(request), R"({"name":"n"})");
}

// A message that our specification does not have: secrets of every shape are found by the option.
TEST(StrippedJsonTest, OptionHidesAnyTypeAtAnyDepth) {
  using google::protobuf::FieldDescriptorProto;
  google::protobuf::FileDescriptorProto file;
  file.set_name("future.proto");
  file.set_package("future");
  file.set_syntax("proto3");
  file.add_dependency("proto/csi/v1/csi.proto");
  auto add = [](google::protobuf::DescriptorProto* message, const char* name, int number,
                FieldDescriptorProto::Type type, bool secret, bool repeated = false,
                const char* type_name = "") {
    FieldDescriptorProto* field = message->add_field();
    field->set_name(name);
    field->set_number(number);
    field->set_type(type);
    field->set_label(repeated ? FieldDescriptorProto::LABEL_REPEATED
                              : FieldDescriptorProto::LABEL_OPTIONAL);
    if (*type_name != '\0') field->set_type_name(type_name);
    if (secret) field->mutable_options()->SetExtension(::csi::v1::csi_secret, true);
  };
  auto* inner = file.add_message_type();
  inner->set_name("Inner");
  add(inner, "array_secret", 1, FieldDescriptorProto::TYPE_STRING, true);
  add(inner, "plain", 2, FieldDescriptorProto::TYPE_STRING, false);
  auto* outer = file.add_message_type();
  outer->set_name("Outer");
  add(outer, "new_secret_int", 1, FieldDescriptorProto::TYPE_INT32, true);
  add(outer, "list", 2, FieldDescriptorProto::TYPE_MESSAGE, false, true, ".future.Inner");
  outer->add_oneof_decl()->set_name("either");
  add(outer, "oneof_secret_field", 3, FieldDescriptorProto::TYPE_STRING, true);
  outer->mutable_field(2)->set_oneof_index(0);

  google::protobuf::DescriptorPool pool(google::protobuf::DescriptorPool::generated_pool());
  const auto* built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  google::protobuf::DynamicMessageFactory factory(&pool);
  std::unique_ptr<google::protobuf::Message> message(
      factory.GetPrototype(built->FindMessageTypeByName("Outer"))->New());
  const auto* descriptor = message->GetDescriptor();
  const auto* r = message->GetReflection();
  r->SetInt32(message.get(), descriptor->FindFieldByName("new_secret_int"), 100);
  r->SetString(message.get(), descriptor->FindFieldByName("oneof_secret_field"), "hidden");
  auto* element = r->AddMessage(message.get(), descriptor->FindFieldByName("list"));
  const auto* er = element->GetReflection();
  er->SetString(element, element->GetDescriptor()->FindFieldByName("array_secret"), "hidden");
  er->SetString(element, element->GetDescriptor()->FindFieldByName("plain"), "seen");
  EXPECT_EQ(StrippedJson(*message),
            R"({"list":[{"array_secret":"***stripped***","plain":"seen"}],)"
            R"("new_secret_int":"***stripped***","oneof_secret_field":"***stripped***"})");
}

}  // namespace
}  // namespace csinative::csi
