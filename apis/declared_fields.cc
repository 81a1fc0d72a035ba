// SPDX-License-Identifier: Apache-2.0
#include "apis/declared_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include "apis/meta/v1/meta.pb.h"
#include "apis/wire.h"

namespace csinative::apis {
namespace {

constexpr uint32_t kMetadata = 1;
constexpr uint32_t kManagedFields = 17;  // of ObjectMeta

// The metadata up to its managedFields, which writers put last; all of it if that is not so.
std::string_view BeforeManagedFields(std::string_view metadata) {
  WireReader reader(metadata);
  std::string_view kept = metadata;
  bool managed = false;
  while (!reader.AtEnd()) {
    const std::string_view rest = reader.rest();
    uint32_t number = 0;
    std::string_view value;
    if (!reader.Field(&number, &value)) return metadata;
    if (number == kManagedFields) {
      if (!managed) kept = metadata.substr(0, metadata.size() - rest.size());
      managed = true;
    } else if (managed) {
      return metadata;
    }
  }
  return kept;
}

bool HasObjectMeta(const google::protobuf::Message& message) {
  const google::protobuf::FieldDescriptor* first =
      message.GetDescriptor()->FindFieldByNumber(kMetadata);
  return first != nullptr &&
         first->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE &&
         first->message_type() ==
             k8s::io::apimachinery::pkg::apis::meta::v1::ObjectMeta::descriptor();
}

}  // namespace

std::string_view WithoutManagedFields(std::string_view object, std::string* scratch) {
  WireReader reader(object);
  uint32_t number = 0;
  std::string_view metadata;
  // Metadata comes first; an object that begins with something else is left as it is.
  if (object.empty() || !reader.Field(&number, &metadata) || number != kMetadata) return object;
  const std::string_view kept = BeforeManagedFields(metadata);
  if (kept.size() == metadata.size()) return object;
  scratch->clear();
  scratch->reserve(object.size());
  AppendVarint(kMetadata << 3 | 2, scratch);
  AppendVarint(kept.size(), scratch);
  scratch->append(kept);
  scratch->append(reader.rest());
  return *scratch;
}

void DropUnknownFields(google::protobuf::Message* message) {
  const google::protobuf::Reflection* reflection = message->GetReflection();
  if (!reflection->GetUnknownFields(*message).empty()) {
    reflection->MutableUnknownFields(message)->Clear();
  }
  const google::protobuf::Descriptor* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type->field(i);
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (reflection->HasField(*message, field)) {
        DropUnknownFields(reflection->MutableMessage(message, field));
      }
      continue;
    }
    const int size = reflection->FieldSize(*message, field);
    for (int j = 0; j < size; ++j) {
      DropUnknownFields(reflection->MutableRepeatedMessage(message, field, j));
    }
  }
}

bool ParseDeclaredFields(std::string_view bytes, google::protobuf::Message* message) {
  std::string scratch;
  if (HasObjectMeta(*message)) bytes = WithoutManagedFields(bytes, &scratch);
  if (!message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  DropUnknownFields(message);
  return true;
}

}  // namespace csinative::apis
