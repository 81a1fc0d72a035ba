// SPDX-License-Identifier: Apache-2.0
//
// The API server apart from its socket: authentication, routing, encodings, watches, and the
// hooks by which tests make it misbehave. Works on any event loop, also in virtual time; whoever
// owns requests calls Handle with a writer of their own. Loop only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/async/event_loop.h"
#include "lib/async/sync.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/http/server.h"
#include "test/support/apiserver/list_options.h"
#include "test/support/apiserver/negotiation.h"
#include "test/support/apiserver/object_store.h"
#include "test/support/apiserver/request_info.h"
#include "test/support/apiserver/resources.h"
#include "test/support/apiserver/semantics.h"
#include "test/support/apiserver/tokens.h"

namespace csinative::apiserver {

struct ApiOptions {
  SemanticsOptions semantics;
  ObjectStore::Options store;
  // Bookmarks of watches that ask for them: about one a minute on the real server.
  Duration bookmark_interval = std::chrono::seconds(60);
  // Watches without timeoutSeconds end after this.
  Duration default_watch_timeout = std::chrono::seconds(1800);
  // Requests without credentials are system:anonymous, as on the real server. Otherwise: 401.
  bool anonymous = true;
  // Requests kept in the log; the oldest go first.
  size_t log_limit = 100000;
  // Custom resources of the CSI snapshotter are served from the start.
  bool snapshot_resources = true;
  // In answers of GET /api.
  std::string advertised_address = "127.0.0.1:6443";
};

// What a test does to one request.
struct Fault {
  enum class Drop { kNone, kBefore, kAfter };  // before or after the request took effect
  // 0: none. Otherwise the request is answered with this and has no effect.
  int code = 0;
  std::string reason;   // empty: from the code
  std::string message;  // empty: from the code
  std::optional<int> retry_after_seconds;
  Duration delay{0};  // before everything else
  Drop drop = Drop::kNone;
};

struct LoggedRequest {
  std::string verb;
  std::string method;
  std::string target;  // path and query
  std::string user;
  std::string user_agent;
  std::string content_type;
  std::string body;
  int code = 0;  // 0: the connection was dropped
};

class ApiHandler {
 public:
  // True: allowed.
  using Authorizer = std::function<bool(const RequestInfo&)>;
  using FaultHook = std::function<Fault(const RequestInfo&)>;

  // Both are borrowed and outlive this. Namespaces default, kube-system and kube-public exist.
  ApiHandler(async::EventLoop& loop, Random& random, ApiOptions options = {});

  // Answers one request. `writer` outlives the task.
  async::Task<void> Handle(http::ServerRequest request, http::ResponseWriter* writer);

  ObjectStore& store() { return store_; }
  ResourceTable& resources() { return resources_; }
  Semantics& semantics() { return semantics_; }
  Tokens& tokens() { return tokens_; }

  // For tests' own preparations, past authentication, hooks and log. JSON in and out; nullptr when
  // there is no such object. `path` as in URLs. The kind must be served.
  Outcome<ObjectPtr> CreateObject(std::string_view json);
  ObjectPtr GetObject(std::string_view group, std::string_view resource,
                      std::string_view namespace_name, std::string_view name);
  std::vector<ObjectPtr> ListObjects(std::string_view group, std::string_view resource);

  // Default: everybody with credentials may do everything; anonymous may read health and version.
  void set_authorizer(Authorizer authorizer) { authorizer_ = std::move(authorizer); }
  void set_fault_hook(FaultHook hook) { fault_hook_ = std::move(hook); }
  // Breaks all open watches, as a crash or a cut connection would.
  void CutWatches();
  // Ends all open watches in good order, as at their time limit.
  void EndWatches();
  // Forgets history: continue tokens and watches from older versions get 410.
  void Compact() { store_.CompactAll(); }
  size_t open_watches() const { return open_watches_; }

  const std::deque<LoggedRequest>& log() const { return log_; }
  void ClearLog();

 private:
  struct Call;

  async::Task<int> Answer(Call* call);
  async::Task<int> Send(Call* call, int code, std::string body, std::string content_type);
  async::Task<int> SendJson(Call* call, int code, std::string json);
  async::Task<int> SendFailure(Call* call, Failure failure);
  async::Task<int> SendObject(Call* call, int code, ObjectPtr object);
  async::Task<int> NonResource(Call* call);
  async::Task<int> Resource(Call* call);
  async::Task<int> Create(Call* call);
  async::Task<int> Write(Call* call);
  async::Task<int> Delete(Call* call);
  async::Task<int> DeleteCollection(Call* call);
  async::Task<int> Token(Call* call);
  async::Task<int> Review(Call* call);
  async::Task<int> Bind(Call* call);
  async::Task<int> ListItems(Call* call);
  async::Task<int> Watch(Call* call);
  async::Task<bool> StreamChanges(Call* call, ListOptions options, int64_t version);

  std::optional<Failure> Authenticate(Call* call);
  std::optional<Failure> Authorize(const Call& call) const;
  Outcome<DeleteOptions> ParseDeleteOptions(Call* call);
  std::optional<Failure> CheckWriteQuery(const Call& call, std::string_view kind) const;
  void AfterWrite(const ResourceInfo& info, const Object& object, bool deleted);
  std::string Encode(const Call& call, const Object& object) const;
  std::string Bookmark(const Call& call, int64_t version, bool initial_end) const;
  async::Signal& SignalOf(const Collection& collection);

  async::EventLoop& loop_;
  const ApiOptions options_;
  ResourceTable resources_;
  ObjectStore store_;
  Semantics semantics_;
  Tokens tokens_;
  Random& random_;
  Authorizer authorizer_;
  FaultHook fault_hook_;
  std::deque<LoggedRequest> log_;
  uint64_t log_begin_ = 0;  // number of the first entry, counted from the start
  std::map<const Collection*, std::unique_ptr<async::Signal>> signals_;
  // By group, version and resource.
  mutable std::map<std::string, JsonDocument> bookmark_forms_;
  size_t open_watches_ = 0;
  int64_t cut_epoch_ = 0;
  int64_t end_epoch_ = 0;
};

}  // namespace csinative::apiserver
