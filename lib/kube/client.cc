// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/client.h"

#include <algorithm>
#include <utility>

#include "apis/json/parse.h"
#include "lib/base/strings.h"
#include "lib/kube/codec.h"
#include "lib/kube/exchange.h"
#include "lib/kube/list_decoder.h"
#include "lib/kube/request.h"

namespace csinative::kube {
namespace {

using Document = std::shared_ptr<rapidjson::Document>;

// An error page or Status in answer to a watch.
constexpr size_t kMaxFailureBody = 1 << 20;

std::string_view PatchContentType(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

Result<Document> DecodeDocument(const ApiResponse& response) {
  CSI_ASSIGN_OR_RETURN(const Encoding encoding, EncodingOf(response.content_type, Encoding::kJson));
  if (encoding != Encoding::kJson) {
    return InvalidArgumentError(StrCat("expected JSON, got ", response.content_type));
  }
  auto document = std::make_shared<rapidjson::Document>();
  CSI_RETURN_IF_ERROR(apis::ParseJson(response.body, document.get()));
  return document;
}

class RestClient final : public Client {
 public:
  RestClient(async::EventLoop& loop, ApiTransport& transport, log::Logger log, Throttle throttle,
             ClientOptions options)
      : encoding_(options.protobuf ? Encoding::kProtobuf : Encoding::kJson),
        accept_(options.accept.empty() ? std::string(AcceptHeader(encoding_))
                                       : std::move(options.accept)),
        watch_list_(options.watch_list),
        exchanger_(loop, transport, std::move(log), std::move(throttle),
                   {.max_retries = options.max_retries,
                    .host_backoff = options.host_backoff,
                    .before_write = std::move(options.before_write),
                    .urgent = options.urgent}) {}

  async::Task<Result<Document>> GetDocument(const ResourceInfo* resource,
                                            ObjectName name) override {
    return DocumentCall({"GET", resource, std::move(name), ""}, nullptr);
  }
  async::Task<Result<Document>> ReplaceDocument(const ResourceInfo* resource, ObjectName name,
                                                Document document) override {
    return DocumentCall({"PUT", resource, std::move(name), ""}, std::move(document));
  }
  async::Task<Result<Document>> CreateDocument(const ResourceInfo* resource, std::string ns,
                                               Document document) override {
    return DocumentCall({"POST", resource, {std::move(ns), ""}, ""}, std::move(document));
  }

  async::Task<Result<Document>> GetPath(std::string path) override {
    ApiRequest request{.method = "GET",
                       .path = EscapePath(path),
                       .accept = std::string(AcceptHeader(Encoding::kJson))};
    CSI_CO_ASSIGN_OR_RETURN(const ApiResponse response,
                            co_await exchanger_.Do(std::move(request), ""));
    CSI_CO_RETURN_IF_ERROR(CheckAnswer(response, Encoding::kJson, {"GET", nullptr, ""}));
    co_return DecodeDocument(response);
  }

  async::Task<Result<std::unique_ptr<ApiStream>>> OpenStream(
      const ResourceInfo* resource, std::string ns,
      std::vector<std::pair<std::string, std::string>> query) override {
    CSI_CO_ASSIGN_OR_RETURN(std::string path, BuildPath("GET", *resource, {std::move(ns), ""}, ""));
    SortQuery(query);
    const bool watch =
        std::any_of(query.begin(), query.end(), [](const auto& p) { return p.first == "watch"; });
    ApiRequest request{
        .method = "GET", .path = std::move(path), .query = std::move(query), .accept = accept_};
    CSI_CO_ASSIGN_OR_RETURN(
        std::unique_ptr<ApiStream> stream,
        co_await exchanger_.Open(std::move(request), std::string(resource->group),
                                 watch ? ExchangeKind::kWatch : ExchangeKind::kUnary));
    if (stream->head().code == 200) co_return stream;
    ApiResponse answer = stream->head();
    Result<std::string> body = co_await ReadAll(stream.get(), kMaxFailureBody);
    if (body.ok()) answer.body = *std::move(body);
    Status failure = CheckAnswer(answer, encoding_, {"GET", resource, ""});
    if (!failure.ok()) co_return failure;
    co_return UnknownError(StrCat("unexpected status code ", answer.code, " for a stream"));
  }

  bool supports_watch_list() const override { return watch_list_; }

 protected:
  async::Task<Status> Call(CallTarget target, const google::protobuf::Message* body,
                           google::protobuf::Message* out) override {
    std::string encoded;
    if (body != nullptr) {
      const ResourceInfo& resource = *target.resource;
      encoded = EncodeBody(encoding_, resource.ApiVersion(), resource.kind, *body);
    }
    return Exchange(std::move(target), std::string(ContentType(encoding_)), std::move(encoded),
                    out);
  }

  async::Task<Status> CallPatch(CallTarget target, PatchType type, std::string body,
                                google::protobuf::Message* out) override {
    return Exchange(std::move(target), std::string(PatchContentType(type)), std::move(body), out);
  }

  async::Task<Status> CallDelete(CallTarget target, DeleteOptions options) override {
    meta::DeleteOptions message;
    if (options.grace_period_seconds) {
      message.set_graceperiodseconds(*options.grace_period_seconds);
    }
    if (options.uid) message.mutable_preconditions()->set_uid(*options.uid);
    if (options.resource_version) {
      message.mutable_preconditions()->set_resourceversion(*options.resource_version);
    }
    // The body is sent even when it says nothing, in the resource's own group version.
    std::string body =
        EncodeBody(encoding_, target.resource->ApiVersion(), "DeleteOptions", message);
    return Exchange(std::move(target), std::string(ContentType(encoding_)), std::move(body),
                    nullptr);
  }

  async::Task<Status> CallList(const ResourceInfo* resource, ListOptions options,
                               std::string* resource_version, std::string* continue_token,
                               UniqueFunction<google::protobuf::Message*()> next) override {
    CSI_CO_ASSIGN_OR_RETURN(std::string path, BuildPath("GET", *resource, {options.ns, ""}, ""));
    ApiRequest request{
        .method = "GET", .path = std::move(path), .query = ListQuery(options), .accept = accept_};
    CSI_CO_ASSIGN_OR_RETURN(
        const ApiResponse response,
        co_await exchanger_.Do(std::move(request), std::string(resource->group)));
    CSI_CO_RETURN_IF_ERROR(CheckAnswer(response, encoding_, {"GET", resource, ""}));
    CSI_CO_ASSIGN_OR_RETURN(const Encoding encoding, EncodingOf(response.content_type, encoding_));
    ListDecoder decoder(encoding);
    decoder.Feed(response.body);
    for (;;) {
      CSI_CO_ASSIGN_OR_RETURN(const std::optional<EncodedObject> item, decoder.Next());
      if (!item) break;
      CSI_CO_RETURN_IF_ERROR(DecodeObject(*item, UnknownFields::kDrop, next()));
    }
    CSI_CO_RETURN_IF_ERROR(decoder.Finish());
    *resource_version = decoder.metadata().resourceversion();
    *continue_token = decoder.metadata().continue_();
    co_return Status();
  }

 private:
  // One request about one object, or a creation. `out` may be null.
  async::Task<Status> Exchange(CallTarget target, std::string content_type, std::string body,
                               google::protobuf::Message* out) {
    const ResourceInfo& resource = *target.resource;
    if (target.method != "POST" && target.name.name.empty()) {
      co_return InvalidArgumentError("resource name may not be empty");
    }
    CSI_CO_ASSIGN_OR_RETURN(std::string path,
                            BuildPath(target.method, resource, target.name, target.subresource));
    ApiRequest request{.method = target.method,
                       .path = std::move(path),
                       .accept = accept_,
                       .content_type = body.empty() ? "" : std::move(content_type),
                       .body = std::move(body)};
    CSI_CO_ASSIGN_OR_RETURN(
        const ApiResponse response,
        co_await exchanger_.Do(std::move(request), std::string(resource.group)));
    CSI_CO_RETURN_IF_ERROR(
        CheckAnswer(response, encoding_, {target.method, &resource, target.name.name}));
    if (out == nullptr) co_return Status();
    co_return DecodeAnswer(response, encoding_, resource, out);
  }

  // The same with JSON documents on both sides. `body` may be null.
  async::Task<Result<Document>> DocumentCall(CallTarget target, Document body) {
    const ResourceInfo& resource = *target.resource;
    if (target.method != "POST" && target.name.name.empty()) {
      co_return InvalidArgumentError("resource name may not be empty");
    }
    CSI_CO_ASSIGN_OR_RETURN(std::string path,
                            BuildPath(target.method, resource, target.name, target.subresource));
    ApiRequest request{.method = target.method,
                       .path = std::move(path),
                       .accept = std::string(AcceptHeader(Encoding::kJson))};
    if (body != nullptr) {
      request.content_type = ContentType(Encoding::kJson);
      request.body = apis::JsonText(*body) + "\n";
    }
    CSI_CO_ASSIGN_OR_RETURN(
        const ApiResponse response,
        co_await exchanger_.Do(std::move(request), std::string(resource.group)));
    CSI_CO_RETURN_IF_ERROR(
        CheckAnswer(response, Encoding::kJson, {target.method, &resource, target.name.name}));
    co_return DecodeDocument(response);
  }

  const Encoding encoding_;
  const std::string accept_;
  const bool watch_list_;
  Exchanger exchanger_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::Create(async::EventLoop& loop, Random&,
                                               ApiTransport& transport, log::Logger log,
                                               ClientOptions options) {
  CSI_ASSIGN_OR_RETURN(Throttle throttle, Throttle::Create(loop, options.qps, options.burst));
  std::unique_ptr<Client> client = std::make_unique<RestClient>(
      loop, transport, std::move(log), std::move(throttle), std::move(options));
  return client;
}

}  // namespace csinative::kube
