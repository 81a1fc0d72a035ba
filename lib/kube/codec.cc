// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/codec.h"

#include <charconv>
#include <utility>

#include "apis/declared_fields.h"
#include "apis/envelope.h"
#include "apis/json/from_json.h"
#include "apis/json/parse.h"
#include "apis/json/to_json.h"
#include "lib/base/strings.h"
#include "lib/kube/api_status.h"

namespace csinative::kube {
namespace {

constexpr std::string_view kJsonContentType = "application/json";
// client-go reads no more of an error page into an error text.
constexpr size_t kMaxErrorText = 2048;

bool IsTokenCharacter(char c) {
  constexpr std::string_view kSeparators = "()<>@,;:\\\"/[]?=";
  return c > ' ' && c < 0x7f && kSeparators.find(c) == std::string_view::npos;
}

bool IsToken(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!IsTokenCharacter(c)) return false;
  }
  return true;
}

Status MalformedMediaType(std::string_view problem) {
  return Status(Code::kInternal, StrCat("Internal error occurred: mime: ", problem),
                ApiError{.http_code = 500, .reason = "InternalError"});
}

// "type/subtype" in lower case, without parameters.
Result<std::string> MediaType(std::string_view content_type) {
  const std::string type = ToLower(TrimSpace(content_type.substr(0, content_type.find(';'))));
  const size_t slash = type.find('/');
  if (!IsToken(std::string_view(type).substr(0, slash))) {
    return MalformedMediaType(type.empty() ? "no media type" : "expected slash after first token");
  }
  if (slash == std::string::npos) return type;
  const std::string_view subtype = std::string_view(type).substr(slash + 1);
  if (subtype.empty() || !IsTokenCharacter(subtype.front())) {
    return MalformedMediaType("expected token after slash");
  }
  if (!IsToken(subtype)) return MalformedMediaType("unexpected content after media subtype");
  return type;
}

bool IsSuccess(int code) { return code >= 200 && code <= 206; }

// The body as text for people: of text types only, or if no type is given.
std::string_view ReadableBody(const ApiResponse& response) {
  if (!response.content_type.empty() && !ToLower(response.content_type).starts_with("text/")) {
    return {};
  }
  return TrimSpace(std::string_view(response.body).substr(0, kMaxErrorText));
}

int64_t RetryAfterSeconds(const ApiResponse& response) {
  int64_t seconds = 0;
  const std::string& text = response.retry_after;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return error == std::errc() && end == text.data() + text.size() ? seconds : 0;
}

// The body if it is a Status object: kind present, version v1 or left out.
std::optional<meta::Status> StatusIn(const ApiResponse& response, Encoding encoding) {
  // Spares parsing of long JSON answers only to see that they are something else.
  if (response.body.find("Status") == std::string::npos) return std::nullopt;
  std::string scratch;
  Result<EncodedObject> object = OpenObject(encoding, response.body, &scratch);
  if (!object.ok() || object->kind != "Status") return std::nullopt;
  if (!object->api_version.empty() && object->api_version != "v1") return std::nullopt;
  meta::Status status;
  if (!DecodeObject(*object, UnknownFields::kDrop, &status).ok()) return std::nullopt;
  return status;
}

}  // namespace

std::string_view ContentType(Encoding encoding) {
  return encoding == Encoding::kProtobuf ? apis::kProtobufContentType : kJsonContentType;
}

std::string_view AcceptHeader(Encoding encoding) {
  return encoding == Encoding::kProtobuf ? "application/vnd.kubernetes.protobuf, */*"
                                         : "application/json, */*";
}

Result<Encoding> EncodingOf(std::string_view content_type, Encoding fallback) {
  if (content_type.empty()) return fallback;
  CSI_ASSIGN_OR_RETURN(const std::string type, MediaType(content_type));
  if (type == apis::kProtobufContentType) return Encoding::kProtobuf;
  if (type == kJsonContentType) return Encoding::kJson;
  return UnimplementedError(StrCat("no decoder for content type ", content_type));
}

std::string EncodeBody(Encoding encoding, std::string_view api_version, std::string_view kind,
                       const google::protobuf::Message& message) {
  if (encoding == Encoding::kProtobuf) return apis::Wrap(api_version, kind, message);
  return apis::ToJsonString(message, {.api_version = api_version, .kind = kind}) + "\n";
}

Result<EncodedObject> OpenObject(Encoding encoding, std::string_view body, std::string* scratch) {
  if (encoding == Encoding::kProtobuf) {
    CSI_ASSIGN_OR_RETURN(const apis::Envelope envelope, apis::Unwrap(body));
    return EncodedObject{encoding, envelope.api_version, envelope.kind, envelope.raw};
  }
  rapidjson::Document document;
  CSI_RETURN_IF_ERROR(apis::ParseJson(body, &document));
  const apis::JsonTypeMeta type = apis::TypeMetaOf(document);
  *scratch = type.api_version + type.kind;
  const std::string_view both = *scratch;
  return EncodedObject{encoding, both.substr(0, type.api_version.size()),
                       both.substr(type.api_version.size()), body};
}

Status DecodeObject(const EncodedObject& object, UnknownFields unknown,
                    google::protobuf::Message* out) {
  if (object.encoding == Encoding::kJson) return apis::FromJsonString(object.bytes, out);
  const bool parsed =
      unknown == UnknownFields::kDrop
          ? apis::ParseDeclaredFields(object.bytes, out)
          : out->ParsePartialFromArray(object.bytes.data(), static_cast<int>(object.bytes.size()));
  if (!parsed) {
    return InvalidArgumentError(
        StrCat("unable to decode ", out->GetDescriptor()->name(), " from protobuf"));
  }
  return Status();
}

Status CheckAnswer(const ApiResponse& response, Encoding fallback, const RequestSubject& subject) {
  if (response.code == 101) return Status();
  const Result<Encoding> encoding = EncodingOf(response.content_type, fallback);
  if (!encoding.ok() && encoding.status().api_error() != nullptr) return encoding.status();
  const std::optional<meta::Status> status =
      encoding.ok() ? StatusIn(response, *encoding) : std::nullopt;
  if (IsSuccess(response.code)) {
    return status && status->status() != "Success" ? FromApiStatus(*status) : Status();
  }
  if (status && status->status() == "Failure") return FromApiStatus(*status);
  UndecodedAnswer answer{.code = response.code,
                         .method = subject.method,
                         .name = subject.name,
                         .body = ReadableBody(response),
                         .retry_after_seconds = RetryAfterSeconds(response)};
  if (subject.resource != nullptr) {
    answer.resource = subject.resource->plural;
    answer.group = subject.resource->group;
  }
  return GenericServerError(answer);
}

Status DecodeAnswer(const ApiResponse& response, Encoding fallback, const ResourceInfo& resource,
                    google::protobuf::Message* out) {
  if (response.body.empty()) {
    return InvalidArgumentError(StrCat("0-length response with status code: ", response.code,
                                       " and content type: ", response.content_type));
  }
  CSI_ASSIGN_OR_RETURN(const Encoding encoding, EncodingOf(response.content_type, fallback));
  std::string scratch;
  CSI_ASSIGN_OR_RETURN(const EncodedObject object, OpenObject(encoding, response.body, &scratch));
  if (!object.kind.empty() && object.kind != resource.kind) {
    return InvalidArgumentError(
        StrCat("unable to decode ", object.kind, " into ", resource.TypeText()));
  }
  return DecodeObject(
      object, resource.keep_unknown_fields ? UnknownFields::kKeep : UnknownFields::kDrop, out);
}

}  // namespace csinative::kube
