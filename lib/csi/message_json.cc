// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/message_json.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lib/base/base64.h"
#include "lib/base/go_float.h"
#include "lib/base/json_string.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::csi {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kStripped[] = "\"***stripped***\"";
// Key of volume_context under which the tokens of a pod's service account are sent. Differs: the
// field has no secret option, so that upstream's log shows them.
constexpr char kTokensKey[] = "csi.storage.k8s.io/serviceAccount.tokens";

void AppendMessage(std::string& out, const Message& message);

void AppendText(std::string& out, std::string_view text) {
  AppendJsonString(out, text, JsonEscaping::kHtml);
}

void AppendEnum(std::string& out, const FieldDescriptor* field, int number) {
  const EnumValueDescriptor* value = field->enum_type()->FindValueByNumber(number);
  if (value != nullptr) {
    AppendText(out, value->name());
  } else {
    out += std::to_string(number);
  }
}

// One value of the field: the singular one for index -1.
void AppendValue(std::string& out, const Message& message, const FieldDescriptor* field,
                 int index) {
  const Reflection* r = message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: {
      const bool value =
          repeated ? r->GetRepeatedBool(message, field, index) : r->GetBool(message, field);
      out += value ? "true" : "false";
      return;
    }
    case FieldDescriptor::CPPTYPE_INT32:
      out += std::to_string(repeated ? r->GetRepeatedInt32(message, field, index)
                                     : r->GetInt32(message, field));
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      out += std::to_string(repeated ? r->GetRepeatedInt64(message, field, index)
                                     : r->GetInt64(message, field));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      out += std::to_string(repeated ? r->GetRepeatedUInt32(message, field, index)
                                     : r->GetUInt32(message, field));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      out += std::to_string(repeated ? r->GetRepeatedUInt64(message, field, index)
                                     : r->GetUInt64(message, field));
      return;
    case FieldDescriptor::CPPTYPE_FLOAT:
      AppendGoFloatJson(
          out, repeated ? r->GetRepeatedFloat(message, field, index) : r->GetFloat(message, field));
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      AppendGoFloatJson(out, repeated ? r->GetRepeatedDouble(message, field, index)
                                      : r->GetDouble(message, field));
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      AppendEnum(out, field,
                 repeated ? r->GetRepeatedEnumValue(message, field, index)
                          : r->GetEnumValue(message, field));
      return;
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      const std::string& value =
          repeated ? r->GetRepeatedStringReference(message, field, index, &scratch)
                   : r->GetStringReference(message, field, &scratch);
      if (field->type() == FieldDescriptor::TYPE_BYTES) {
        AppendText(out, Base64Encode(value));
      } else {
        AppendText(out, value);
      }
      return;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      AppendMessage(out, repeated ? r->GetRepeatedMessage(message, field, index)
                                  : r->GetMessage(message, field));
      return;
  }
}

// A map key as text, whatever its type.
std::string KeyText(const Message& entry, const FieldDescriptor* key) {
  std::string text;
  if (key->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return entry.GetReflection()->GetString(entry, key);
  }
  AppendValue(text, entry, key, -1);
  return text;
}

void AppendMap(std::string& out, const Message& message, const FieldDescriptor* field) {
  const Reflection* r = message.GetReflection();
  const FieldDescriptor* key = field->message_type()->map_key();
  const FieldDescriptor* value = field->message_type()->map_value();
  // Sorted: the message's own order changes from run to run.
  std::map<std::string, const Message*> entries;
  for (int i = 0; i < r->FieldSize(message, field); ++i) {
    const Message& entry = r->GetRepeatedMessage(message, field, i);
    entries[KeyText(entry, key)] = &entry;
  }
  out += '{';
  bool first = true;
  for (const auto& [name, entry] : entries) {
    if (!std::exchange(first, false)) out += ',';
    AppendText(out, name);
    out += ':';
    if (name == kTokensKey) {
      out += kStripped;
    } else {
      AppendValue(out, *entry, value, -1);
    }
  }
  out += '}';
}

void AppendMessage(std::string& out, const Message& message) {
  const Reflection* r = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(message, &fields);
  std::sort(fields.begin(), fields.end(), [](const FieldDescriptor* a, const FieldDescriptor* b) {
    return a->name() < b->name();
  });
  out += '{';
  bool first = true;
  for (const FieldDescriptor* field : fields) {
    if (!std::exchange(first, false)) out += ',';
    AppendText(out, field->name());
    out += ':';
    if (field->options().GetExtension(::csi::v1::csi_secret)) {
      out += kStripped;
    } else if (field->is_map()) {
      AppendMap(out, message, field);
    } else if (field->is_repeated()) {
      out += '[';
      for (int i = 0; i < r->FieldSize(message, field); ++i) {
        if (i > 0) out += ',';
        AppendValue(out, message, field, i);
      }
      out += ']';
    } else {
      AppendValue(out, message, field, -1);
    }
  }
  out += '}';
}

}  // namespace

std::string StrippedJson(const Message& message) {
  std::string out;
  AppendMessage(out, message);
  return out;
}

}  // namespace csinative::csi
