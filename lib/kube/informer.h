// SPDX-License-Identifier: Apache-2.0
//
// Shared informer: one list-and-watch of a resource, a compact store, and handlers (kube-client 13,
// 14). Objects are kept as serialized bytes, pruned to declared fields and to what `prune` leaves;
// they are decoded when looked at. Loop only.
//
// Promises: the store is updated before a handler runs; handlers of one informer see changes in
// order, in the loop step that applied them; between two calls states may be skipped only across a
// relist. A deletion that was missed arrives with the last known object. Identity is the key: old
// and new object of an update can have different UIDs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/async/scope.h"
#include "lib/async/sync.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/resource.h"
#include "lib/kube/store.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// Why a handler is called for an addition.
enum class AddKind { kInitialList, kLive };

template <typename T>
struct InformerHandler {
  std::function<void(const T& object, AddKind kind)> on_add;
  // Also called by a resync, with old == new.
  std::function<void(const T& old_object, const T& new_object)> on_update;
  std::function<void(const T& object)> on_delete;
};

struct InformerOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  Duration resync = Duration::zero();  // zero: never
  bool watch_list = true;              // stream the initial list (KUBE_FEATURE_WatchListClient)
};

// The untyped engine: reflector plus store. Informer<T> below is what controllers use.
class InformerCore;

template <typename T>
class Informer {
 public:
  using IndexFunction = std::function<std::vector<std::string>(const T&)>;

  // Borrowed: loop, random, client outlive the informer.
  Informer(async::EventLoop& loop, Random& random, Client& client, log::Logger log,
           InformerOptions options = {});
  ~Informer();

  // All before Run(): fields the store need not keep; indices; handlers.
  void set_prune(std::function<void(T*)> prune);
  void AddIndex(std::string name, IndexFunction function);
  void AddHandler(InformerHandler<T> handler);

  // Lists and watches until cancelled. A failure is logged and retried, never returned.
  async::Task<void> Run();

  bool synced() const;
  // Ok once the first complete list is in the store and was handed to the handlers.
  async::Task<Status> WaitForSync();

  // Copies; empty if the key is not there.
  std::optional<T> Get(std::string_view key) const;
  std::vector<T> ByIndex(std::string_view index, std::string_view value) const;
  std::vector<std::string> KeysByIndex(std::string_view index, std::string_view value) const;
  // In key order. `visit` returns false to stop.
  void ForEach(const std::function<bool(const T&)>& visit) const;
  size_t size() const;
  // Bytes held by the store: objects and indices, for /debug and tests.
  size_t bytes() const;
  // When the watch last heard from the server, for /debug.
  std::optional<MonotonicTime> last_activity() const;

  // Replaces the stored object, as a controller does that knows better than its cache for a moment
  // (provisioner 6). The next watch event wins again. No handler runs.
  void OverwriteForNow(const T& object);

 private:
  std::unique_ptr<InformerCore> core_;
};

}  // namespace csinative::kube
