// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/event_correlator.h"

#include <cstdio>

#include "apis/meta/v1/names.h"
#include "apis/meta/v1/time.h"

namespace csinative::kube {
namespace {

// client-go tools/record/events_cache.go (kube-client 17.2).
constexpr size_t kCacheSize = 4096;
constexpr size_t kMaxSimilar = 10;
constexpr Duration kGroupLifetime = std::chrono::seconds(600);
constexpr int kSpamBurst = 25;
constexpr double kSpamRate = 1.0 / 300;

// Parts are joined by a byte that cannot be in them, so that two keys never meet.
std::string Join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) {
    out.append(part);
    out.push_back('\0');
  }
  return out;
}

std::string SpamKey(const core::Event& e) {
  const auto& about = e.involvedobject();
  return Join({e.source().component(), e.source().host(), about.kind(), about.namespace_(),
               about.name(), about.uid(), about.apiversion(), e.type()});
}

std::string GroupKey(const core::Event& e) {
  return SpamKey(e) + Join({e.reason(), e.reportingcomponent(), e.reportinginstance()});
}

std::string FullKey(const core::Event& e) {
  return SpamKey(e) + Join({e.involvedobject().fieldpath(), e.reason(), e.message()});
}

}  // namespace

std::string EventName(const std::string& object, WallTime now, Random& random) {
  char hex[24];
  std::snprintf(hex, sizeof hex, ".%llx",
                static_cast<unsigned long long>(now.time_since_epoch().count()));
  std::string name = object + hex;
  return apis::IsDns1123Subdomain(name) ? name : random.Uuid();
}

EventCorrelator::EventCorrelator(const Clock& clock)
    : clock_(clock), groups_(kCacheSize), seen_(kCacheSize), spam_(kCacheSize) {}

std::optional<CorrelatedEvent> EventCorrelator::Correlate(core::Event event) {
  const MonotonicTime now = clock_.Now();
  const std::string spam_key = SpamKey(event);

  const std::string group_key = GroupKey(event);
  Group& group = groups_.Touch(group_key);
  if (group.last && now - *group.last > kGroupLifetime) group = Group{};
  group.last = now;
  group.messages.insert(event.message());

  std::string key = FullKey(event);
  if (group.messages.size() >= kMaxSimilar) {
    group.messages.erase(group.messages.begin());
    core::Event combined;
    *combined.mutable_metadata() = event.metadata();
    combined.mutable_metadata()->clear_annotations();
    *combined.mutable_involvedobject() = event.involvedobject();
    combined.set_reason(event.reason());
    combined.set_message("(combined from similar events): " + event.message());
    combined.set_type(event.type());
    *combined.mutable_source() = event.source();
    *combined.mutable_firsttimestamp() = event.lasttimestamp();
    *combined.mutable_lasttimestamp() = event.lasttimestamp();
    combined.set_count(1);
    event = std::move(combined);
    key = group_key;
  }

  // A repeat counts even if the spam filter drops it.
  Seen& seen = seen_.Touch(key);
  if (seen.count > 0) {
    event.mutable_metadata()->set_name(seen.name);
    if (!seen.resource_version.empty()) {
      event.mutable_metadata()->set_resourceversion(seen.resource_version);
    }
    if (seen.first_timestamp) *event.mutable_firsttimestamp() = *seen.first_timestamp;
    event.set_count(seen.count + 1);
  } else {
    seen.name = event.metadata().name();
    seen.first_timestamp = event.firsttimestamp();
  }
  seen.count = event.count();

  Spam& spam = spam_.Touch(spam_key);
  if (!spam.bucket) spam.bucket.emplace(kSpamRate, kSpamBurst, now);
  if (!spam.bucket->ReserveBefore(now, now)) return std::nullopt;
  return CorrelatedEvent{std::move(event), std::move(key)};
}

void EventCorrelator::Stored(const std::string& key, const core::Event& event) {
  Seen& seen = seen_.Touch(key);
  seen.count = event.count();
  seen.name = event.metadata().name();
  seen.resource_version = event.metadata().resourceversion();
  seen.first_timestamp = event.firsttimestamp();
}

}  // namespace csinative::kube
