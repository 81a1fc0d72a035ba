// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/series_recorder.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "apis/meta/v1/time.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "lib/kube/event_correlator.h"

namespace csinative::kube {
namespace {

// client-go tools/events (kube-client 17.4).
constexpr size_t kMaxQueued = 1000;
constexpr Duration kRetryDelay = std::chrono::seconds(10);
constexpr double kRetryJitter = 0.25;
constexpr Duration kRefresh = std::chrono::minutes(30);
constexpr Duration kFinish = std::chrono::minutes(6);

constexpr ResourceInfo kSeriesEvent = {.group = "events.k8s.io",
                                       .version = "v1",
                                       .kind = "Event",
                                       .plural = "events",
                                       .singular = "event",
                                       .namespaced = true};

// What makes an event a repeat: everything but the note and the times.
using SeriesKey = std::tuple<std::string, std::string, std::string, std::string, std::string,
                             std::string, std::string>;

SeriesKey KeyOf(const events::Event& event) {
  return {event.type(),
          event.action(),
          event.reason(),
          event.reportingcontroller(),
          event.reportinginstance(),
          event.regarding().SerializeAsString(),
          event.related().SerializeAsString()};
}

std::string SeriesPatch(const events::EventSeries& series) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const std::string last = apis::FormatTime(series.lastobservedtime());
  writer.StartObject();
  writer.Key("series");
  writer.StartObject();
  writer.Key("count");
  writer.Int(series.count());
  writer.Key("lastObservedTime");
  writer.String(last.c_str(), static_cast<rapidjson::SizeType>(last.size()));
  writer.EndObject();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace

template <>
const ResourceInfo& ResourceOf<events::Event>() {
  return kSeriesEvent;
}

struct SeriesBroadcaster::Impl {
  // One kind of occurrence about one object.
  struct Entry {
    events::Event event;  // the first one as the server has it, with the series as counted here
    MonotonicTime seen;   // the latest occurrence
  };

  Impl(async::EventLoop& l, Random& r, Client& c, log::Logger lg)
      : loop(l), random(r), client(c), log(std::move(lg)) {}

  void Enqueue(events::Event event);
  async::Task<Status> WaitForWork(MonotonicTime until);
  async::Task<void> Observe(events::Event event);
  async::Task<bool> Send(SeriesKey key, events::Event event);
  async::Task<Result<events::Event>> Write(events::Event event);
  async::Task<void> RefreshAll();
  async::Task<void> FinishOld();
  std::vector<SeriesKey> Keys() const;

  async::EventLoop& loop;
  Random& random;
  Client& client;
  const log::Logger log;
  std::deque<events::Event> queue;
  async::WaiterList waiting;
  std::map<SeriesKey, Entry> entries;
  WallTime last_name{};  // no two names carry the same time, however coarse the clock
};

void SeriesBroadcaster::Impl::Enqueue(events::Event event) {
  if (queue.size() >= kMaxQueued) {
    log.Error(nullptr, "Unable to record event: too many queued events, dropped event", "event",
              event.metadata().name());
    return;
  }
  queue.push_back(std::move(event));
  waiting.WakeOne();
}

async::Task<Status> SeriesBroadcaster::Impl::WaitForWork(MonotonicTime until) {
  while (queue.empty() && loop.Now() < until) {
    Status status = co_await async::WithDeadline(until, [](Impl* self) -> async::Task<Status> {
      co_return co_await self->waiting.Wait();
    }(this));
    if (!status.ok() && !IsDeadlineExceeded(status)) co_return status;
  }
  co_return co_await async::CancellationStatus();
}

// The second occurrence begins a series, which the server is told; later ones only count.
async::Task<void> SeriesBroadcaster::Impl::Observe(events::Event event) {
  const SeriesKey key = KeyOf(event);
  const auto found = entries.find(key);
  if (found != entries.end()) {
    Entry& entry = found->second;
    entry.seen = loop.Now();
    const bool begun = entry.event.has_series();
    events::EventSeries* series = entry.event.mutable_series();
    series->set_count(begun ? series->count() + 1 : 2);
    *series->mutable_lastobservedtime() = event.eventtime();
    if (begun) co_return;
    event = entry.event;
  } else {
    entries.emplace(key, Entry{event, loop.Now()});
  }
  (void)co_await Send(key, std::move(event));
}

// Keeps what the server made of it, but not its counts: the ones here are younger. True if the
// server has it.
async::Task<bool> SeriesBroadcaster::Impl::Send(SeriesKey key, events::Event event) {
  for (int attempt = 1;; ++attempt) {
    Result<events::Event> stored = co_await Write(event);
    if (stored.ok()) {
      const auto entry = entries.find(key);
      if (entry == entries.end()) co_return true;
      const events::EventSeries counted = entry->second.event.series();
      const bool has_series = entry->second.event.has_series();
      entry->second.event = *std::move(stored);
      entry->second.event.clear_series();
      if (has_series) *entry->second.event.mutable_series() = counted;
      co_return true;
    }
    const Status& status = stored.status();
    if (IsCancelled(status)) co_return false;
    if (!MayRetryEvent(log, event.metadata().name(), status, attempt, IsAlreadyExists(status))) {
      co_return false;
    }
    const double stretch = 1 + kRetryJitter * random.Unit();
    const Duration delay(static_cast<int64_t>(static_cast<double>(kRetryDelay.count()) * stretch));
    if (!(co_await async::Sleep(delay)).ok()) co_return false;
  }
}

// A series is a patch of its event; if that has expired it becomes an event of its own.
async::Task<Result<events::Event>> SeriesBroadcaster::Impl::Write(events::Event event) {
  if (event.has_series()) {
    Result<events::Event> patched = co_await client.Patch<events::Event>(
        ObjectName{event.metadata().namespace_(), event.metadata().name()}, PatchType::kStrategic,
        SeriesPatch(event.series()));
    if (patched.ok() || !IsNotFound(patched.status())) co_return patched;
    event.mutable_metadata()->clear_resourceversion();
    event.mutable_metadata()->clear_uid();
  }
  co_return co_await client.Create(event);
}

std::vector<SeriesKey> SeriesBroadcaster::Impl::Keys() const {
  std::vector<SeriesKey> keys;
  keys.reserve(entries.size());
  for (const auto& [key, entry] : entries) keys.push_back(key);
  return keys;
}

async::Task<void> SeriesBroadcaster::Impl::RefreshAll() {
  for (const SeriesKey& key : Keys()) {
    const auto entry = entries.find(key);
    if (entry == entries.end() || !entry->second.event.has_series()) continue;
    (void)co_await Send(key, entry->second.event);
  }
}

// A series that the server could not be told of is kept for the next time.
async::Task<void> SeriesBroadcaster::Impl::FinishOld() {
  for (const SeriesKey& key : Keys()) {
    auto entry = entries.find(key);
    if (entry == entries.end() || loop.Now() - entry->second.seen < kFinish) continue;
    if (entry->second.event.has_series() && !co_await Send(key, entry->second.event)) continue;
    entry = entries.find(key);
    // It may have gone on meanwhile.
    if (entry != entries.end() && loop.Now() - entry->second.seen >= kFinish) entries.erase(entry);
  }
}

SeriesBroadcaster::SeriesBroadcaster(async::EventLoop& loop, Random& random, Client& client,
                                     log::Logger log)
    : impl_(std::make_unique<Impl>(loop, random, client, std::move(log))) {}

SeriesBroadcaster::~SeriesBroadcaster() = default;

async::Task<void> SeriesBroadcaster::Run() {
  MonotonicTime refresh = impl_->loop.Now() + kRefresh;
  MonotonicTime finish = impl_->loop.Now() + kFinish;
  while ((co_await impl_->WaitForWork(std::min(refresh, finish))).ok()) {
    if (!impl_->queue.empty()) {
      events::Event event = std::move(impl_->queue.front());
      impl_->queue.pop_front();
      co_await impl_->Observe(std::move(event));
    }
    if (impl_->loop.Now() >= refresh) {
      co_await impl_->RefreshAll();
      refresh = impl_->loop.Now() + kRefresh;
    }
    if (impl_->loop.Now() >= finish) {
      co_await impl_->FinishOld();
      finish = impl_->loop.Now() + kFinish;
    }
  }
}

SeriesRecorder::SeriesRecorder(SeriesBroadcaster& broadcaster, std::string controller,
                               std::string host)
    : broadcaster_(&broadcaster),
      controller_(std::move(controller)),
      instance_(StrCat(controller_, "-", host)) {}

void SeriesRecorder::Record(const ObjectReference& regarding, const ObjectReference* related,
                            Occurrence occurrence) {
  SeriesBroadcaster::Impl& sink = *broadcaster_->impl_;
  const WallTime now = sink.loop.WallNow();
  sink.last_name = std::max(now, sink.last_name + Duration(1));
  events::Event event;
  event.mutable_metadata()->set_name(EventName(regarding.name, sink.last_name, sink.random));
  event.mutable_metadata()->set_namespace_(regarding.ns.empty() ? "default" : regarding.ns);
  *event.mutable_eventtime() = apis::MakeMicroTime(now);
  event.set_reportingcontroller(controller_);
  event.set_reportinginstance(instance_);
  event.set_action(std::move(occurrence.action));
  event.set_reason(std::move(occurrence.reason));
  *event.mutable_regarding() = ReferenceMessage(regarding);
  if (related != nullptr) *event.mutable_related() = ReferenceMessage(*related);
  event.set_note(std::move(occurrence.note));
  event.set_type(occurrence.type == EventType::kNormal ? "Normal" : "Warning");
  sink.Enqueue(std::move(event));
}

}  // namespace csinative::kube
