// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/informer_core.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "lib/async/sleep.h"

namespace csinative::kube {
namespace {

constexpr int kObjectsPerStep = 100;

// client-go raises shorter resync periods (tools/cache minimumResyncPeriod).
constexpr Duration kMinResync = std::chrono::seconds(1);

// Lets other work run after every so many objects. False: the caller is cancelled.
class Pace {
 public:
  async::Task<bool> Next() {
    if (++handled_ % kObjectsPerStep != 0) co_return true;
    co_await async::Yield();
    const Status cancelled = co_await async::CancellationStatus();
    co_return cancelled.ok();
  }

 private:
  int handled_ = 0;
};

ReflectorOptions ToReflectorOptions(const InformerOptions& options) {
  return {.ns = options.ns,
          .label_selector = options.label_selector,
          .field_selector = options.field_selector,
          .watch_list = options.watch_list};
}

}  // namespace

InformerCore::InformerCore(async::EventLoop& loop, Random& random, Client& client, log::Logger log,
                           Type type, InformerOptions options)
    : loop_(loop),
      type_(type),
      resync_(options.resync > Duration::zero() ? std::max(options.resync, kMinResync)
                                                : Duration::zero()),
      check_period_(resync_),
      pool_(type.prototype),
      current_(NewStore()),
      reflector_(loop, random, client, std::move(log), *type.resource, *this,
                 ToReflectorOptions(options)) {}

InformerCore::~InformerCore() = default;

void InformerCore::set_prune(std::function<void(Message*)> prune) {
  assert(!started_);
  prune_ = std::move(prune);
}

void InformerCore::AddIndex(std::string name, Store::IndexFunction function) {
  assert(!started_);
  indices_.push_back({std::move(name), std::move(function)});
  current_ = NewStore();  // still empty
}

InformerCore::HandlerId InformerCore::Insert(Handler handler, Duration resync) {
  if (handler.on_update) wants_updates_ = true;
  handlers_.push_back({.id = ++last_handler_,
                       .handler = std::move(handler),
                       .resync = resync,
                       .next_resync = loop_.Now() + resync});
  return last_handler_;
}

Result<InformerCore::HandlerId> InformerCore::Register(Handler handler,
                                                       std::optional<Duration> resync) {
  if (stopped_) {
    return FailedPreconditionError(
        "handler was not added to shared informer because it has stopped already");
  }
  Duration period = resync.value_or(resync_);
  if (period > Duration::zero()) {
    period = std::max(period, kMinResync);
    if (check_period_ == Duration::zero()) {
      period = Duration::zero();
    } else if (started_) {
      period = std::max(period, check_period_);
    } else {
      check_period_ = std::min(check_period_, period);
    }
  }
  const HandlerId id = Insert(std::move(handler), period);
  if (helpers_ != nullptr) {
    FindHandler(id)->replayed = std::string();
    helpers_->Spawn(Replay(id));
  }
  return id;
}

void InformerCore::Remove(HandlerId id) {
  if (Registered* handler = FindHandler(id)) handler->removed = true;
  Sweep();
}

bool InformerCore::HandlerSynced(HandlerId id) const {
  const Registered* handler = FindHandler(id);
  return handler != nullptr && synced() && !handler->replayed;
}

const InformerCore::Registered* InformerCore::FindHandler(HandlerId id) const {
  for (const Registered& handler : handlers_) {
    if (handler.id == id && !handler.removed) return &handler;
  }
  return nullptr;
}

InformerCore::Registered* InformerCore::FindHandler(HandlerId id) {
  return const_cast<Registered*>(std::as_const(*this).FindHandler(id));
}

void InformerCore::Sweep() {
  if (calling_ > 0) return;
  std::erase_if(handlers_, [](const Registered& handler) { return handler.removed; });
}

// Tells a late handler what is there, in key order; what changes behind it meanwhile it hears as it
// happens, what changes before it finds as it comes along.
async::Task<void> InformerCore::Replay(HandlerId id) {
  const Status alone = co_await telling_.Acquire();
  if (!alone.ok()) co_return;
  Pace pace;
  bool go_on = true;
  for (PackedRef object = current_->First(); object && go_on;
       object = current_->After(object.key())) {
    Registered* handler = FindHandler(id);
    if (handler == nullptr) break;
    handler->replayed = std::string(object.key());
    if (handler->handler.on_add) {
      const PooledMessage decoded = current_->Decode(object);
      ++calling_;
      handler->handler.on_add(*decoded, AddKind::kInitialList);
      --calling_;
      Sweep();
    }
    go_on = co_await pace.Next();
  }
  Registered* handler = FindHandler(id);
  if (handler != nullptr && go_on) handler->replayed.reset();
  telling_.Release();
}

async::Task<void> InformerCore::Run() {
  assert(!started_);
  started_ = true;
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope helpers(loop_, context.cancel);
  helpers_ = &helpers;
  if (check_period_ > Duration::zero()) {
    for (Registered& handler : handlers_) handler.next_resync = loop_.Now() + handler.resync;
    helpers.Spawn(ResyncForever());
  }
  co_await reflector_.Run();
  stopped_ = true;
  helpers_ = nullptr;
  co_await helpers.Close();
}

void InformerCore::OverwriteForNow(const Message& object) {
  PooledMessage copy = pool_.Take(object.ByteSizeLong());
  copy->CopyFrom(object);
  const Incoming incoming = Pack(std::move(copy));
  current_->Put(incoming.key, incoming.bytes, *incoming.object);
}

void InformerCore::BeginReplace() { staged_ = NewStore(); }

void InformerCore::AbandonReplace() { staged_.reset(); }

Result<std::string> InformerCore::Stage(WatchEventType type, const EncodedObject& object) {
  CSI_ASSIGN_OR_RETURN(Incoming incoming, Accept(object));
  if (type == WatchEventType::kDeleted) {
    staged_->Erase(incoming.key);
  } else if (PackedRef known = current_->Find(incoming.key);
             known && current_->Holds(known, incoming.bytes)) {
    staged_->Share(known, *incoming.object);
  } else {
    staged_->Put(incoming.key, incoming.bytes, *incoming.object);
  }
  return std::move(incoming.version);
}

async::Task<void> InformerCore::CommitReplace() {
  const Status alone = co_await telling_.Acquire();
  if (!alone.ok()) co_return;
  const AddKind kind = synced() ? AddKind::kLive : AddKind::kInitialList;
  const std::unique_ptr<Store> before = std::exchange(current_, std::move(staged_));
  if (!handlers_.empty()) {
    co_await TellVanished(before.get());
    co_await TellPresent(before.get(), kind);
  }
  telling_.Release();
  const Status cancelled = co_await async::CancellationStatus();
  if (cancelled.ok()) synced_.Set();
}

async::Task<void> InformerCore::TellVanished(const Store* before) {
  Pace pace;
  for (PackedRef gone = before->First(); gone; gone = before->After(gone.key())) {
    if (!current_->Find(gone.key())) {
      const PooledMessage last_known = before->Decode(gone);
      NotifyDelete(gone.key(), *last_known);
    }
    const bool go_on = co_await pace.Next();
    if (!go_on) co_return;
  }
}

async::Task<void> InformerCore::TellPresent(const Store* before, AddKind kind) {
  Pace pace;
  for (PackedRef object = current_->First(); object; object = current_->After(object.key())) {
    const PackedRef old = before->Find(object.key());
    if (!old || wants_updates_) {
      const PooledMessage decoded = current_->Decode(object);
      if (!old) {
        NotifyAdd(object.key(), *decoded, kind);
      } else {
        NotifyUpdate(object.key(), *before->Decode(old), *decoded);
      }
    }
    const bool go_on = co_await pace.Next();
    if (!go_on) co_return;
  }
}

Result<std::string> InformerCore::Apply(WatchEventType type, const EncodedObject& object) {
  CSI_ASSIGN_OR_RETURN(Incoming incoming, Accept(object));
  if (type == WatchEventType::kDeleted) {
    current_->Erase(incoming.key);
    NotifyDelete(incoming.key, *incoming.object);
    return std::move(incoming.version);
  }
  PooledMessage decoded_old;
  const PackedRef old = current_->Put(incoming.key, incoming.bytes, *incoming.object,
                                      wants_updates_ ? &decoded_old : nullptr);
  if (!old) {
    NotifyAdd(incoming.key, *incoming.object, AddKind::kLive);
  } else if (wants_updates_) {
    NotifyUpdate(incoming.key, *decoded_old, *incoming.object);
  }
  return std::move(incoming.version);
}

Result<InformerCore::Incoming> InformerCore::Accept(const EncodedObject& object) {
  PooledMessage decoded = pool_.Take(object.bytes.size());
  CSI_RETURN_IF_ERROR(DecodeObject(object, UnknownFields::kDrop, decoded.get()));
  return Pack(std::move(decoded));
}

InformerCore::Incoming InformerCore::Pack(PooledMessage object) const {
  if (prune_) prune_(object.get());
  const meta::ObjectMeta& metadata = type_.metadata(*object);
  Incoming incoming{.key = ObjectName{metadata.namespace_(), metadata.name()}.Key(),
                    .version = metadata.resourceversion(),
                    .bytes = object->SerializePartialAsString()};
  incoming.object = std::move(object);
  return incoming;
}

std::unique_ptr<Store> InformerCore::NewStore() {
  return std::make_unique<Store>(&pool_, &indices_, packer_);
}

async::Task<void> InformerCore::ResyncForever() {
  for (;;) {
    const Status slept = co_await async::Sleep(check_period_);
    if (!slept.ok()) co_return;
    bool due = false;
    const MonotonicTime now = loop_.Now();
    for (Registered& handler : handlers_) {
      handler.syncing = handler.resync > Duration::zero() && now >= handler.next_resync;
      if (!handler.syncing) continue;
      handler.next_resync = now + handler.resync;
      due = due || handler.handler.on_update;
    }
    if (!due) continue;
    Pace pace;
    // Not while relisting: the next complete state tells everybody everything, in its own order.
    for (PackedRef object = current_->First(); object && reflector_.watching();
         object = current_->After(object.key())) {
      {
        const PooledMessage decoded = current_->Decode(object);
        NotifyUpdate(object.key(), *decoded, *decoded);
      }
      const bool go_on = co_await pace.Next();
      if (!go_on) co_return;
    }
  }
}

template <typename Call>
void InformerCore::ForHandlers(std::string_view key, Call call) {
  ++calling_;
  // A handler that is added by another one comes later, by its own replay.
  const size_t count = handlers_.size();
  for (size_t i = 0; i < count; ++i) {
    if (handlers_[i].Hears(key)) call(handlers_[i]);
  }
  --calling_;
  Sweep();
}

void InformerCore::NotifyAdd(std::string_view key, const Message& object, AddKind kind) {
  ForHandlers(key, [&](const Registered& to) {
    if (to.handler.on_add) to.handler.on_add(object, kind);
  });
}

void InformerCore::NotifyUpdate(std::string_view key, const Message& old_object,
                                const Message& new_object) {
  const bool unchanged =
      type_.metadata(old_object).resourceversion() == type_.metadata(new_object).resourceversion();
  ForHandlers(key, [&](const Registered& to) {
    if (!to.handler.on_update || (unchanged && !to.syncing)) return;
    to.handler.on_update(old_object, new_object);
  });
}

void InformerCore::NotifyDelete(std::string_view key, const Message& object) {
  ForHandlers(key, [&](const Registered& to) {
    if (to.handler.on_delete) to.handler.on_delete(object);
  });
}

}  // namespace csinative::kube
