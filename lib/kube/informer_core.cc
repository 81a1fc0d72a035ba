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
      resync_(options.resync),
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

void InformerCore::AddHandler(Handler handler) {
  assert(!started_);
  if (handler.on_update) wants_updates_ = true;
  handlers_.push_back(std::move(handler));
}

async::Task<void> InformerCore::Run() {
  assert(!started_);
  started_ = true;
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope helpers(loop_, context.cancel);
  if (resync_ > Duration::zero() && wants_updates_) helpers.Spawn(ResyncForever());
  co_await reflector_.Run();
  co_await helpers.Close();
}

void InformerCore::OverwriteForNow(const Message& object) {
  std::unique_ptr<Message> copy(type_.prototype->New());
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
             known && known.bytes() == incoming.bytes) {
    staged_->Share(known, *incoming.object);
  } else {
    staged_->Put(incoming.key, incoming.bytes, *incoming.object);
  }
  return std::move(incoming.version);
}

async::Task<void> InformerCore::CommitReplace() {
  const AddKind kind = synced() ? AddKind::kLive : AddKind::kInitialList;
  const std::unique_ptr<Store> before = std::exchange(current_, std::move(staged_));
  if (!handlers_.empty()) {
    co_await TellVanished(before.get());
    co_await TellPresent(before.get(), kind);
  }
  const Status cancelled = co_await async::CancellationStatus();
  if (cancelled.ok()) synced_.Set();
}

async::Task<void> InformerCore::TellVanished(const Store* before) {
  Pace pace;
  for (PackedRef gone = before->First(); gone; gone = before->After(gone.key())) {
    if (!current_->Find(gone.key())) {
      const std::unique_ptr<Message> last_known = before->Decode(gone);
      NotifyDelete(*last_known);
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
      const std::unique_ptr<Message> decoded = current_->Decode(object);
      if (!old) {
        NotifyAdd(*decoded, kind);
      } else {
        NotifyUpdate(*before->Decode(old), *decoded);
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
    NotifyDelete(*incoming.object);
    return std::move(incoming.version);
  }
  const PackedRef old = current_->Put(incoming.key, incoming.bytes, *incoming.object);
  if (!old) {
    NotifyAdd(*incoming.object, AddKind::kLive);
  } else if (wants_updates_) {
    NotifyUpdate(*current_->Decode(old), *incoming.object);
  }
  return std::move(incoming.version);
}

Result<InformerCore::Incoming> InformerCore::Accept(const EncodedObject& object) const {
  std::unique_ptr<Message> decoded(type_.prototype->New());
  CSI_RETURN_IF_ERROR(DecodeObject(object, UnknownFields::kDrop, decoded.get()));
  return Pack(std::move(decoded));
}

InformerCore::Incoming InformerCore::Pack(std::unique_ptr<Message> object) const {
  if (prune_) prune_(object.get());
  const meta::ObjectMeta& metadata = type_.metadata(*object);
  Incoming incoming{.key = ObjectName{metadata.namespace_(), metadata.name()}.Key(),
                    .version = metadata.resourceversion(),
                    .bytes = object->SerializePartialAsString()};
  incoming.object = std::move(object);
  return incoming;
}

std::unique_ptr<Store> InformerCore::NewStore() const {
  return std::make_unique<Store>(type_.prototype, &indices_);
}

async::Task<void> InformerCore::ResyncForever() {
  const Duration period = std::max(resync_, kMinResync);
  for (;;) {
    const Status slept = co_await async::Sleep(period);
    if (!slept.ok()) co_return;
    Pace pace;
    // Not while relisting: the next complete state tells everybody everything, in its own order.
    for (PackedRef object = current_->First(); object && reflector_.watching();
         object = current_->After(object.key())) {
      const std::unique_ptr<Message> decoded = current_->Decode(object);
      NotifyUpdate(*decoded, *decoded);
      const bool go_on = co_await pace.Next();
      if (!go_on) co_return;
    }
  }
}

void InformerCore::NotifyAdd(const Message& object, AddKind kind) {
  for (const Handler& handler : handlers_) {
    if (handler.on_add) handler.on_add(object, kind);
  }
}

void InformerCore::NotifyUpdate(const Message& old_object, const Message& new_object) {
  for (const Handler& handler : handlers_) {
    if (handler.on_update) handler.on_update(old_object, new_object);
  }
}

void InformerCore::NotifyDelete(const Message& object) {
  for (const Handler& handler : handlers_) {
    if (handler.on_delete) handler.on_delete(object);
  }
}

}  // namespace csinative::kube
