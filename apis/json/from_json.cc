// SPDX-License-Identifier: Apache-2.0
#include "apis/json/from_json.h"

#include <algorithm>
#include <utility>

#include "apis/intstr/intstr.pb.h"
#include "apis/json/message_plan.h"
#include "apis/json/parse.h"
#include "apis/meta/v1/time.h"
#include "apis/namespaces.h"
#include "apis/resource/quantity.h"
#include "apis/runtime/runtime.pb.h"
#include "lib/base/base64.h"
#include "lib/base/strings.h"

namespace csinative::apis {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string_view TypeName(const rapidjson::Value& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return "null";
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return "a boolean";
    case rapidjson::kObjectType:
      return "an object";
    case rapidjson::kArrayType:
      return "an array";
    case rapidjson::kStringType:
      return "a string";
    case rapidjson::kNumberType:
      return "a number";
  }
  return "something else";
}

std::string ToText(const rapidjson::Value& value) { return CleanUtf8(JsonString(value)); }

class Reader {
 public:
  explicit Reader(const FromJsonOptions& options) : options_(options) {}

  Status Object(const rapidjson::Value& json, const MessagePlan& plan, Message* message) {
    if (!json.IsObject()) return Wrong("an object", json);
    for (const auto& member : json.GetObject()) {
      std::string_view name = JsonString(member.name);
      auto found = plan.by_name.find(name);
      size_t length = path_.size();
      AppendToPath(name);
      if (found == plan.by_name.end()) {
        if (options_.unknown_fields && !(length == 0 && (name == "kind" || name == "apiVersion"))) {
          options_.unknown_fields->push_back(path_);
        }
      } else if (!member.value.IsNull()) {
        CSI_RETURN_IF_ERROR(
            Field(member.value, *found->second, MutableContainerOf(*found->second, message)));
      }
      path_.resize(length);
    }
    return Status::Ok();
  }

  // The message in whatever form its type has. `json` is not null.
  Status Any(const rapidjson::Value& json, Message* message) {
    const MessagePlan& plan = PlanFor(message->GetDescriptor());
    switch (plan.format) {
      case FORMAT_OBJECT:
        return Object(json, plan, message);
      case FORMAT_TIME: {
        if (!json.IsString()) return Wrong("a time", json);
        Result<Moment> moment = ParseRfc3339(JsonString(json));
        if (!moment.ok()) return At(moment.status());
        *static_cast<meta::Time*>(message) = MakeTime(*moment);
        return Status::Ok();
      }
      case FORMAT_MICRO_TIME: {
        if (!json.IsString()) return Wrong("a time", json);
        Result<Moment> moment = ParseRfc3339Micro(JsonString(json));
        if (!moment.ok()) return At(moment.status());
        *static_cast<meta::MicroTime*>(message) = MakeMicroTime(*moment);
        return Status::Ok();
      }
      case FORMAT_QUANTITY: {
        if (!json.IsString() && !json.IsNumber()) return Wrong("a quantity", json);
        std::string text = json.IsString() ? std::string(JsonString(json)) : JsonText(json);
        Result<Quantity> quantity = Quantity::Parse(TrimSpace(text));
        if (!quantity.ok()) return At(quantity.status());
        *static_cast<resource::Quantity*>(message) = quantity->ToProto();
        return Status::Ok();
      }
      case FORMAT_INT_OR_STRING: {
        auto* value = static_cast<intstr::IntOrString*>(message);
        if (!json.IsString() && !json.IsInt()) return Wrong("an integer or a string", json);
        value->set_type(json.IsString() ? 1 : 0);
        value->set_intval(json.IsString() ? 0 : json.GetInt());
        value->set_strval(json.IsString() ? ToText(json) : std::string());
        return Status::Ok();
      }
      case FORMAT_RAW_JSON:
        static_cast<runtime::RawExtension*>(message)->set_raw(JsonText(json));
        return Status::Ok();
      case FORMAT_LIST:
        return List(json, plan.fields.front(), message);
    }
    return Status::Ok();
  }

 private:
  using Shape = FieldPlan::Shape;

  Status Field(const rapidjson::Value& json, const FieldPlan& plan, Message* message) {
    message->GetReflection()->ClearField(message, plan.field);
    switch (plan.shape) {
      case Shape::kSingle:
        return Single(json, plan.field, message);
      case Shape::kList:
        return List(json, plan, message);
      case Shape::kMap:
        return Map(json, plan, message);
    }
    return Status::Ok();
  }

  Status Single(const rapidjson::Value& json, const FieldDescriptor* field, Message* message) {
    const Reflection* reflection = message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Any(json, reflection->MutableMessage(message, field));
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string text;
        CSI_RETURN_IF_ERROR(StringValue(json, field, &text));
        reflection->SetString(message, field, std::move(text));
        return Status::Ok();
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!json.IsBool()) return Wrong("a boolean", json);
        reflection->SetBool(message, field, json.GetBool());
        return Status::Ok();
      case FieldDescriptor::CPPTYPE_INT32:
        if (!json.IsInt()) return Wrong("a 32-bit integer", json);
        reflection->SetInt32(message, field, json.GetInt());
        return Status::Ok();
      case FieldDescriptor::CPPTYPE_INT64:
        if (!json.IsInt64()) return Wrong("a 64-bit integer", json);
        reflection->SetInt64(message, field, json.GetInt64());
        return Status::Ok();
      default:
        return At(UnimplementedError(std::string("no JSON form for ") + field->cpp_type_name()));
    }
  }

  Status StringValue(const rapidjson::Value& json, const FieldDescriptor* field, std::string* out) {
    bool bytes = field->type() == FieldDescriptor::TYPE_BYTES;
    if (!json.IsString()) return Wrong(bytes ? "base64 text" : "a string", json);
    if (!bytes) {
      *out = ToText(json);
      return Status::Ok();
    }
    Result<std::string> decoded = Base64Decode(JsonString(json));
    if (!decoded.ok()) return At(decoded.status());
    *out = *std::move(decoded);
    return Status::Ok();
  }

  // A null element is the zero value, as in Go.
  Status List(const rapidjson::Value& json, const FieldPlan& plan, Message* message) {
    if (!json.IsArray()) return Wrong("an array", json);
    const Reflection* reflection = message->GetReflection();
    const FieldDescriptor* field = plan.field;
    size_t length = path_.size();
    for (rapidjson::SizeType i = 0; i < json.Size(); ++i) {
      const rapidjson::Value& element = json[i];
      path_ += "[" + std::to_string(i) + "]";
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE: {
          Message* added = reflection->AddMessage(message, field);
          if (!element.IsNull()) CSI_RETURN_IF_ERROR(Any(element, added));
          break;
        }
        case FieldDescriptor::CPPTYPE_STRING: {
          std::string text;
          if (!element.IsNull()) CSI_RETURN_IF_ERROR(StringValue(element, field, &text));
          reflection->AddString(message, field, std::move(text));
          break;
        }
        case FieldDescriptor::CPPTYPE_BOOL:
          if (!element.IsBool() && !element.IsNull()) return Wrong("a boolean", element);
          reflection->AddBool(message, field, element.IsTrue());
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          if (!element.IsInt() && !element.IsNull()) return Wrong("a 32-bit integer", element);
          reflection->AddInt32(message, field, element.IsInt() ? element.GetInt() : 0);
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          if (!element.IsInt64() && !element.IsNull()) return Wrong("a 64-bit integer", element);
          reflection->AddInt64(message, field, element.IsInt64() ? element.GetInt64() : 0);
          break;
        default:
          return At(UnimplementedError(std::string("no JSON form for ") + field->cpp_type_name()));
      }
      path_.resize(length);
    }
    return Status::Ok();
  }

  // Entries in the order of their keys, as Go writes them.
  Status Map(const rapidjson::Value& json, const FieldPlan& plan, Message* message) {
    if (!json.IsObject()) return Wrong("an object", json);
    using Member = std::pair<std::string, const rapidjson::Value*>;
    std::vector<Member> members;
    members.reserve(json.MemberCount());
    for (const auto& member : json.GetObject()) {
      members.emplace_back(ToText(member.name), &member.value);
    }
    std::stable_sort(members.begin(), members.end(),
                     [](const Member& a, const Member& b) { return a.first < b.first; });
    size_t length = path_.size();
    for (size_t i = 0; i < members.size(); ++i) {
      const auto& [key, value] = members[i];
      if (i + 1 < members.size() && members[i + 1].first == key) continue;  // the last counts
      AppendToPath(key);
      Message* entry = message->GetReflection()->AddMessage(message, plan.field);
      const Reflection* reflection = entry->GetReflection();
      reflection->SetString(entry, plan.key, key);
      if (!value->IsNull()) {
        CSI_RETURN_IF_ERROR(Single(*value, plan.value, entry));
      } else if (plan.value->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        reflection->MutableMessage(entry, plan.value);
      } else {
        reflection->SetString(entry, plan.value, "");
      }
      path_.resize(length);
    }
    return Status::Ok();
  }

  void AppendToPath(std::string_view name) {
    if (!path_.empty()) path_.push_back('.');
    path_ += name;
  }

  Status At(const Status& status) const { return status.WithContext(path_.empty() ? "." : path_); }

  Status Wrong(std::string_view expected, const rapidjson::Value& json) const {
    return At(InvalidArgumentError("expected " + std::string(expected) + ", found " +
                                   std::string(TypeName(json))));
  }

  const FromJsonOptions& options_;
  std::string path_;
};

}  // namespace

Status FromJson(const rapidjson::Value& value, Message* message, const FromJsonOptions& options) {
  message->Clear();
  if (value.IsNull()) return Status::Ok();
  return Reader(options).Any(value, message);
}

Status FromJsonString(std::string_view text, Message* message, const FromJsonOptions& options) {
  message->Clear();
  rapidjson::Document document;
  CSI_RETURN_IF_ERROR(ParseJson(text, &document));
  return FromJson(document, message, options);
}

JsonTypeMeta TypeMetaOf(const rapidjson::Value& value) {
  JsonTypeMeta out;
  if (!value.IsObject()) return out;
  for (const auto& member : value.GetObject()) {
    if (!member.value.IsString()) continue;
    std::string_view name = JsonString(member.name);
    if (name == "apiVersion") out.api_version = JsonString(member.value);
    if (name == "kind") out.kind = JsonString(member.value);
  }
  return out;
}

}  // namespace csinative::apis
