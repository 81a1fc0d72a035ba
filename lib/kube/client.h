// SPDX-License-Identifier: Apache-2.0
//
// Typed API verbs: encoding (protobuf envelope), rate limit, retries and error decoding on top of
// an ApiTransport (kube-client 7 to 10). Loop only.
//
// Objects are subsets of what the server stores. So a whole object that was read as a message is
// never written back: write patches, create, or edit the raw JSON document (GetDocument and
// ReplaceDocument). Every call runs under the caller's cancellation and deadline; a call that was
// cut short may have been executed.
#pragma once

#include <google/protobuf/message.h>
#include <rapidjson/document.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apis/forward.h"
#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/base/unique_function.h"
#include "lib/kube/host_backoff.h"
#include "lib/kube/rate_limiter.h"
#include "lib/kube/resource.h"
#include "lib/kube/retry.h"
#include "lib/kube/transport.h"
#include "lib/log/logger.h"

namespace csinative::kube {

enum class PatchType { kJson, kMerge, kStrategic };

struct ListOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  std::optional<std::string> resource_version;
  std::string resource_version_match;
  int64_t limit = 0;
  std::string continue_token;
};

template <typename T>
struct ListPage {
  std::vector<T> items;
  std::string resource_version;
  std::string continue_token;
};

struct DeleteOptions {
  std::optional<std::string> uid;               // precondition
  std::optional<std::string> resource_version;  // precondition
  std::optional<int64_t> grace_period_seconds;
};

struct ClientOptions {
  std::string user_agent;
  float qps = 5;  // <0: no limit; 0: 5 with burst 10 (kube-client 10.3)
  int burst = 10;
  bool protobuf = true;  // false: JSON, for servers that know no protobuf
  std::string accept;    // Accept header; empty: by encoding (kube-client 7)
  // Asked right before each attempt of a write: until when it may be sent. A failure is the call's
  // answer. For leaders (LeaderElector::CheckMayAct).
  std::function<Result<MonotonicTime>()> before_write;
  bool urgent = false;  // requests do not wait for a connection (ApiTransport::Admit)
  int max_retries = kMaxRetries;
  std::optional<HostBackoffOptions> host_backoff = {};  // nothing: none (kube-client 10.2)
  bool watch_list = true;  // reflectors may stream their initial list (gate WatchListClient)
};

class Client {
 public:
  // Borrowed: loop, random and transport outlive the client. kInvalidArgument for qps > 0 with
  // burst <= 0.
  static Result<std::unique_ptr<Client>> Create(async::EventLoop& loop, Random& random,
                                                ApiTransport& transport, log::Logger log,
                                                ClientOptions options);
  virtual ~Client() = default;

  template <typename T>
  async::Task<Result<T>> Get(ObjectName name) {
    T out;
    Status status = co_await Call({"GET", &ResourceOf<T>(), std::move(name)}, nullptr, &out);
    if (!status.ok()) co_return status;
    co_return out;
  }

  // The object's own name and namespace say where. Returns what the server stored.
  template <typename T>
  async::Task<Result<T>> Create(T object) {
    T out;
    ObjectName name{object.metadata().namespace_(), ""};
    Status status = co_await Call({"POST", &ResourceOf<T>(), std::move(name)}, &object, &out);
    if (!status.ok()) co_return status;
    co_return out;
  }

  // PUT of a message. Only for kinds whose message is complete (Lease): others lose fields.
  template <typename T>
  async::Task<Result<T>> Update(T object) {
    T out;
    ObjectName name{object.metadata().namespace_(), object.metadata().name()};
    Status status = co_await Call({"PUT", &ResourceOf<T>(), std::move(name)}, &object, &out);
    if (!status.ok()) co_return status;
    co_return out;
  }

  // subresource: "" or "status".
  template <typename T>
  async::Task<Result<T>> Patch(ObjectName name, PatchType type, std::string body,
                               std::string subresource = "") {
    T out;
    CallTarget target{"PATCH", &ResourceOf<T>(), std::move(name), std::move(subresource)};
    Status status = co_await CallPatch(std::move(target), type, std::move(body), &out);
    if (!status.ok()) co_return status;
    co_return out;
  }

  template <typename T>
  async::Task<Status> Delete(ObjectName name, DeleteOptions options = {}) {
    co_return co_await CallDelete({"DELETE", &ResourceOf<T>(), std::move(name)},
                                  std::move(options));
  }

  // One page; options.limit 0 asks for everything at once.
  template <typename T>
  async::Task<Result<ListPage<T>>> List(ListOptions options) {
    ListPage<T> page;
    Status status = co_await CallList(
        &ResourceOf<T>(), std::move(options), &page.resource_version, &page.continue_token,
        [&page]() -> google::protobuf::Message* { return &page.items.emplace_back(); });
    if (!status.ok()) co_return status;
    co_return page;
  }

  // The whole stored object as JSON, and its replacement: for kinds that must be written by PUT.
  // The document's resourceVersion makes the write conditional.
  virtual async::Task<Result<std::shared_ptr<rapidjson::Document>>> GetDocument(
      const ResourceInfo* resource, ObjectName name) = 0;
  virtual async::Task<Result<std::shared_ptr<rapidjson::Document>>> ReplaceDocument(
      const ResourceInfo* resource, ObjectName name,
      std::shared_ptr<rapidjson::Document> document) = 0;
  // For kinds without a message (custom resources): same verbs on documents.
  virtual async::Task<Result<std::shared_ptr<rapidjson::Document>>> CreateDocument(
      const ResourceInfo* resource, std::string ns,
      std::shared_ptr<rapidjson::Document> document) = 0;

  // GET of any path as JSON, e.g. discovery ("/apis/storage.k8s.io/v1").
  virtual async::Task<Result<std::shared_ptr<rapidjson::Document>>> GetPath(std::string path) = 0;

  // Opens a watch, or a list, for the reflector: raw stream after status check and retries.
  virtual async::Task<Result<std::unique_ptr<ApiStream>>> OpenStream(
      const ResourceInfo* resource, std::string ns,
      std::vector<std::pair<std::string, std::string>> query) = 0;
  // Whether a watch may be asked for the initial list too.
  virtual bool supports_watch_list() const { return true; }

 protected:
  struct CallTarget {
    std::string method;
    const ResourceInfo* resource;
    ObjectName name;  // name empty: the collection
    std::string subresource;
  };
  virtual async::Task<Status> Call(CallTarget target, const google::protobuf::Message* body,
                                   google::protobuf::Message* out) = 0;
  virtual async::Task<Status> CallPatch(CallTarget target, PatchType type, std::string body,
                                        google::protobuf::Message* out) = 0;
  virtual async::Task<Status> CallDelete(CallTarget target, DeleteOptions options) = 0;
  virtual async::Task<Status> CallList(const ResourceInfo* resource, ListOptions options,
                                       std::string* resource_version, std::string* continue_token,
                                       UniqueFunction<google::protobuf::Message*()> next) = 0;
};

}  // namespace csinative::kube
