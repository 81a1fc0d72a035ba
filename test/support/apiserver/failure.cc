// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/failure.h"

#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

void AppendField(std::string& out, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  if (out.back() != '{') out += ',';
  AppendJsonString(out, key);
  out += ':';
  AppendJsonString(out, text);
}

Failure About(int code, std::string_view reason, ResourceId resource, std::string_view name,
              std::string message) {
  return Failure{.code = code,
                 .reason = std::string(reason),
                 .message = std::move(message),
                 .name = std::string(name),
                 .group = std::string(resource.group),
                 .kind = std::string(resource.resource)};
}

}  // namespace

std::string ResourceId::ToString() const {
  return group.empty() ? std::string(resource) : StrCat(resource, ".", group);
}

std::string Failure::ToJson() const {
  std::string out = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure")";
  AppendField(out, "message", message);
  AppendField(out, "reason", reason);
  if (!name.empty() || !group.empty() || !kind.empty() || !uid.empty() || !causes.empty() ||
      retry_after_seconds || empty_details) {
    std::string details = "{";
    AppendField(details, "name", name);
    AppendField(details, "group", group);
    AppendField(details, "kind", kind);
    AppendField(details, "uid", uid);
    if (!causes.empty()) {
      std::string list;
      for (const Cause& cause : causes) {
        std::string item = "{";
        AppendField(item, "reason", cause.reason);
        AppendField(item, "message", cause.message);
        AppendField(item, "field", cause.field);
        if (!list.empty()) list += ',';
        list += item + '}';
      }
      details += StrCat(details == "{" ? "" : ",", "\"causes\":[", list, "]");
    }
    if (retry_after_seconds.value_or(0) != 0) {
      details += StrCat(details == "{" ? "" : ",", "\"retryAfterSeconds\":", *retry_after_seconds);
    }
    out += ",\"details\":" + details + '}';
  }
  out += StrCat(",\"code\":", code, "}");
  return out;
}

Failure NotFound(ResourceId resource, std::string_view name) {
  return About(404, "NotFound", resource, name,
               StrCat(resource.ToString(), " \"", name, "\" not found"));
}

Failure AlreadyExists(ResourceId resource, std::string_view name) {
  return About(409, "AlreadyExists", resource, name,
               StrCat(resource.ToString(), " \"", name, "\" already exists"));
}

Failure Conflict(ResourceId resource, std::string_view name, std::string_view cause) {
  return About(
      409, "Conflict", resource, name,
      StrCat("Operation cannot be fulfilled on ", resource.ToString(), " \"", name, "\": ", cause));
}

Failure Forbidden(ResourceId resource, std::string_view name, std::string_view cause) {
  std::string subject = resource.resource.empty() ? "forbidden" : resource.ToString();
  if (!name.empty()) subject += StrCat(" \"", name, "\"");
  return About(403, "Forbidden", resource, name,
               resource.resource.empty() ? StrCat("forbidden: ", cause)
                                         : StrCat(subject, " is forbidden: ", cause));
}

Failure BadRequest(std::string_view message) {
  return Failure{.code = 400, .reason = "BadRequest", .message = std::string(message)};
}

Failure Invalid(std::string_view group, std::string_view kind, std::string_view name,
                std::vector<Cause> causes) {
  std::vector<std::string> texts;
  for (const Cause& cause : causes) {
    std::string text = StrCat(cause.field, ": ", cause.message);
    bool seen = false;
    for (const std::string& other : texts) seen = seen || other == text;
    if (!seen) texts.push_back(std::move(text));
  }
  std::string list = texts.size() == 1 ? texts[0] : StrCat("[", Join(texts, ", "), "]");
  list = texts.empty() ? "" : ": " + list;
  return Failure{
      .code = 422,
      .reason = "Invalid",
      .message = StrCat(ResourceId{group, kind}.ToString(), " \"", name, "\" is invalid", list),
      .name = std::string(name),
      .group = std::string(group),
      .kind = std::string(kind),
      .causes = std::move(causes)};
}

Failure MethodNotAllowed(ResourceId) {
  return Failure{.code = 405,
                 .reason = "MethodNotAllowed",
                 .message = "the server does not allow this method on the requested resource",
                 .empty_details = true};
}

Failure Expired(std::string_view message) {
  return Failure{.code = 410, .reason = "Expired", .message = std::string(message)};
}

Failure InternalError(std::string_view cause) {
  return Failure{.code = 500,
                 .reason = "InternalError",
                 .message = StrCat("Internal error occurred: ", cause),
                 .causes = {Cause{.message = std::string(cause)}}};
}

Failure PlainError(std::string_view message) {
  return Failure{.code = 500, .message = std::string(message)};
}

Failure UnsupportedBody(bool has_protobuf) {
  return Failure{.code = 415,
                 .reason = "UnsupportedMediaType",
                 .message = StrCat("the body of the request was in an unknown format - accepted "
                                   "media types include: application/json, application/yaml",
                                   has_protobuf ? ", application/vnd.kubernetes.protobuf" : "")};
}

Failure GenericNotFound() {
  return Failure{.code = 404,
                 .reason = "NotFound",
                 .message = "the server could not find the requested resource",
                 .empty_details = true};
}

Cause InvalidValue(std::string field, std::string_view value, std::string_view detail) {
  return {"FieldValueInvalid", StrCat("Invalid value: ", value, detail.empty() ? "" : ": ", detail),
          std::move(field)};
}

Cause RequiredValue(std::string field, std::string_view detail) {
  return {"FieldValueRequired", StrCat("Required value", detail.empty() ? "" : ": ", detail),
          std::move(field)};
}

Cause ForbiddenValue(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", StrCat("Forbidden: ", detail), std::move(field)};
}

Cause UnsupportedValue(std::string field, std::string_view quoted_value,
                       const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& value : supported) quoted.push_back(StrCat("\"", value, "\""));
  return {"FieldValueNotSupported",
          StrCat("Unsupported value: ", quoted_value, ": supported values: ", Join(quoted, ", ")),
          std::move(field)};
}

}  // namespace csinative::apiserver
