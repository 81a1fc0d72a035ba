// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/event_recorder.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <utility>

#include "apis/meta/v1/names.h"
#include "apis/meta/v1/time.h"
#include "lib/async/sleep.h"
#include "lib/async/sync.h"
#include "lib/kube/errors.h"
#include "lib/kube/event_correlator.h"

namespace csinative::kube {
namespace {

// client-go tools/record (kube-client 17.1, 17.3).
constexpr size_t kMaxQueued = 1000;
constexpr Duration kRetryDelay = std::chrono::seconds(10);

std::string PatchBody(const core::Event& event) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const std::string last = apis::FormatTime(event.lasttimestamp());
  writer.StartObject();
  writer.Key("count");
  writer.Int(event.count());
  writer.Key("lastTimestamp");
  writer.String(last.c_str(), static_cast<rapidjson::SizeType>(last.size()));
  writer.Key("message");
  writer.String(event.message().c_str(), static_cast<rapidjson::SizeType>(event.message().size()));
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace

core::ObjectReference ReferenceMessage(const ObjectReference& about) {
  core::ObjectReference out;
  out.set_kind(about.kind);
  out.set_apiversion(about.api_version);
  if (!about.ns.empty()) out.set_namespace_(about.ns);
  out.set_name(about.name);
  if (!about.uid.empty()) out.set_uid(about.uid);
  if (!about.resource_version.empty()) out.set_resourceversion(about.resource_version);
  if (!about.field_path.empty()) out.set_fieldpath(about.field_path);
  return out;
}

bool MayRetryEvent(const log::Logger& log, const std::string& event, const Status& failure,
                   int attempt, bool expected) {
  if (failure.api_error() != nullptr) {
    if (expected) {
      log.V(5).Info("Server rejected event (will not retry!)", "err", failure);
    } else {
      log.Error(failure, "Server rejected event (will not retry!)", "event", event);
    }
    return false;
  }
  // Nothing was sent, or the answer made no sense: it would be the same again.
  if (failure.code() == Code::kInvalidArgument) {
    log.Error(failure, "Unable to construct event (will not retry!)", "event", event);
    return false;
  }
  if (attempt == kMaxEventTries) {
    log.Error(failure, "Unable to write event (retry limit exceeded!)", "event", event);
    return false;
  }
  log.Error(failure, "Unable to write event (may retry after sleeping)", "event", event);
  return true;
}

struct EventBroadcaster::Impl {
  Impl(async::EventLoop& l, Random& r, Client& c, log::Logger lg)
      : loop(l), random(r), client(c), log(std::move(lg)), correlator(l) {}

  void Enqueue(core::Event event);
  async::Task<void> Send(core::Event event);
  async::Task<Status> Write(CorrelatedEvent* correlated);

  async::EventLoop& loop;
  Random& random;
  Client& client;
  const log::Logger log;
  EventCorrelator correlator;
  std::deque<core::Event> queue;
  async::WaiterList waiting;
  WallTime last_name{};  // no two names carry the same time, however coarse the clock
};

void EventBroadcaster::Impl::Enqueue(core::Event event) {
  const core::ObjectReference& about = event.involvedobject();
  log.Info("Event occurred", "object", log::ObjectRef{about.namespace_(), about.name()},
           "fieldPath", about.fieldpath(), "kind", about.kind(), "apiVersion", about.apiversion(),
           "type", event.type(), "reason", event.reason(), "message", event.message());
  if (queue.size() >= kMaxQueued) {
    log.Error(nullptr, "Unable to record event: too many queued events, dropped event", "event",
              event.metadata().name());
    return;
  }
  queue.push_back(std::move(event));
  waiting.WakeOne();
}

// A repeat is a patch of the stored event; if that has expired it becomes an event of its own.
async::Task<Status> EventBroadcaster::Impl::Write(CorrelatedEvent* correlated) {
  core::Event& event = correlated->event;
  if (event.count() > 1) {
    Result<core::Event> patched = co_await client.Patch<core::Event>(
        ObjectName{event.metadata().namespace_(), event.metadata().name()}, PatchType::kStrategic,
        PatchBody(event));
    if (patched.ok()) {
      correlator.Stored(correlated->key, *patched);
      co_return Status();
    }
    if (!IsNotFound(patched.status())) co_return patched.status();
    event.mutable_metadata()->clear_resourceversion();
  }
  Result<core::Event> created = co_await client.Create(event);
  if (!created.ok()) co_return created.status();
  correlator.Stored(correlated->key, *created);
  co_return Status();
}

async::Task<void> EventBroadcaster::Impl::Send(core::Event event) {
  std::optional<CorrelatedEvent> correlated = correlator.Correlate(std::move(event));
  if (!correlated) co_return;  // spam filter
  for (int attempt = 1;; ++attempt) {
    Status status = co_await Write(&*correlated);
    if (status.ok() || IsCancelled(status)) co_return;
    const bool expected = IsAlreadyExists(status) || HasStatusCause(status, "NamespaceTerminating");
    if (!MayRetryEvent(log, correlated->event.metadata().name(), status, attempt, expected)) {
      co_return;
    }
    // The first delay is shortened at random, so that the events of many processes do not return
    // together after an outage.
    Duration delay = kRetryDelay;
    if (attempt == 1) {
      delay = Duration(static_cast<int64_t>(static_cast<double>(delay.count()) * random.Unit()));
    }
    if (!(co_await async::Sleep(delay)).ok()) co_return;
  }
}

EventBroadcaster::EventBroadcaster(async::EventLoop& loop, Random& random, Client& client,
                                   log::Logger log)
    : impl_(std::make_unique<Impl>(loop, random, client, std::move(log))) {}

EventBroadcaster::~EventBroadcaster() = default;

async::Task<void> EventBroadcaster::Run() {
  while (true) {
    while (impl_->queue.empty()) {
      if (!(co_await impl_->waiting.Wait()).ok()) co_return;
    }
    core::Event event = std::move(impl_->queue.front());
    impl_->queue.pop_front();
    co_await impl_->Send(std::move(event));
    if (!(co_await async::CancellationStatus()).ok()) co_return;
  }
}

EventRecorder::EventRecorder(EventBroadcaster& broadcaster, std::string component, std::string host)
    : broadcaster_(&broadcaster), component_(std::move(component)), host_(std::move(host)) {}

void EventRecorder::Record(const ObjectReference& about, EventType type, std::string reason,
                           std::string message) {
  EventBroadcaster::Impl& sink = *broadcaster_->impl_;
  const WallTime now = sink.loop.WallNow();
  core::Event event;
  auto* metadata = event.mutable_metadata();
  sink.last_name = std::max(now, sink.last_name + Duration(1));
  metadata->set_name(EventName(about.name, sink.last_name, sink.random));
  metadata->set_namespace_(about.ns.empty() ? "default" : about.ns);
  *event.mutable_involvedobject() = ReferenceMessage(about);
  event.set_reason(std::move(reason));
  event.set_message(std::move(message));
  event.set_type(type == EventType::kNormal ? "Normal" : "Warning");
  event.mutable_source()->set_component(component_);
  if (!host_.empty()) event.mutable_source()->set_host(host_);
  event.set_reportingcomponent(component_);
  event.set_reportinginstance(host_);
  *event.mutable_firsttimestamp() = apis::MakeTime(now);
  *event.mutable_lasttimestamp() = event.firsttimestamp();
  event.set_count(1);
  sink.Enqueue(std::move(event));
}

}  // namespace csinative::kube
