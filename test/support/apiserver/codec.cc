// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "apis/envelope.h"
#include "apis/json/from_json.h"
#include "apis/json/parse.h"
#include "apis/json/to_json.h"
#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "apis/resource_table.h"
#include "lib/base/base64.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/patch.h"

namespace csinative::apiserver {
namespace {

using google::protobuf::Message;

constexpr char kObjectMeta[] = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta";

// Null for a message that is not linked in.
std::unique_ptr<Message> NewMessage(std::string_view name) {
  // The table mentions all messages, which keeps the linker from leaving out their files.
  if (apis::ResourceTable().empty()) return nullptr;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const auto* type = pool->FindMessageTypeByName(std::string(name));
  if (type == nullptr) return nullptr;
  const Message* prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
  return std::unique_ptr<Message>(prototype->New());
}

JsonDocument ToDocument(const Message& message) {
  JsonDocument document;
  apis::ToJson(message, &document, document.GetAllocator(), {.like_api_server = true});
  return document;
}

Failure Unrecognized(const ResourceInfo& info, std::string_view body, std::string_view why) {
  return BadRequest(StrCat("the object provided is unrecognized (must be of type ", info.kind,
                           "): couldn't get version/kind; json parse error: ", why, " (",
                           body.empty() ? "<empty>" : HexEncode(body.substr(0, 1024)), ")"));
}

// The server does not say where a text (a quantity, a time, base64) was that it could not parse.
std::string_view WithoutPath(std::string_view message) {
  size_t colon = message.find(": ");
  if (colon == std::string_view::npos || message.substr(0, colon).find(' ') != message.npos) {
    return message;
  }
  std::string_view rest = message.substr(colon + 2);
  return rest.starts_with("expected") ? message : rest;
}

Failure WrongType(const ResourceInfo& info, const Status& status) {
  return BadRequest(StrCat(info.kind, " in version \"", info.version, "\" cannot be handled as a ",
                           info.kind, ": ", WithoutPath(status.message())));
}

// Secrets take text that ends in data.
void MoveStringData(JsonDocument& document) {
  Json* texts = FindMutable(&document, "stringData");
  if (texts == nullptr) return;
  JsonAllocator& allocator = document.GetAllocator();
  Json moved = Copy(*texts, allocator);
  Remove(document, "stringData");
  if (!moved.IsObject() || moved.ObjectEmpty()) return;
  Json& data = Ensure(document, "data", allocator);
  for (const auto& member : moved.GetObject()) {
    SetText(data, Text(&member.name), Base64Encode(Text(&member.value)), allocator);
  }
}

void SetType(const ResourceInfo& info, JsonDocument& document) {
  SetText(document, "kind", info.kind, document.GetAllocator());
  SetText(document, "apiVersion", info.group_version(), document.GetAllocator());
}

void AppendLengthDelimited(std::string& out, int field, std::string_view bytes) {
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(static_cast<uint32_t>(field << 3 | 2));
  coded.WriteVarint32(static_cast<uint32_t>(bytes.size()));
  coded.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

bool HasProtobuf(const ResourceInfo& info) { return !info.message.empty(); }
bool HasSchema(const ResourceInfo& info) { return !info.message.empty() && !info.metadata_message; }

Outcome<JsonDocument> Normalize(const ResourceInfo& info, const JsonDocument& document,
                                const DecodeOptions& options) {
  JsonDocument result;
  if (HasSchema(info)) {
    std::unique_ptr<Message> message = NewMessage(info.message);
    Status status =
        apis::FromJson(document, message.get(), {.unknown_fields = options.unknown_fields});
    if (!status.ok()) return WrongType(info, status);
    result = ToDocument(*message);
    if (info.resource == "secrets") {
      MoveStringData(result);
    } else if (options.message != nullptr) {
      *options.message = std::move(message);
    }
  } else {
    result.CopyFrom(document, result.GetAllocator());
    const Json* given = Find(document, "metadata");
    if (given != nullptr && !given->IsNull()) {
      std::unique_ptr<Message> message = NewMessage(kObjectMeta);
      Status status = apis::FromJson(*given, message.get());
      if (!status.ok()) return WrongType(info, status);
      Set(result, "metadata", Copy(ToDocument(*message), result.GetAllocator()),
          result.GetAllocator());
    }
  }
  SetType(info, result);
  return result;
}

Outcome<JsonDocument> DecodeBody(const ResourceInfo& info, Encoding encoding, std::string_view body,
                                 const DecodeOptions& options) {
  if (encoding == Encoding::kProtobuf) {
    Result<apis::Envelope> envelope = apis::Unwrap(body);
    if (!envelope.ok()) return BadRequest(envelope.status().message());
    std::unique_ptr<Message> message = HasSchema(info) ? NewMessage(info.message) : nullptr;
    if (message == nullptr) {
      return Failure{.code = 415,
                     .reason = "UnsupportedMediaType",
                     .message =
                         "the body of the request was in an unknown format - accepted media "
                         "types include: application/json, application/yaml"};
    }
    if (!envelope->kind.empty() && envelope->kind != info.kind) {
      return BadRequest(StrCat(envelope->kind, " in version \"", info.version,
                               "\" cannot be handled as a ", info.kind, ": converting (v1.",
                               envelope->kind, ") to (core.", info.kind, "): unknown conversion"));
    }
    Status status = apis::UnwrapInto(body, message.get());
    if (!status.ok()) return BadRequest(status.message());
    JsonDocument document = ToDocument(*message);
    if (info.resource == "secrets") MoveStringData(document);
    SetType(info, document);
    return document;
  }
  Result<JsonDocument> document = ParseJson(body);
  if (!document.ok()) return Unrecognized(info, body, JsonSyntaxError(body));
  if (!document->IsObject()) {
    return Unrecognized(
        info, body,
        StrCat("json: cannot unmarshal ", JsonTypeName(*document), " into Go value of type struct ",
               R"({ APIVersion string "json:\"apiVersion,omitempty\""; Kind string )",
               R"("json:\"kind,omitempty\"" })"));
  }
  apis::JsonTypeMeta type = apis::TypeMetaOf(*document);
  if (!type.kind.empty() && type.kind != info.kind) {
    return BadRequest(StrCat(type.kind, " in version \"", type.api_version,
                             "\" cannot be handled as a ", info.kind, ": converting (v1.",
                             type.kind, ") to (core.", info.kind, "): unknown conversion"));
  }
  if (info.custom && type.kind.empty()) {
    return BadRequest(StrCat("the object provided is unrecognized (must be of type ", info.kind,
                             "): Object 'Kind' is missing in '", body, "' (", body, ")"));
  }
  if (!type.api_version.empty() && type.api_version != info.group_version()) {
    return BadRequest(
        StrCat(info.kind, " in version ", JsonString(type.api_version), " cannot be handled as a ",
               info.kind, ": no kind ", JsonString(info.kind), " is registered for version ",
               JsonString(type.api_version), " in scheme \"pkg/runtime/scheme.go:111\""));
  }
  return Normalize(info, *document, options);
}

Outcome<JsonDocument> DecodeMessage(std::string_view name, Encoding encoding,
                                    std::string_view body) {
  std::unique_ptr<Message> message = NewMessage(name);
  Status status = encoding == Encoding::kProtobuf ? apis::UnwrapInto(body, message.get())
                                                  : apis::FromJsonString(body, message.get());
  if (!status.ok()) return BadRequest(status.message());
  return ToDocument(*message);
}

void KeepProtobuf(const Object& object, Message* message) {
  const auto* metadata = message->GetDescriptor()->FindFieldByName("metadata");
  Message* inner = message->GetReflection()->MutableMessage(message, metadata);
  inner->GetReflection()->SetString(inner,
                                    inner->GetDescriptor()->FindFieldByName("resourceVersion"),
                                    std::to_string(object.resource_version));
  object.protobuf = message->SerializeAsString();
}

const std::string& ProtobufOf(const ResourceInfo& info, const Object& object) {
  if (object.protobuf.empty()) {
    std::unique_ptr<Message> message = NewMessage(info.message);
    // What is stored went through this schema already.
    (void)apis::FromJsonString(object.json, message.get());
    object.protobuf = message->SerializeAsString();
  }
  return object.protobuf;
}

std::string JsonToEnvelope(std::string_view name, std::string_view api_version,
                           std::string_view kind, std::string_view json) {
  std::unique_ptr<Message> message = NewMessage(name);
  (void)apis::FromJsonString(json, message.get());
  return apis::Wrap(api_version, kind, *message);
}

std::string EncodeObject(const ResourceInfo& info, Encoding encoding, const Object& object) {
  if (encoding == Encoding::kJson) return object.json;
  return apis::WrapRaw(info.group_version(), info.kind, ProtobufOf(info, object));
}

std::string EncodeList(const ResourceInfo& info, Encoding encoding, std::string_view metadata,
                       const std::vector<ObjectPtr>& items) {
  if (encoding == Encoding::kProtobuf) {
    meta::ListMeta list_meta;
    (void)apis::FromJsonString(metadata, &list_meta);
    std::string raw;
    AppendLengthDelimited(raw, 1, list_meta.SerializeAsString());
    for (const ObjectPtr& item : items) AppendLengthDelimited(raw, 2, ProtobufOf(info, *item));
    return apis::WrapRaw(info.group_version(), info.list_kind(), raw);
  }
  std::string out = StrCat("{\"kind\":\"", info.list_kind(), "\",\"apiVersion\":\"",
                           info.group_version(), "\",\"metadata\":", metadata, ",\"items\":[");
  bool first = true;
  for (const ObjectPtr& item : items) {
    if (!first) out += ',';
    first = false;
    out += info.custom ? item->json : item->WithoutType();
  }
  out += "]}";
  return out;
}

std::string EncodeWatchEvent(Encoding encoding, std::string_view type, std::string_view object) {
  if (encoding == Encoding::kProtobuf) {
    std::string frame;
    apis::AppendWatchFrame(type, object, &frame);
    return frame;
  }
  return StrCat("{\"type\":\"", type, "\",\"object\":", object, "}\n");
}

}  // namespace csinative::apiserver
