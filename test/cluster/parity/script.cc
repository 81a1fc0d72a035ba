// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/parity/script.h"

#include "apis/envelope.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/cluster/parity/normalize.h"
#include "test/support/apiserver/codec.h"
#include "test/support/apiserver/request_info.h"

namespace csinative::parity {
namespace {

using apiserver::Dump;
using apiserver::Find;
using apiserver::Integer;
using apiserver::Json;
using apiserver::JsonDocument;
using apiserver::ParseJson;
using apiserver::Text;
using apiserver::TextAt;

constexpr int kMaxRepeats = 150;

std::string MediaType(std::string_view type) {
  if (type == "json") return "application/json";
  if (type == "merge") return "application/merge-patch+json";
  if (type == "strategic") return "application/strategic-merge-patch+json";
  if (type == "jsonpatch") return "application/json-patch+json";
  if (type == "protobuf") return std::string(apis::kProtobufContentType);
  return std::string(type);
}

std::vector<std::string> Strings(const Json* list) {
  std::vector<std::string> out;
  if (list == nullptr || !list->IsArray()) return out;
  for (const Json& item : list->GetArray()) out.emplace_back(Text(&item));
  return out;
}

// A value of an earlier answer as text.
Result<std::string> Lookup(const std::map<std::string, std::string>& answers,
                           std::string_view reference) {
  size_t colon = reference.find(':');
  auto it = answers.find(std::string(reference.substr(0, colon)));
  if (colon == std::string_view::npos || it == answers.end()) {
    return NotFoundError(StrCat("no answer for ", reference));
  }
  CSI_ASSIGN_OR_RETURN(JsonDocument document, ParseJson(it->second));
  const Json* at = &document;
  for (std::string_view key : Split(reference.substr(colon + 2), '/')) {
    if (at->IsArray()) {
      size_t index = static_cast<size_t>(std::atoi(std::string(key).c_str()));
      at = index < at->Size() ? &(*at)[static_cast<rapidjson::SizeType>(index)] : nullptr;
    } else {
      at = Find(at, key);
    }
    if (at == nullptr) return NotFoundError(StrCat("the answer has no ", reference));
  }
  return at->IsString() ? std::string(Text(at)) : Dump(*at);
}

Result<std::string> Substitute(const std::map<std::string, std::string>& answers,
                               std::string_view text) {
  std::string out;
  while (true) {
    size_t begin = text.find("${");
    if (begin == std::string_view::npos) return out + std::string(text);
    size_t end = text.find('}', begin);
    if (end == std::string_view::npos) return InvalidArgumentError("a ${ without }");
    CSI_ASSIGN_OR_RETURN(std::string value,
                         Lookup(answers, text.substr(begin + 2, end - begin - 2)));
    out += StrCat(text.substr(0, begin), value);
    text.remove_prefix(end + 1);
  }
}

const apiserver::ResourceTable& Resources() {
  static const auto* table = new apiserver::ResourceTable();
  return *table;
}

const apiserver::ResourceInfo* ResourceOf(const http::Request& request) {
  std::optional<apiserver::RequestInfo> info =
      apiserver::ParseRequest(request.method, request.target);
  return info ? Resources().Find(info->group, info->version, info->resource) : nullptr;
}

// The message a path takes or gives, apart from lists and statuses.
std::string MessageOf(const http::Request& request) {
  if (request.method == "DELETE") return "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions";
  if (request.target.find("/token") != std::string::npos) {
    return "k8s.io.api.authentication.v1.TokenRequest";
  }
  const apiserver::ResourceInfo* info = ResourceOf(request);
  return info == nullptr ? "" : info->message;
}

std::string DecodeEnvelope(std::string_view message, std::string_view envelope) {
  Result<apis::Envelope> parts = apis::Unwrap(envelope);
  if (!parts.ok()) return JsonString(parts.status().message());
  std::string name(message);
  if (parts->kind == "Status") name = "k8s.io.apimachinery.pkg.apis.meta.v1.Status";
  if (parts->kind.ends_with("List")) name += "List";
  auto document = apiserver::DecodeMessage(name, apiserver::Encoding::kProtobuf, envelope);
  if (!document.ok()) return JsonString(document.failure().message);
  apiserver::SetText(*document, "kind", parts->kind, document->GetAllocator());
  apiserver::SetText(*document, "apiVersion", parts->api_version, document->GetAllocator());
  return Dump(*document);
}

// Protobuf bodies as the JSON they stand for.
std::string ToJsonBody(const http::Request& request, const http::Response& response) {
  std::string type(response.headers.Get("Content-Type").value_or(""));
  if (type == apis::kProtobufContentType) return DecodeEnvelope(MessageOf(request), response.body);
  if (type != apis::kProtobufWatchContentType) return response.body;
  apis::WatchFrameReader reader;
  reader.Feed(response.body);
  std::string out;
  while (true) {
    Result<std::optional<apis::WatchFrame>> frame = reader.Next();
    if (!frame.ok()) return JsonString(frame.status().message());
    if (!frame->has_value()) break;
    out += StrCat("{\"type\":", JsonString((*frame)->type),
                  ",\"object\":", DecodeEnvelope(MessageOf(request), (*frame)->object), "}\n");
  }
  return out;
}

Result<http::Request> MakeRequest(const Step& step,
                                  const std::map<std::string, std::string>& answers) {
  http::Request request{.method = step.method};
  CSI_ASSIGN_OR_RETURN(request.target, Substitute(answers, step.path));
  if (!step.accept.empty()) {
    request.headers.Set("Accept", step.accept == "protobuf"
                                      ? std::string(apis::kProtobufContentType)
                                      : step.accept);
  }
  if (!step.has_body) return request;
  CSI_ASSIGN_OR_RETURN(request.body, Substitute(answers, step.body));
  request.headers.Set("Content-Type", MediaType(step.type));
  if (step.type == "protobuf") {
    CSI_ASSIGN_OR_RETURN(JsonDocument document, ParseJson(request.body));
    request.body = apiserver::JsonToEnvelope(MessageOf(request), TextAt(document, "apiVersion"),
                                             TextAt(document, "kind"), request.body);
  }
  return request;
}

}  // namespace

Result<std::vector<Step>> ParseScript(std::string_view text) {
  std::vector<Step> steps;
  int number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    line = TrimSpace(line);
    if (line.empty() || line[0] == '#') continue;
    Result<JsonDocument> document = ParseJson(line);
    if (!document.ok()) {
      return document.status().WithContext(StrCat("line ", number));
    }
    Step step;
    step.name = TextAt(*document, "name");
    if (std::string_view method = TextAt(*document, "method"); !method.empty()) {
      step.method = method;
    }
    step.path = TextAt(*document, "path");
    if (const Json* body = Find(*document, "body")) {
      step.body = Dump(*body);
      step.has_body = true;
    }
    if (const Json* raw = Find(*document, "raw")) {
      step.body = Text(raw);
      step.has_body = true;
    }
    if (std::string_view type = TextAt(*document, "type"); !type.empty()) step.type = type;
    step.accept = TextAt(*document, "accept");
    step.auth = TextAt(*document, "auth");
    if (auto until = Integer(Find(*document, "until"))) step.until = static_cast<int>(*until);
    step.subset = apiserver::IsTrue(Find(*document, "subset"));
    step.ignore = Strings(Find(*document, "ignore"));
    if (step.name.empty() || step.path.empty()) {
      return InvalidArgumentError(StrCat("line ", number, ": name and path are required"));
    }
    for (const Step& other : steps) {
      if (other.name == step.name) {
        return InvalidArgumentError(StrCat("line ", number, ": a second step ", step.name));
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string Answer::ToString() const {
  std::vector<std::string> quoted;
  for (const std::string& warning : warnings) quoted.push_back(JsonString(warning));
  return StrCat("{\"status\":", status, ",\"contentType\":", JsonString(content_type),
                retry_after.empty() ? "" : StrCat(",\"retryAfter\":", JsonString(retry_after)),
                warnings.empty() ? "" : StrCat(",\"warnings\":[", Join(quoted, ","), "]"),
                ",\"body\":", body, "}");
}

Result<Answer> ParseAnswer(std::string_view json) {
  CSI_ASSIGN_OR_RETURN(JsonDocument document, ParseJson(json));
  Answer answer;
  answer.status = static_cast<int>(Integer(Find(document, "status")).value_or(0));
  answer.content_type = TextAt(document, "contentType");
  answer.retry_after = TextAt(document, "retryAfter");
  answer.warnings = Strings(Find(document, "warnings"));
  const Json* body = Find(document, "body");
  if (body == nullptr) return InvalidArgumentError("an answer without a body");
  answer.body = Dump(*body);
  return answer;
}

Status RunScript(const std::vector<Step>& steps, Server& server, const StepDone& done) {
  std::map<std::string, std::string> answers;
  for (const Step& step : steps) {
    Result<http::Request> request = MakeRequest(step, answers);
    if (!request.ok()) return request.status().WithContext(StrCat("step ", step.name));
    http::Response response = server.Do(*request, step.auth);
    for (int i = 0; step.until && response.status != *step.until && i < kMaxRepeats; ++i) {
      server.Pause();
      response = server.Do(*request, step.auth);
    }
    if (response.status == 0) {
      return UnavailableError(StrCat("step ", step.name, ": ", response.body));
    }
    std::string json = ToJsonBody(*request, response);
    Answer answer{.status = response.status,
                  .content_type = std::string(response.headers.Get("Content-Type").value_or("")),
                  .retry_after = std::string(response.headers.Get("Retry-After").value_or(""))};
    for (const auto& [name, value] : response.headers.fields()) {
      if (EqualsIgnoreCase(name, "Warning")) answer.warnings.push_back(value);
    }
    answer.body = NormalizeBody(json, step.ignore);
    answers[step.name] = std::move(json);
    done(step, answer);
  }
  return Status();
}

}  // namespace csinative::parity
