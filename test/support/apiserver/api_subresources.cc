// SPDX-License-Identifier: Apache-2.0
//
// Requests of ApiHandler below an object, and reviews: tokens, and binding pods.
#include "apis/envelope.h"
#include "apis/meta/v1/time.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/api_call.h"
#include "test/support/apiserver/codec.h"

namespace csinative::apiserver {
namespace {

constexpr char kTokenRequest[] = "k8s.io.api.authentication.v1.TokenRequest";
constexpr char kTokenReview[] = "k8s.io.api.authentication.v1.TokenReview";
constexpr char kBinding[] = "k8s.io.api.core.v1.Binding";
constexpr char kStatus[] = "k8s.io.apimachinery.pkg.apis.meta.v1.Status";
constexpr char kAuthentication[] = "authentication.k8s.io/v1";

struct Answered {
  std::string body;
  std::string content_type;
};

// A request of the authentication group that was filled in, as its client wants it.
Answered AsAsked(const http::ServerRequest& request, const char* message, const char* kind,
                 JsonDocument* document) {
  SetText(*document, "kind", kind, document->GetAllocator());
  SetText(*document, "apiVersion", kAuthentication, document->GetAllocator());
  std::string json = Dump(*document);
  std::optional<Negotiated> negotiated = NegotiateResponse(request.headers.Get("Accept"), true);
  if (negotiated && negotiated->encoding == Encoding::kProtobuf) {
    return {JsonToEnvelope(message, kAuthentication, kind, json),
            std::string(apis::kProtobufContentType)};
  }
  return {std::move(json), "application/json"};
}

}  // namespace

async::Task<int> ApiHandler::Token(Call* call) {
  const RequestInfo& info = call->info;
  if (call->request.method != "POST") {
    co_return co_await SendFailure(call, MethodNotAllowed({info.group, info.resource}));
  }
  std::optional<Encoding> encoding =
      EncodingOfBody(call->request.headers.Get("Content-Type"), true);
  if (!encoding) co_return co_await SendFailure(call, UnsupportedBody(true));
  Outcome<JsonDocument> document = DecodeMessage(kTokenRequest, *encoding, call->request.body);
  if (!document.ok()) co_return co_await SendFailure(call, document.failure());
  JsonAllocator& allocator = document->GetAllocator();
  ObjectPtr account = store_.collection(*call->resource).Get(info.namespace_name, info.name);
  if (account == nullptr) {
    co_return co_await SendFailure(call, NotFound({"", "serviceaccounts"}, info.name));
  }
  Json& spec = Ensure(*document, "spec", allocator);
  TokenSpec token_spec{
      .namespace_name = info.namespace_name, .service_account = info.name, .uid = account->uid};
  if (std::optional<int64_t> seconds = Integer(Find(&spec, "expirationSeconds"))) {
    token_spec.expiration_seconds = *seconds;
  }
  if (token_spec.expiration_seconds < 600) {
    co_return co_await SendFailure(
        call, Invalid("authentication.k8s.io", "TokenRequest", "",
                      {InvalidValue("spec.expirationSeconds",
                                    std::to_string(token_spec.expiration_seconds),
                                    "may not specify a duration less than 10 minutes")}));
  }
  Set(spec, "expirationSeconds", Json(token_spec.expiration_seconds), allocator);
  const Json* audiences = Find(&spec, "audiences");
  if (IsEmpty(audiences)) {
    Json list(rapidjson::kArrayType);
    list.PushBack("https://kubernetes.default.svc.cluster.local", allocator);
    Set(spec, "audiences", std::move(list), allocator);
    audiences = Find(&spec, "audiences");
  }
  for (const Json& audience : audiences->GetArray()) {
    token_spec.audiences.emplace_back(Text(&audience));
  }
  // A token can be bound to a pod, and dies with it.
  if (const Json* bound = Find(&spec, "boundObjectRef");
      TextAt(spec, "boundObjectRef", "kind") == "Pod") {
    std::string_view pod = TextAt(*bound, "name");
    ObjectPtr found = GetObject("", "pods", info.namespace_name, pod);
    if (found == nullptr) co_return co_await SendFailure(call, NotFound({"", "pods"}, pod));
    std::string_view uid = TextAt(*bound, "uid");
    if (!uid.empty() && uid != found->uid) {
      co_return co_await SendFailure(
          call, Conflict({"", "Pod"}, pod,
                         StrCat("the UID in the bound object reference (", uid,
                                ") does not match the UID in record. The object might have been "
                                "deleted and then recreated")));
    }
  }
  Tokens::Issued issued = tokens_.Issue(token_spec);
  Json& metadata = Ensure(*document, "metadata", allocator);
  SetText(metadata, "name", account->name, allocator);
  SetText(metadata, "namespace", account->namespace_name, allocator);
  SetText(metadata, "uid", account->uid, allocator);
  SetText(metadata, "creationTimestamp", semantics_.Now(), allocator);
  Json& status = Ensure(*document, "status", allocator);
  SetText(status, "token", issued.token, allocator);
  SetText(status, "expirationTimestamp", apis::FormatRfc3339(apis::ToMoment(issued.expires)),
          allocator);
  Answered answer = AsAsked(call->request, kTokenRequest, "TokenRequest", &*document);
  co_return co_await Send(call, 201, std::move(answer.body), std::move(answer.content_type));
}

async::Task<int> ApiHandler::Review(Call* call) {
  const RequestInfo& info = call->info;
  if (info.resource != "tokenreviews" || call->request.method != "POST") {
    co_return co_await SendFailure(call, GenericNotFound());
  }
  std::optional<Encoding> encoding =
      EncodingOfBody(call->request.headers.Get("Content-Type"), true);
  if (!encoding) co_return co_await SendFailure(call, UnsupportedBody(true));
  Outcome<JsonDocument> document = DecodeMessage(kTokenReview, *encoding, call->request.body);
  if (!document.ok()) co_return co_await SendFailure(call, document.failure());
  JsonAllocator& allocator = document->GetAllocator();
  std::optional<User> user = tokens_.Authenticate(TextAt(*document, "spec", "token"));
  Json status(rapidjson::kObjectType);
  if (user) {
    Set(status, "authenticated", Json(true), allocator);
    Json account(rapidjson::kObjectType);
    SetText(account, "username", user->name, allocator);
    if (!user->uid.empty()) SetText(account, "uid", user->uid, allocator);
    Json groups(rapidjson::kArrayType);
    for (const std::string& group : user->groups) {
      groups.PushBack(MakeString(group, allocator), allocator);
    }
    Set(account, "groups", std::move(groups), allocator);
    Set(status, "user", std::move(account), allocator);
  } else {
    SetText(status, "error", "[invalid bearer token, unknown to this server]", allocator);
  }
  Set(*document, "status", std::move(status), allocator);
  Answered answer = AsAsked(call->request, kTokenReview, "TokenReview", &*document);
  co_return co_await Send(call, 201, std::move(answer.body), std::move(answer.content_type));
}

async::Task<int> ApiHandler::Bind(Call* call) {
  const RequestInfo& info = call->info;
  if (call->request.method != "POST") {
    co_return co_await SendFailure(call, MethodNotAllowed({info.group, info.resource}));
  }
  std::optional<Encoding> encoding =
      EncodingOfBody(call->request.headers.Get("Content-Type"), true);
  if (!encoding) co_return co_await SendFailure(call, UnsupportedBody(true));
  Outcome<JsonDocument> binding = DecodeMessage(kBinding, *encoding, call->request.body);
  if (!binding.ok()) co_return co_await SendFailure(call, binding.failure());
  Target pod = call->target;
  pod.subresource.clear();
  Outcome<ObjectPtr> bound = semantics_.Bind(pod, TextAt(*binding, "target", "name"));
  if (!bound.ok()) co_return co_await SendFailure(call, bound.failure());
  constexpr char kSuccess[] =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})";
  std::optional<Negotiated> negotiated =
      NegotiateResponse(call->request.headers.Get("Accept"), true);
  if (negotiated && negotiated->encoding == Encoding::kProtobuf) {
    co_return co_await Send(call, 201, JsonToEnvelope(kStatus, "v1", "Status", kSuccess),
                            std::string(apis::kProtobufContentType));
  }
  co_return co_await SendJson(call, 201, kSuccess);
}

}  // namespace csinative::apiserver
