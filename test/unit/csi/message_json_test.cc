// SPDX-License-Identifier: Apache-2.0
//
// Rows of common/20.5.
#include "lib/csi/message_json.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "proto/csi/v1/csi.pb.h"
#include "test/support/oracle.h"

namespace csinative::csi {
namespace {

using ::csi::v1::CreateVolumeRequest;
using ::csi::v1::VolumeCapability;

TEST(StrippedJsonTest, EmptyMessageIsAnEmptyObject) {
  const oracle::Row row("common/20.5/2");
  EXPECT_EQ(StrippedJson(CreateVolumeRequest()), "{}");
}

TEST(StrippedJsonTest, WholeRequestWithSecretsStripped) {
  const oracle::Row row("common/20.5/3");
  const oracle::Row unchanged("common/20.5/8");
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
  const CreateVolumeRequest before = request;
  EXPECT_EQ(
      StrippedJson(request),
      R"({"accessibility_requirements":{},"capacity_range":{"limit_bytes":1024,"required_bytes":1024},)"
      R"("name":"test-volume","parameters":{"param1":"param1","param2":"param2"},)"
      R"("secrets":"***stripped***","volume_capabilities":[{"access_mode":)"
      R"({"mode":"MULTI_NODE_MULTI_WRITER"},"mount":{"fs_type":"ext4","mount_flags":)"
      R"(["flag1","flag2","flag3"]}}],"volume_content_source":{}})");
  EXPECT_EQ(request.secrets().at("secret1"), "hidden1");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(request, before));
  for (const char* hidden : {"secret1", "hidden1"}) {
    EXPECT_EQ(StrippedJson(request).find(hidden), std::string::npos);
  }
}

TEST(StrippedJsonTest, TopologiesAsNestedMaps) {
  const oracle::Row row("common/20.5/4");
  CreateVolumeRequest request;
  request.set_name("foo");
  auto* first = request.mutable_accessibility_requirements()->add_requisite();
  (*first->mutable_segments())["x"] = "y";
  (*first->mutable_segments())["foo"] = "bar";
  auto* second = request.mutable_accessibility_requirements()->add_requisite();
  (*second->mutable_segments())["a"] = "b";
  request.mutable_capacity_range()->set_required_bytes(1024);
  request.add_volume_capabilities()->mutable_mount()->set_fs_type("ext4");
  (*request.mutable_secrets())["secret1"] = "hidden1";
  (*request.mutable_secrets())["secret2"] = "hidden2";
  EXPECT_EQ(StrippedJson(request),
            R"({"accessibility_requirements":{"requisite":[{"segments":{"foo":"bar","x":"y"}},)"
            R"({"segments":{"a":"b"}}]},"capacity_range":{"required_bytes":1024},"name":"foo",)"
            R"("secrets":"***stripped***","volume_capabilities":[{"mount":{"fs_type":"ext4"}}]})");
}

TEST(StrippedJsonTest, UnknownEnumNumberPrintsAsNumber) {
  const oracle::Row row("common/20.5/7");
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
  const oracle::Row row("common/20.5/6");
  CreateVolumeRequest request;
  request.set_name("n");
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(9000, "hidden");
  auto* element = request.add_volume_capabilities();
  element->GetReflection()->MutableUnknownFields(element)->AddLengthDelimited(9000, "hidden");
  EXPECT_EQ(StrippedJson(request), R"({"name":"n","volume_capabilities":[{}]})");
}

// The tokens of pods, which a CSIDriver may ask for, come in a field that is no secret.
TEST(StrippedJsonTest, TokensOfServiceAccountsAreStripped) {
  ::csi::v1::NodePublishVolumeRequest request;
  (*request.mutable_volume_context())["csi.storage.k8s.io/pod.name"] = "p";
  (*request.mutable_volume_context())["csi.storage.k8s.io/serviceAccount.tokens"] =
      R"({"":{"token":"hidden"}})";
  EXPECT_EQ(StrippedJson(request),
            R"({"volume_context":{"csi.storage.k8s.io/pod.name":"p",)"
            R"("csi.storage.k8s.io/serviceAccount.tokens":"***stripped***"}})");
}

// A message that our specification does not have: secrets of every shape are found by the option.
TEST(StrippedJsonTest, OptionHidesAnyTypeAtAnyDepth) {
  const oracle::Row row("common/20.5/5");
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
  auto* entry = outer->add_nested_type();
  entry->set_name("MaybeSecretMapEntry");
  entry->mutable_options()->set_map_entry(true);
  add(entry, "key", 1, FieldDescriptorProto::TYPE_INT64, false);
  add(entry, "value", 2, FieldDescriptorProto::TYPE_MESSAGE, false, false, ".future.Inner");
  add(outer, "maybe_secret_map", 4, FieldDescriptorProto::TYPE_MESSAGE, false, true,
      ".future.Outer.MaybeSecretMapEntry");
  add(outer, "nested", 5, FieldDescriptorProto::TYPE_MESSAGE, false, false, ".future.Inner");

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
  auto* nested = r->MutableMessage(message.get(), descriptor->FindFieldByName("nested"));
  er->SetString(nested, nested->GetDescriptor()->FindFieldByName("array_secret"), "hidden");
  for (const int key : {1, 2}) {
    auto* pair = r->AddMessage(message.get(), descriptor->FindFieldByName("maybe_secret_map"));
    const auto* type = pair->GetDescriptor();
    pair->GetReflection()->SetInt64(pair, type->map_key(), key);
    auto* value = pair->GetReflection()->MutableMessage(pair, type->map_value());
    er->SetString(value,
                  value->GetDescriptor()->FindFieldByName(key == 1 ? "array_secret" : "plain"),
                  key == 1 ? "hidden" : "seen");
  }
  EXPECT_EQ(StrippedJson(*message),
            R"({"list":[{"array_secret":"***stripped***","plain":"seen"}],)"
            R"("maybe_secret_map":{"1":{"array_secret":"***stripped***"},"2":{"plain":"seen"}},)"
            R"("nested":{"array_secret":"***stripped***"},)"
            R"("new_secret_int":"***stripped***","oneof_secret_field":"***stripped***"})");
}

}  // namespace
}  // namespace csinative::csi
