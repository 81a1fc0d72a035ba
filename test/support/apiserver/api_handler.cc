// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/api_handler.h"

#include <charconv>

#include "apis/envelope.h"
#include "apis/json/parse.h"
#include "apis/meta/v1/time.h"
#include "lib/async/sleep.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/api_call.h"
#include "test/support/apiserver/codec.h"
#include "test/support/apiserver/discovery.h"

namespace csinative::apiserver {
namespace {

constexpr char kStatusMessage[] = "k8s.io.apimachinery.pkg.apis.meta.v1.Status";

Failure Unauthorized() {
  return Failure{.code = 401, .reason = "Unauthorized", .message = "Unauthorized"};
}

std::string_view ReasonOf(int code) {
  switch (code) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "";
  }
}

Failure ToFailure(const Fault& fault) {
  std::string message = fault.message;
  if (message.empty()) {
    message = fault.code == 429 ? "the server has received too many requests and has asked us to "
                                  "try again later"
                                : StrCat("injected failure ", fault.code);
  }
  return Failure{.code = fault.code,
                 .reason = fault.reason.empty() ? std::string(ReasonOf(fault.code)) : fault.reason,
                 .message = std::move(message),
                 .retry_after_seconds = fault.retry_after_seconds};
}

Failure NotAcceptable(const ResourceInfo& resource, std::string_view verb) {
  // Custom resources are served by another part of the real server, with words of its own.
  if (resource.custom) {
    return Failure{.code = 406,
                   .reason = "NotAcceptable",
                   .message =
                       "only the following media types are accepted: application/json, "
                       "application/yaml, application/vnd.kubernetes.protobuf"};
  }
  std::string message =
      "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
      "application/vnd.kubernetes.protobuf";
  if (verb == "watch") {
    message += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
  }
  return Failure{
      .code = 406, .reason = "NotAcceptable", .message = std::move(message), .empty_details = true};
}

void MakeNamespace(Semantics& semantics, const ResourceTable& resources, std::string_view name) {
  Target target{.info = resources.Find("", "v1", "namespaces")};
  JsonDocument document = *ParseJson(StrCat("{\"metadata\":{\"name\":\"", name, "\"}}"));
  (void)semantics.Create(target, std::move(document)).ok();
}

}  // namespace

ApiHandler::ApiHandler(async::EventLoop& loop, Random& random, ApiOptions options)
    : loop_(loop),
      options_(std::move(options)),
      store_(options_.store),
      semantics_(store_, resources_, loop, random, options_.semantics),
      tokens_(loop, random),
      random_(random) {
  if (options_.snapshot_resources) {
    for (ResourceInfo& info : SnapshotResources()) resources_.Add(std::move(info));
    resources_.Add(ReferenceGrantResource());
  }
  store_.set_on_change([this](Collection& collection) {
    auto it = signals_.find(&collection);
    if (it != signals_.end()) it->second->NotifyAll();
  });
  for (std::string_view name : {"default", "kube-system", "kube-public"}) {
    MakeNamespace(semantics_, resources_, name);
  }
}

async::Signal& ApiHandler::SignalOf(const Collection& collection) {
  std::unique_ptr<async::Signal>& signal = signals_[&collection];
  if (signal == nullptr) signal = std::make_unique<async::Signal>();
  return *signal;
}

void ApiHandler::CutWatches() {
  ++cut_epoch_;
  for (auto& [collection, signal] : signals_) signal->NotifyAll();
}

void ApiHandler::EndWatches() {
  ++end_epoch_;
  for (auto& [collection, signal] : signals_) signal->NotifyAll();
}

async::Task<void> ApiHandler::Handle(http::ServerRequest request, http::ResponseWriter* writer) {
  Call call{.request = std::move(request), .writer = writer};
  std::optional<RequestInfo> info = ParseRequest(call.request.method, call.request.target);
  call.readable = info.has_value();
  if (info) call.info = std::move(*info);
  call.info.user_agent = call.request.headers.Get("User-Agent").value_or("");

  const uint64_t number = log_begin_ + log_.size();
  std::string content_type(call.request.headers.Get("Content-Type").value_or(""));
  log_.push_back({call.info.verb, call.request.method, call.request.target, "",
                  call.info.user_agent, std::move(content_type), call.request.body, 0});
  if (log_.size() > options_.log_limit) {
    log_.pop_front();
    ++log_begin_;
  }
  const int code = co_await Answer(&call);
  // The entry may be gone meanwhile.
  if (number >= log_begin_ && number - log_begin_ < log_.size()) {
    LoggedRequest& entry = log_[number - log_begin_];
    entry.code = code;
    entry.user = call.info.user;
  }
}

void ApiHandler::ClearLog() {
  log_begin_ += log_.size();
  log_.clear();
}

async::Task<int> ApiHandler::Answer(Call* call) {
  if (!call->readable) co_return co_await SendFailure(call, BadRequest("malformed URL"));
  std::optional<Failure> denied = Authenticate(call);
  Fault fault = fault_hook_ ? fault_hook_(call->info) : Fault{};
  if (fault.delay > Duration(0)) {
    Status slept = co_await async::Sleep(fault.delay);
    if (!slept.ok()) co_return 0;
  }
  if (fault.drop == Fault::Drop::kBefore) {
    call->writer->Abort();
    co_return 0;
  }
  call->drop_answer = fault.drop == Fault::Drop::kAfter;
  if (denied) co_return co_await SendFailure(call, *denied);
  if (fault.code != 0) co_return co_await SendFailure(call, ToFailure(fault));
  denied = Authorize(*call);
  if (denied) co_return co_await SendFailure(call, *denied);
  if (!call->info.is_resource) co_return co_await NonResource(call);
  co_return co_await Resource(call);
}

std::optional<Failure> ApiHandler::Authenticate(Call* call) {
  RequestInfo& info = call->info;
  std::string_view authorization = call->request.headers.Get("Authorization").value_or("");
  constexpr std::string_view kBearer = "Bearer ";
  if (authorization.size() > kBearer.size() &&
      EqualsIgnoreCase(authorization.substr(0, kBearer.size()), kBearer)) {
    std::optional<User> user =
        tokens_.Authenticate(TrimSpace(authorization.substr(kBearer.size())));
    if (!user) return Unauthorized();
    info.user = user->name;
    info.groups = user->groups;
    return std::nullopt;
  }
  if (!call->request.client_common_name.empty()) {
    info.user = call->request.client_common_name;
    info.groups = call->request.client_organizations;
    info.groups.push_back("system:authenticated");
    return std::nullopt;
  }
  if (!options_.anonymous) return Unauthorized();
  info.user = "system:anonymous";
  info.groups = {"system:unauthenticated"};
  return std::nullopt;
}

std::optional<Failure> ApiHandler::Authorize(const Call& call) const {
  const RequestInfo& info = call.info;
  bool allowed;
  if (authorizer_) {
    allowed = authorizer_(info);
  } else if (info.user != "system:anonymous") {
    allowed = true;
  } else {
    allowed = !info.is_resource &&
              (info.path == "/healthz" || info.path == "/livez" || info.path == "/readyz" ||
               info.path == "/version" || info.path == "/version/");
  }
  if (allowed) return std::nullopt;
  if (!info.is_resource) {
    Failure failure = Forbidden({}, "",
                                StrCat("User ", JsonString(info.user), " cannot ", info.verb,
                                       " path ", JsonString(info.path)));
    failure.empty_details = true;
    return failure;
  }
  const std::string resource =
      info.subresource.empty() ? info.resource : StrCat(info.resource, "/", info.subresource);
  return Forbidden({info.group, info.resource}, info.name,
                   StrCat("User ", JsonString(info.user), " cannot ", info.verb, " resource ",
                          JsonString(resource), " in API group ", JsonString(info.group),
                          info.namespace_name.empty()
                              ? std::string(" at the cluster scope")
                              : StrCat(" in the namespace ", JsonString(info.namespace_name))));
}

async::Task<int> ApiHandler::Send(Call* call, int code, std::string body,
                                  std::string content_type) {
  if (call->drop_answer) {
    call->writer->Abort();
    co_return 0;
  }
  http::Response response{.status = code, .body = std::move(body)};
  response.headers.Set("Content-Type", std::move(content_type));
  response.headers.Set("Cache-Control", "no-cache, private");
  for (const std::string& warning : call->warnings) {
    response.headers.Add("Warning", StrCat("299 - ", JsonString(warning)));
  }
  if (call->retry_after_seconds) {
    response.headers.Set("Retry-After", std::to_string(*call->retry_after_seconds));
  }
  if (call->request.method == "HEAD") response.body.clear();
  Status sent = co_await call->writer->Send(std::move(response));
  co_return sent.ok() ? code : 0;
}

async::Task<int> ApiHandler::SendJson(Call* call, int code, std::string json) {
  co_return co_await Send(call, code, std::move(json), "application/json");
}

async::Task<int> ApiHandler::SendFailure(Call* call, Failure failure) {
  call->retry_after_seconds = failure.retry_after_seconds;
  std::string json = failure.ToJson();
  // Failures have a protobuf form whatever the resource.
  std::optional<Negotiated> negotiated =
      NegotiateResponse(call->request.headers.Get("Accept"), true);
  if (negotiated && negotiated->encoding == Encoding::kProtobuf) {
    co_return co_await Send(call, failure.code,
                            JsonToEnvelope(kStatusMessage, "v1", "Status", json),
                            std::string(apis::kProtobufContentType));
  }
  co_return co_await SendJson(call, failure.code, std::move(json));
}

async::Task<int> ApiHandler::NonResource(Call* call) {
  const RequestInfo& info = call->info;
  std::string path = info.path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path == "/healthz" || path == "/readyz" || path == "/livez" || path == "/healthz/ping") {
    co_return co_await Send(call, 200, "ok", "text/plain; charset=utf-8");
  }
  std::optional<std::string> json;
  if (path == "/version") json = Version();
  if (path == "/api") json = ApiVersions(options_.advertised_address);
  if (path == "/apis") json = GroupList(resources_);
  if (path == "/openapi/v3") json = OpenApiIndex(resources_);
  if (path.starts_with("/openapi/v3/")) {
    std::vector<std::string_view> parts = Split(std::string_view(path).substr(12), '/');
    if (parts.size() == 2) json = OpenApi(resources_, "", parts[1]);
    if (parts.size() == 3) json = OpenApi(resources_, parts[1], parts[2]);
  }
  if (info.is_api && !json) {
    if (info.version.empty()) {
      json = Group(resources_, info.group);
    } else {
      json = ResourceList(resources_, info.group, info.version);
    }
    const bool known_group = info.group.empty() || resources_.HasGroup(info.group);
    if (!json && known_group) co_return co_await SendFailure(call, GenericNotFound());
  }
  if (json) co_return co_await SendJson(call, 200, std::move(*json));
  co_return co_await Send(call, 404, "404 page not found\n", "text/plain; charset=utf-8");
}

async::Task<int> ApiHandler::Resource(Call* call) {
  const RequestInfo& info = call->info;
  if (info.group == "authentication.k8s.io" && info.version == "v1") {
    co_return co_await Review(call);
  }
  const ResourceInfo* resource = resources_.Find(info.group, info.version, info.resource);
  if (resource == nullptr) {
    const bool known_group = info.group.empty() || resources_.HasGroup(info.group);
    if (known_group) co_return co_await SendFailure(call, GenericNotFound());
    co_return co_await Send(call, 404, "404 page not found\n", "text/plain; charset=utf-8");
  }
  call->resource = resource;
  call->target = {.info = resource,
                  .namespace_name = info.namespace_name,
                  .name = info.name,
                  .subresource = info.subresource,
                  .dry_run = info.Query("dryRun") == "All"};
  if (resource->namespaced != !info.namespace_name.empty() &&
      !(resource->namespaced && info.name.empty())) {
    co_return co_await SendFailure(call, GenericNotFound());
  }
  if (!info.subresource.empty()) {
    if (info.subresource == "token" && info.resource == "serviceaccounts") {
      co_return co_await Token(call);
    }
    if (info.subresource == "binding" && info.resource == "pods") co_return co_await Bind(call);
    bool known = info.subresource == "status" && resource->has_status;
    for (const std::string& name : resource->subresources) known |= name == info.subresource;
    if (!known) co_return co_await SendFailure(call, GenericNotFound());
  }

  std::optional<Negotiated> negotiated =
      NegotiateResponse(call->request.headers.Get("Accept"), HasProtobuf(*resource));
  if (!negotiated) co_return co_await SendFailure(call, NotAcceptable(*resource, info.verb));
  call->negotiated = *negotiated;

  const std::string& verb = info.verb;
  const bool cluster_list = resource->namespaced && info.namespace_name.empty();
  if (verb == "get" && call->request.method == "GET") {
    ObjectPtr object = store_.collection(*resource).Get(info.namespace_name, info.name);
    if (object == nullptr) {
      co_return co_await SendFailure(call, NotFound({info.group, info.resource}, info.name));
    }
    co_return co_await SendObject(call, 200, std::move(object));
  }
  if (verb == "list" && call->request.method == "GET") co_return co_await ListItems(call);
  if (verb == "watch") co_return co_await Watch(call);
  if (verb == "create" && info.name.empty() && !cluster_list) co_return co_await Create(call);
  if ((verb == "update" || verb == "patch") && !info.name.empty()) co_return co_await Write(call);
  if (verb == "delete" && info.subresource.empty()) co_return co_await Delete(call);
  if (verb == "deletecollection" && !cluster_list && info.resource != "namespaces") {
    co_return co_await DeleteCollection(call);
  }
  co_return co_await SendFailure(call, MethodNotAllowed({info.group, info.resource}));
}

std::string ApiHandler::Encode(const Call& call, const Object& object) const {
  if (!call.negotiated.metadata_only) {
    return EncodeObject(*call.resource, call.negotiated.encoding, object);
  }
  JsonDocument document = ParseDocument(object);
  const Json* metadata = Find(document, "metadata");
  std::string json =
      StrCat("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",",
             "\"metadata\":", metadata ? Dump(*metadata) : "{}", "}");
  if (call.negotiated.encoding == Encoding::kJson) return json;
  return JsonToEnvelope("k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
                        "meta.k8s.io/v1", "PartialObjectMetadata", json);
}

async::Task<int> ApiHandler::SendObject(Call* call, int code, ObjectPtr object) {
  std::string body = Encode(*call, *object);
  co_return co_await Send(call, code, std::move(body),
                          std::string(MediaType(call->negotiated.encoding)));
}

async::Task<int> ApiHandler::ListItems(Call* call) {
  Outcome<ListOptions> options = ParseListOptions(*call->resource, call->info);
  if (!options.ok()) co_return co_await SendFailure(call, options.failure());
  Outcome<ListResult> result = List(store_, store_.collection(*call->resource), *options);
  if (!result.ok()) co_return co_await SendFailure(call, result.failure());
  std::string body;
  if (call->negotiated.metadata_only) {
    std::vector<std::string> items;
    Call single = {.resource = call->resource, .negotiated = {.metadata_only = true}};
    for (const ObjectPtr& item : result->items) items.push_back(Encode(single, *item));
    body = StrCat("{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",",
                  "\"metadata\":", result->metadata, ",\"items\":[", Join(items, ","), "]}");
    if (call->negotiated.encoding == Encoding::kProtobuf) {
      body = JsonToEnvelope("k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList",
                            "meta.k8s.io/v1", "PartialObjectMetadataList", body);
    }
  } else {
    body = EncodeList(*call->resource, call->negotiated.encoding, result->metadata, result->items);
  }
  co_return co_await Send(call, 200, std::move(body),
                          std::string(MediaType(call->negotiated.encoding)));
}

Outcome<ObjectPtr> ApiHandler::CreateObject(std::string_view json) {
  Result<JsonDocument> document = ParseJson(json);
  if (!document.ok()) return BadRequest(document.status().message());
  const ResourceInfo* info =
      resources_.FindKind(TextAt(*document, "apiVersion"), TextAt(*document, "kind"));
  if (info == nullptr) return BadRequest("the kind is not served");
  Outcome<JsonDocument> normal = Normalize(*info, *document);
  if (!normal.ok()) return normal.failure();
  Target target{.info = info};
  if (info->namespaced) {
    target.namespace_name = TextAt(*normal, "metadata", "namespace");
    if (target.namespace_name.empty()) target.namespace_name = "default";
  }
  Outcome<ObjectPtr> created = semantics_.Create(target, std::move(*normal));
  if (created.ok()) AfterWrite(*info, **created, false);
  return created;
}

ObjectPtr ApiHandler::GetObject(std::string_view group, std::string_view resource,
                                std::string_view namespace_name, std::string_view name) {
  for (const ResourceInfo* info : resources_.All()) {
    if (info->group == group && info->resource == resource) {
      return store_.collection(*info).Get(namespace_name, name);
    }
  }
  return nullptr;
}

std::vector<ObjectPtr> ApiHandler::ListObjects(std::string_view group, std::string_view resource) {
  std::vector<ObjectPtr> objects;
  for (const ResourceInfo* info : resources_.All()) {
    if (info->group != group || info->resource != resource) continue;
    for (const auto& [key, object] : store_.collection(*info).objects()) objects.push_back(object);
  }
  return objects;
}

}  // namespace csinative::apiserver
