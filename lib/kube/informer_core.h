// SPDX-License-Identifier: Apache-2.0
//
// What Informer<T> does, without T: reflector, store and handlers on google::protobuf::Message, so
// that the code exists once and not once a kind. Internal to informer.h. Loop only.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apis/meta/v1/meta.pb.h"
#include "lib/async/scope.h"
#include "lib/async/sync.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/message_pool.h"
#include "lib/kube/reflector.h"
#include "lib/kube/resource.h"
#include "lib/kube/store.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// Why a handler is called for an addition.
enum class AddKind { kInitialList, kLive };

struct InformerOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  Duration resync = Duration::zero();  // zero: never
  bool watch_list = true;              // stream the initial list (KUBE_FEATURE_WatchListClient)
};

class InformerCore final : private ReflectorSink {
 public:
  using Message = google::protobuf::Message;
  struct Type {
    const ResourceInfo* resource;
    const Message* prototype;
    const meta::ObjectMeta& (*metadata)(const Message&);
  };
  struct Handler {  // each may be empty
    std::function<void(const Message& object, AddKind kind)> on_add;
    std::function<void(const Message& old_object, const Message& new_object)> on_update;
    std::function<void(const Message& object)> on_delete;
  };

  using HandlerId = uint64_t;

  InformerCore(async::EventLoop& loop, Random& random, Client& client, log::Logger log, Type type,
               InformerOptions options);
  ~InformerCore() override;

  void set_prune(std::function<void(Message*)> prune);
  void AddIndex(std::string name, Store::IndexFunction function);
  // Before Run().
  void AddHandler(Handler handler) { Insert(std::move(handler), resync_); }
  // Also while running: the handler is first told what is there. Zero: no resync for it.
  // kFailedPrecondition once Run() has ended.
  Result<HandlerId> Register(Handler handler, std::optional<Duration> resync);
  // The handler is not called any more. Unknown ids are ignored.
  void Remove(HandlerId id);
  // Everything of the first complete list was told to the handler.
  bool HandlerSynced(HandlerId id) const;
  // How often resyncs are looked for: the shortest period of a handler, zero for never.
  Duration resync_check_period() const { return check_period_; }

  async::Task<void> Run();
  bool synced() const { return synced_.is_set(); }
  async::Task<Status> WaitForSync() { return synced_.Wait(); }

  const Store& store() const { return *current_; }
  const ResourceInfo& resource() const { return *type_.resource; }
  const Reflector& reflector() const { return reflector_; }
  void OverwriteForNow(const Message& object);

 private:
  struct Incoming {
    std::string key;
    std::string version;
    PooledMessage object;
    std::string bytes;
  };

  void BeginReplace() override;
  Result<std::string> Stage(WatchEventType type, const EncodedObject& object) override;
  async::Task<void> CommitReplace() override;
  void AbandonReplace() override;
  Result<std::string> Apply(WatchEventType type, const EncodedObject& object) override;

  struct Registered {
    HandlerId id = 0;
    Handler handler;
    Duration resync;
    MonotonicTime next_resync;
    // Updates that change nothing are for handlers that are due; until this was looked at the first
    // time, for all.
    bool syncing = true;
    // The last key of the state that a late handler was told; nothing once it has caught up.
    std::optional<std::string> replayed;
    bool removed = false;

    bool Hears(std::string_view key) const { return !removed && (!replayed || key <= *replayed); }
  };

  HandlerId Insert(Handler handler, Duration resync);
  const Registered* FindHandler(HandlerId id) const;
  Registered* FindHandler(HandlerId id);
  void Sweep();
  async::Task<void> Replay(HandlerId id);

  Result<Incoming> Accept(const EncodedObject& object);
  Incoming Pack(PooledMessage object) const;
  std::unique_ptr<Store> NewStore();
  async::Task<void> TellVanished(const Store* before);
  async::Task<void> TellPresent(const Store* before, AddKind kind);
  async::Task<void> ResyncForever();
  template <typename Call>
  void ForHandlers(std::string_view key, Call call);
  void NotifyAdd(std::string_view key, const Message& object, AddKind kind);
  void NotifyUpdate(std::string_view key, const Message& old_object, const Message& new_object);
  void NotifyDelete(std::string_view key, const Message& object);

  async::EventLoop& loop_;
  const Type type_;
  const Duration resync_;  // of handlers that ask for nothing else
  Duration check_period_;
  std::function<void(Message*)> prune_;
  std::vector<Store::IndexDefinition> indices_;
  std::deque<Registered> handlers_;  // references survive additions
  HandlerId last_handler_ = 0;
  int calling_ = 0;             // handlers are being called: none may go
  bool wants_updates_ = false;  // a handler has on_update: worth decoding old objects
  bool started_ = false;
  bool stopped_ = false;
  async::Scope* helpers_ = nullptr;  // in the frame of Run()
  async::Semaphore telling_{1};      // a whole state is told by one task at a time

  MessagePool pool_;  // outlives the stores
  const std::shared_ptr<ObjectPacker> packer_ = std::make_shared<ObjectPacker>();
  std::unique_ptr<Store> current_;
  std::unique_ptr<Store> staged_;  // the complete state that is being collected
  async::Event synced_;
  Reflector reflector_;
};

}  // namespace csinative::kube
