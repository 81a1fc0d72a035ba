// SPDX-License-Identifier: Apache-2.0
//
// Shared informer: one list-and-watch of a resource, a compact store, and handlers (kube-client 13,
// 14). Objects are kept as serialized bytes, pruned to declared fields and to what `prune` leaves;
// they are decoded when looked at. Loop only.
//
// Promises: the store is updated before a handler runs. Handlers of one informer see changes in
// order: a single change in the loop step that applied it, a complete new list right after the
// store has switched to it, in key order and a hundred objects a step. Between two calls states may
// be skipped only across a relist, which also reports objects that did not change. A deletion that
// was missed arrives with the last known object. Identity is the key: old and new object of an
// update can have different UIDs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/kube/informer_core.h"

namespace csinative::kube {

// Handlers must be quick and must not destroy the informer. Objects live for the call.
template <typename T>
struct InformerHandler {
  std::function<void(const T& object, AddKind kind)> on_add;
  // Also called by a resync, with old == new.
  std::function<void(const T& old_object, const T& new_object)> on_update;
  std::function<void(const T& object)> on_delete;
};

template <typename T>
class Informer {
 public:
  using IndexFunction = std::function<std::vector<std::string>(const T&)>;

  // Borrowed: loop, random, client outlive the informer.
  Informer(async::EventLoop& loop, Random& random, Client& client, log::Logger log,
           InformerOptions options = {})
      : core_(std::make_unique<InformerCore>(loop, random, client, std::move(log), TypeOf(),
                                             std::move(options))) {}

  // All before Run(): fields the store need not keep; indices; handlers.
  void set_prune(std::function<void(T*)> prune) {
    core_->set_prune([prune = std::move(prune)](Message* m) { prune(static_cast<T*>(m)); });
  }
  // `function` depends on nothing but the (pruned) object.
  void AddIndex(std::string name, IndexFunction function) {
    core_->AddIndex(std::move(name),
                    [function = std::move(function)](const Message& m) { return function(As(m)); });
  }
  void AddHandler(InformerHandler<T> handler) { core_->AddHandler(Untyped(std::move(handler))); }

  using HandlerId = InformerCore::HandlerId;
  // At any time until Run() has ended, kFailedPrecondition then. A handler that comes while the
  // informer runs is first told everything that is there, as additions of the initial list, and
  // hears changes in order. resync: how often it is told everything again; nothing: the informer's
  // period, zero: never.
  Result<HandlerId> Register(InformerHandler<T> handler, std::optional<Duration> resync = {}) {
    return core_->Register(Untyped(std::move(handler)), resync);
  }
  // No call any more, not even one that is due. Unknown ids are ignored.
  void Remove(HandlerId id) { core_->Remove(id); }
  // The handler was told the whole first list.
  bool HandlerSynced(HandlerId id) const { return core_->HandlerSynced(id); }
  // How often the informer looks for handlers that want a resync; zero: never.
  Duration resync_check_period() const { return core_->resync_check_period(); }

  // Lists and watches until cancelled. A failure is logged and retried, never returned. Once.
  async::Task<void> Run() { return core_->Run(); }

  bool synced() const { return core_->synced(); }
  // Ok once the first complete list is in the store and was handed to the handlers.
  async::Task<Status> WaitForSync() { return core_->WaitForSync(); }

  // Copies; empty if the key is not there.
  std::optional<T> Get(std::string_view key) const {
    const PackedRef object = core_->store().Find(key);
    if (!object) return std::nullopt;
    return Decode(object);
  }
  bool Contains(std::string_view key) const { return static_cast<bool>(core_->store().Find(key)); }
  // In key order. REQUIRES: the index exists.
  std::vector<T> ByIndex(std::string_view index, std::string_view value) const {
    std::vector<T> found;
    for (const PackedRef& object : core_->store().ByIndex(index, value)) {
      found.push_back(Decode(object));
    }
    return found;
  }
  std::vector<std::string> KeysByIndex(std::string_view index, std::string_view value) const {
    std::vector<std::string> keys;
    for (const PackedRef& object : core_->store().ByIndex(index, value)) {
      keys.emplace_back(object.key());
    }
    return keys;
  }
  // In key order. `visit` returns false to stop.
  void ForEach(const std::function<bool(const T&)>& visit) const {
    core_->store().ForEach([&](const PackedRef& object) { return visit(Decode(object)); });
  }
  size_t size() const { return core_->store().size(); }
  // Bytes held by the store: objects and indices, for /debug and tests.
  size_t bytes() const { return core_->store().bytes(); }
  // What it watches and how that goes, for /debug.
  const ResourceInfo& resource() const { return core_->resource(); }
  const Reflector& reflector() const { return core_->reflector(); }

  // Replaces the stored object, as a controller does that knows better than its cache for a moment
  // (provisioner 6). The next watch event wins again. No handler runs.
  void OverwriteForNow(const T& object) { core_->OverwriteForNow(object); }

 private:
  using Message = google::protobuf::Message;

  static InformerCore::Handler Untyped(InformerHandler<T> handler) {
    InformerCore::Handler untyped;
    if (handler.on_add) {
      untyped.on_add = [f = std::move(handler.on_add)](const Message& m, AddKind kind) {
        f(As(m), kind);
      };
    }
    if (handler.on_update) {
      untyped.on_update = [f = std::move(handler.on_update)](const Message& a, const Message& b) {
        f(As(a), As(b));
      };
    }
    if (handler.on_delete) {
      untyped.on_delete = [f = std::move(handler.on_delete)](const Message& m) { f(As(m)); };
    }
    return untyped;
  }
  static const T& As(const Message& message) { return static_cast<const T&>(message); }
  static InformerCore::Type TypeOf() {
    return {
        &ResourceOf<T>(), &T::default_instance(),
        [](const Message& message) -> const meta::ObjectMeta& { return As(message).metadata(); }};
  }
  T Decode(const PackedRef& object) const {
    T decoded;
    const std::string_view bytes = core_->store().PlainBytes(object);
    decoded.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
    return decoded;
  }

  std::unique_ptr<InformerCore> core_;
};

}  // namespace csinative::kube
