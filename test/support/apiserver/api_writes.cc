// SPDX-License-Identifier: Apache-2.0
//
// The requests of ApiHandler that change something.
#include <charconv>

#include "apis/envelope.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/api_call.h"
#include "test/support/apiserver/codec.h"

namespace csinative::apiserver {
namespace {

constexpr char kDeleteOptions[] = "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions";
constexpr char kStatus[] = "k8s.io.apimachinery.pkg.apis.meta.v1.Status";

Failure UnsupportedPatch(const ResourceInfo& info) {
  if (info.custom) {
    return Failure{.code = 415,
                   .reason = "UnsupportedMediaType",
                   .message =
                       "the body of the request was in an unknown format - accepted media "
                       "types include: application/json-patch+json, "
                       "application/merge-patch+json, application/apply-patch+yaml"};
  }
  return Failure{.code = 415,
                 .reason = "UnsupportedMediaType",
                 .message = "415: Unsupported Media Type",
                 .empty_details = true};
}

std::vector<std::string> UnknownFieldTexts(const std::vector<std::string>& fields) {
  std::vector<std::string> texts;
  for (const std::string& field : fields) {
    texts.push_back(StrCat("unknown field ", JsonString(field)));
  }
  return texts;
}

// {"kind":"Status",...,"status":"Success"} with the object's identity.
std::string SuccessJson(const ResourceInfo& info, const Object& object) {
  return StrCat(
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",",
      "\"details\":{\"name\":", JsonString(object.name),
      info.group.empty() ? "" : StrCat(",\"group\":", JsonString(info.group)),
      ",\"kind\":", JsonString(info.resource), ",\"uid\":", JsonString(object.uid), "}}");
}

}  // namespace

std::optional<Failure> ApiHandler::CheckWriteQuery(const Call& call, std::string_view kind) const {
  std::string dry_run = call.info.Query("dryRun");
  if (!dry_run.empty() && dry_run != "All") {
    return Invalid("meta.k8s.io", kind, "",
                   {UnsupportedValue("dryRun", StrCat("[", JsonString(dry_run), "]"), {"All"})});
  }
  std::string validation = call.info.Query("fieldValidation");
  if (!validation.empty() && validation != "Ignore" && validation != "Warn" &&
      validation != "Strict") {
    return Invalid("meta.k8s.io", kind, "",
                   {UnsupportedValue("fieldValidation", JsonString(validation),
                                     {"", "Ignore", "Strict", "Warn"})});
  }
  return std::nullopt;
}

async::Task<int> ApiHandler::Create(Call* call) {
  const ResourceInfo& info = *call->resource;
  if (auto failure = CheckWriteQuery(*call, "CreateOptions")) {
    co_return co_await SendFailure(call, *failure);
  }
  std::optional<Encoding> encoding =
      EncodingOfBody(call->request.headers.Get("Content-Type"), HasSchema(info));
  if (!encoding) co_return co_await SendFailure(call, UnsupportedBody(HasSchema(info)));
  std::vector<std::string> unknown;
  Outcome<JsonDocument> document =
      DecodeBody(info, *encoding, call->request.body, {.unknown_fields = &unknown});
  if (!document.ok()) co_return co_await SendFailure(call, document.failure());
  if (!unknown.empty() && call->info.Query("fieldValidation") == "Strict") {
    co_return co_await SendFailure(
        call, BadRequest(StrCat(
                  info.kind, " in version \"", info.version, "\" cannot be handled as a ",
                  info.kind, ": strict decoding error: ", Join(UnknownFieldTexts(unknown), ", "))));
  }
  if (call->info.Query("fieldValidation") != "Ignore") call->warnings = UnknownFieldTexts(unknown);
  Outcome<ObjectPtr> created = semantics_.Create(call->target, std::move(*document));
  if (!created.ok()) co_return co_await SendFailure(call, created.failure());
  if (!call->target.dry_run) AfterWrite(info, **created, false);
  co_return co_await SendObject(call, 201, *created);
}

async::Task<int> ApiHandler::Write(Call* call) {
  const ResourceInfo& info = *call->resource;
  const bool patch = call->info.verb == "patch";
  if (auto failure = CheckWriteQuery(*call, patch ? "PatchOptions" : "UpdateOptions")) {
    co_return co_await SendFailure(call, *failure);
  }
  std::string_view content_type = call->request.headers.Get("Content-Type").value_or("");
  std::vector<std::string> unknown;
  const bool strict = call->info.Query("fieldValidation") == "Strict";
  Outcome<Written> written = Failure{};
  if (patch) {
    std::string type = BareMediaType(content_type);
    std::optional<PatchType> patch_type;
    if (type == "application/json-patch+json") patch_type = PatchType::kJson;
    if (type == "application/merge-patch+json") patch_type = PatchType::kMerge;
    if (type == "application/strategic-merge-patch+json" && !info.custom) {
      patch_type = PatchType::kStrategic;
    }
    if (!patch_type) co_return co_await SendFailure(call, UnsupportedPatch(info));
    written = semantics_.Patch(call->target, *patch_type, call->request.body, &unknown);
  } else {
    std::optional<Encoding> encoding = EncodingOfBody(
        content_type.empty() ? std::nullopt : std::optional(content_type), HasSchema(info));
    if (!encoding) co_return co_await SendFailure(call, UnsupportedBody(HasSchema(info)));
    Outcome<JsonDocument> document =
        DecodeBody(info, *encoding, call->request.body, {.unknown_fields = &unknown});
    if (!document.ok()) co_return co_await SendFailure(call, document.failure());
    if (strict && !unknown.empty()) {
      co_return co_await SendFailure(
          call,
          BadRequest(StrCat(info.kind, " in version \"", info.version, "\" cannot be handled as a ",
                            info.kind,
                            ": strict decoding error: ", Join(UnknownFieldTexts(unknown), ", "))));
    }
    written = semantics_.Update(call->target, std::move(*document));
  }
  if (!written.ok()) co_return co_await SendFailure(call, written.failure());
  if (call->info.Query("fieldValidation") != "Ignore") call->warnings = UnknownFieldTexts(unknown);
  if (!call->target.dry_run) AfterWrite(info, *written->object, false);
  co_return co_await SendObject(call, written->created ? 201 : 200, written->object);
}

Outcome<DeleteOptions> ApiHandler::ParseDeleteOptions(Call* call) {
  DeleteOptions options;
  std::string policy = call->info.Query("propagationPolicy");
  std::string grace = call->info.Query("gracePeriodSeconds");
  if (!grace.empty()) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(grace.data(), grace.data() + grace.size(), value);
    if (error != std::errc() || end != grace.data() + grace.size()) {
      return BadRequest(
          StrCat("strconv.ParseInt: parsing ", JsonString(grace), ": invalid syntax"));
    }
    options.grace_period_seconds = value;
  }
  std::string_view body = call->request.body;
  if (!body.empty()) {
    std::optional<Encoding> encoding =
        EncodingOfBody(call->request.headers.Get("Content-Type"), true);
    if (!encoding) return UnsupportedBody(true);
    if (*encoding == Encoding::kJson) {
      Result<JsonDocument> document = ParseJson(body);
      if (!document.ok()) {
        return BadRequest(
            "couldn't get version/kind; json parse error: unexpected end of JSON input");
      }
      std::string_view kind = TextAt(*document, "kind");
      if (!kind.empty() && kind != "DeleteOptions") {
        return BadRequest(StrCat("no kind ", JsonString(kind),
                                 " is registered for version \"meta.k8s.io/v1\" in scheme "
                                 "\"pkg/runtime/scheme.go:111\""));
      }
    }
    Outcome<JsonDocument> document = DecodeMessage(kDeleteOptions, *encoding, body);
    if (!document.ok()) return document.failure();
    if (std::optional<int64_t> value = Integer(Find(*document, "gracePeriodSeconds"))) {
      options.grace_period_seconds = value;
    }
    options.uid = TextAt(*document, "preconditions", "uid");
    options.resource_version = TextAt(*document, "preconditions", "resourceVersion");
    if (std::string_view given = TextAt(*document, "propagationPolicy"); !given.empty()) {
      policy = given;
    }
    const Json* dry_run = Find(*document, "dryRun");
    if (!IsEmpty(dry_run)) call->target.dry_run = true;
  }
  if (!policy.empty() && policy != "Foreground" && policy != "Background" && policy != "Orphan") {
    return Invalid("meta.k8s.io", "DeleteOptions", "",
                   {UnsupportedValue("propagationPolicy", JsonString(policy),
                                     {"Foreground", "Background", "Orphan", "nil"})});
  }
  options.foreground = policy == "Foreground";
  return options;
}

async::Task<int> ApiHandler::Delete(Call* call) {
  const ResourceInfo& info = *call->resource;
  Outcome<DeleteOptions> options = ParseDeleteOptions(call);
  if (!options.ok()) co_return co_await SendFailure(call, options.failure());
  Outcome<Deleted> deleted = semantics_.Delete(call->target, *options);
  if (!deleted.ok()) co_return co_await SendFailure(call, deleted.failure());
  if (!call->target.dry_run) AfterWrite(info, *deleted->object, deleted->gone);
  if (deleted->gone && !info.returns_deleted) {
    std::string json = SuccessJson(info, *deleted->object);
    if (call->negotiated.encoding == Encoding::kProtobuf) {
      co_return co_await Send(call, 200, JsonToEnvelope(kStatus, "v1", "Status", json),
                              std::string(apis::kProtobufContentType));
    }
    co_return co_await SendJson(call, 200, std::move(json));
  }
  co_return co_await SendObject(call, 200, deleted->object);
}

async::Task<int> ApiHandler::DeleteCollection(Call* call) {
  const ResourceInfo& info = *call->resource;
  Outcome<DeleteOptions> options = ParseDeleteOptions(call);
  if (!options.ok()) co_return co_await SendFailure(call, options.failure());
  Outcome<ListOptions> list = ParseListOptions(info, call->info);
  if (!list.ok()) co_return co_await SendFailure(call, list.failure());
  Outcome<ListResult> result = List(store_, store_.collection(info), *list);
  if (!result.ok()) co_return co_await SendFailure(call, result.failure());
  for (const ObjectPtr& item : result->items) {
    Target target = call->target;
    target.namespace_name = item->namespace_name;
    target.name = item->name;
    Outcome<Deleted> deleted = semantics_.Delete(target, *options);
    if (deleted.ok() && !target.dry_run) AfterWrite(info, *deleted->object, deleted->gone);
  }
  std::string body = EncodeList(info, call->negotiated.encoding, result->metadata, result->items);
  co_return co_await Send(call, 200, std::move(body),
                          std::string(MediaType(call->negotiated.encoding)));
}

void ApiHandler::AfterWrite(const ResourceInfo& info, const Object& object, bool deleted) {
  if (info.kind != "CustomResourceDefinition") return;
  JsonDocument definition = ParseDocument(object);
  const Json* spec = Find(definition, "spec");
  const Json* names = Find(spec, "names");
  const Json* versions = Find(spec, "versions");
  if (names == nullptr || versions == nullptr || !versions->IsArray()) return;
  if (deleted) {
    resources_.Remove(TextAt(*spec, "group"), TextAt(*names, "plural"));
    return;
  }
  auto strings = [](const Json* list) {
    std::vector<std::string> out;
    if (list != nullptr && list->IsArray()) {
      for (const Json& item : list->GetArray()) out.emplace_back(Text(&item));
    }
    return out;
  };
  // The version in which it is stored is the one that is served.
  for (const Json& version : versions->GetArray()) {
    if (!IsTrue(Find(version, "storage"))) continue;
    std::string kind(TextAt(*names, "kind"));
    std::string singular(TextAt(*names, "singular"));
    resources_.Add({.group = std::string(TextAt(*spec, "group")),
                    .version = std::string(TextAt(version, "name")),
                    .resource = std::string(TextAt(*names, "plural")),
                    .kind = kind,
                    .namespaced = TextAt(*spec, "scope") == "Namespaced",
                    .singular = singular.empty() ? ToLower(kind) : singular,
                    .short_names = strings(Find(names, "shortNames")),
                    .categories = strings(Find(names, "categories")),
                    .custom = true,
                    .has_status = Find(version, "subresources", "status") != nullptr,
                    .generation = GenerationRule::kAllButStatus,
                    .unconditional_update = false});
  }
  if (Find(definition, "status", "conditions") != nullptr) return;
  const std::string now = semantics_.Now();
  std::string status = StrCat(
      R"({"status":{"conditions":[{"type":"NamesAccepted","status":"True","lastTransitionTime":")",
      now, R"(","reason":"NoConflicts","message":"no conflicts found"},)",
      R"({"type":"Established","status":"True","lastTransitionTime":")", now,
      R"(","reason":"InitialNamesAccepted","message":"the initial names have been accepted"}]}})");
  (void)semantics_
      .Patch({.info = &info, .name = object.name, .subresource = "status"}, PatchType::kMerge,
             status, nullptr)
      .ok();
}

}  // namespace csinative::apiserver
