// SPDX-License-Identifier: Apache-2.0
#include "apis/json/to_json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <vector>

#include "apis/intstr/intstr.pb.h"
#include "apis/json/message_plan.h"
#include "apis/json/parse.h"
#include "apis/meta/v1/time.h"
#include "apis/namespaces.h"
#include "apis/resource/quantity.h"
#include "apis/runtime/runtime.pb.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"

namespace csinative::apis {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Sends a message as JSON events to a RapidJSON handler (a Writer or a Document).
template <typename Handler>
class Emitter {
 public:
  Emitter(Handler* handler, const ToJsonOptions& options) : out_(*handler), options_(options) {}

  void Top(const Message& message) {
    const MessagePlan& plan = PlanFor(message.GetDescriptor());
    if (plan.format != FORMAT_OBJECT) return Any(message);
    out_.StartObject();
    size_t written = 0;
    if (!options_.kind.empty()) written += NamedText("kind", options_.kind);
    if (!options_.api_version.empty()) written += NamedText("apiVersion", options_.api_version);
    Fields(message, plan, written);
  }

 private:
  using Shape = FieldPlan::Shape;
  using Presence = FieldPlan::Presence;

  void Key(std::string_view name) { out_.Key(name.data(), Length(name), true); }
  size_t NamedText(std::string_view name, std::string_view value) {
    Key(name);
    Text(value);
    return 1;
  }
  static rapidjson::SizeType Length(std::string_view text) {
    return static_cast<rapidjson::SizeType>(text.size());
  }
  void Plain(std::string_view text) { out_.String(text.data(), Length(text), true); }
  void Text(std::string_view text) {
    if (IsValidUtf8(text)) return Plain(text);
    Plain(CleanUtf8(text));
  }

  // The message in whatever form its type has.
  void Any(const Message& message) {
    const MessagePlan& plan = PlanFor(message.GetDescriptor());
    switch (plan.format) {
      case FORMAT_OBJECT:
        out_.StartObject();
        return Fields(message, plan, 0);
      case FORMAT_TIME: {
        const auto& time = static_cast<const meta::Time&>(message);
        return IsZero(time) ? Null() : Plain(FormatTime(time));
      }
      case FORMAT_MICRO_TIME: {
        const auto& time = static_cast<const meta::MicroTime&>(message);
        return IsZero(time) ? Null() : Plain(FormatTime(time));
      }
      case FORMAT_QUANTITY: {
        const auto& quantity = static_cast<const resource::Quantity&>(message);
        Result<Quantity> parsed = Quantity::FromProto(quantity);
        return Text(parsed.ok() ? parsed->ToString() : quantity.string());
      }
      case FORMAT_INT_OR_STRING: {
        const auto& value = static_cast<const intstr::IntOrString&>(message);
        if (value.type() == 1) return Text(value.strval());
        out_.Int(value.intval());
        return;
      }
      case FORMAT_RAW_JSON: {
        rapidjson::Document raw;
        if (!ParseJson(static_cast<const runtime::RawExtension&>(message).raw(), &raw).ok()) {
          return Null();
        }
        raw.Accept(out_);
        return;
      }
      case FORMAT_LIST: {
        const FieldPlan& items = plan.fields.front();
        if (Size(message, items) == 0) return Null();
        return List(message, items);
      }
    }
  }

  void Null() { out_.Null(); }

  // The members of an object that was started and has `count` of them, and its end.
  void Fields(const Message& message, const MessagePlan& plan, size_t count) {
    for (const FieldPlan& field : plan.fields) {
      if (Member(ContainerOf(field, message), field)) ++count;
    }
    out_.EndObject(static_cast<rapidjson::SizeType>(count));
  }

  static int Size(const Message& message, const FieldPlan& plan) {
    return message.GetReflection()->FieldSize(message, plan.field);
  }

  // True when something was written.
  bool Member(const Message& message, const FieldPlan& plan) {
    bool force = options_.like_api_server && plan.presence == Presence::kAlways;
    if (plan.shape != Shape::kSingle) {
      if (Size(message, plan) == 0) {
        if (!force) return false;
        Key(plan.name);
        EmptyRepeated(plan);
        return true;
      }
      Key(plan.name);
      plan.shape == Shape::kMap ? Map(message, plan) : List(message, plan);
      return true;
    }
    if (plan.is_creation_timestamp && options_.creation_timestamp_null) force = true;
    if (!force && !Worth(message, plan)) return false;
    Key(plan.name);
    if (plan.pointer && !message.GetReflection()->HasField(message, plan.field)) {
      Null();
    } else {
      Single(message, plan.field);
    }
    return true;
  }

  // Go writes a nil slice as null; servers make sure that the items of a list are not nil.
  void EmptyRepeated(const FieldPlan& plan) {
    if (plan.name != "items") return Null();
    out_.StartArray();
    out_.EndArray(0);
  }

  // Whether a single field has something to say.
  bool Worth(const Message& message, const FieldPlan& plan) const {
    const Reflection* reflection = message.GetReflection();
    const FieldDescriptor* field = plan.field;
    if (!reflection->HasField(message, field)) return false;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const Message& value = reflection->GetMessage(message, field);
      switch (PlanFor(value.GetDescriptor()).format) {
        case FORMAT_TIME:
          return !IsZero(static_cast<const meta::Time&>(value));
        case FORMAT_MICRO_TIME:
          return !IsZero(static_cast<const meta::MicroTime&>(value));
        default:
          return true;
      }
    }
    if (plan.presence != Presence::kOmitEmpty) return true;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        return !reflection->GetStringReference(message, field, &scratch).empty();
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection->GetBool(message, field);
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->GetInt32(message, field) != 0;
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->GetInt64(message, field) != 0;
      default:
        return true;
    }
  }

  void Single(const Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Any(reflection->GetMessage(message, field));
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        return Bytes(field, reflection->GetStringReference(message, field, &scratch));
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        out_.Bool(reflection->GetBool(message, field));
        return;
      case FieldDescriptor::CPPTYPE_INT32:
        out_.Int(reflection->GetInt32(message, field));
        return;
      case FieldDescriptor::CPPTYPE_INT64:
        out_.Int64(reflection->GetInt64(message, field));
        return;
      default:
        return Null();
    }
  }

  void Bytes(const FieldDescriptor* field, const std::string& value) {
    if (field->type() == FieldDescriptor::TYPE_BYTES) return Plain(Base64Encode(value));
    Text(value);
  }

  void List(const Message& message, const FieldPlan& plan) {
    const Reflection* reflection = message.GetReflection();
    const FieldDescriptor* field = plan.field;
    int size = Size(message, plan);
    out_.StartArray();
    for (int i = 0; i < size; ++i) {
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE:
          Any(reflection->GetRepeatedMessage(message, field, i));
          break;
        case FieldDescriptor::CPPTYPE_STRING: {
          std::string scratch;
          Bytes(field, reflection->GetRepeatedStringReference(message, field, i, &scratch));
          break;
        }
        case FieldDescriptor::CPPTYPE_BOOL:
          out_.Bool(reflection->GetRepeatedBool(message, field, i));
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          out_.Int(reflection->GetRepeatedInt32(message, field, i));
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          out_.Int64(reflection->GetRepeatedInt64(message, field, i));
          break;
        default:
          Null();
      }
    }
    out_.EndArray(static_cast<rapidjson::SizeType>(size));
  }

  void Map(const Message& message, const FieldPlan& plan) {
    const Reflection* reflection = message.GetReflection();
    struct Item {
      std::string key;
      const Message* entry;
    };
    std::vector<Item> items;
    int size = Size(message, plan);
    items.reserve(size);
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection->GetRepeatedMessage(message, plan.field, i);
      items.push_back({entry.GetReflection()->GetString(entry, plan.key), &entry});
    }
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.key < b.key; });
    out_.StartObject();
    size_t count = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i + 1 < items.size() && items[i + 1].key == items[i].key) continue;  // the last counts
      Key(CleanUtf8(items[i].key));
      Single(*items[i].entry, plan.value);
      ++count;
    }
    out_.EndObject(static_cast<rapidjson::SizeType>(count));
  }

  Handler& out_;
  const ToJsonOptions& options_;
};

}  // namespace

void ToJson(const Message& message, rapidjson::Value* out,
            rapidjson::Document::AllocatorType& allocator, const ToJsonOptions& options) {
  rapidjson::Document document(&allocator);
  auto generate = [&](rapidjson::Document& handler) {
    Emitter<rapidjson::Document>(&handler, options).Top(message);
    return true;
  };
  document.Populate(generate);
  out->Swap(document);
}

std::string ToJsonString(const Message& message, const ToJsonOptions& options) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  Emitter<rapidjson::Writer<rapidjson::StringBuffer>>(&writer, options).Top(message);
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace csinative::apis
