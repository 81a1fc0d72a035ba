// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/pending_operations.h"

#include <algorithm>
#include <utility>

namespace csinative::volumemanager {

PendingOperations::Start PendingOperations::TryStart(const OperationKey& key,
                                                     const std::string& name) {
  Entries& entries = volumes_[key.volume];
  Entry* picked = nullptr;
  for (Entry& entry : entries) {
    if (!entry.key.Matches(key)) continue;
    if (!entry.running.empty()) return Start::kRunning;
    // The first that matches, but rather the very same key.
    if (picked == nullptr || entry.key == key) {
      if (picked == nullptr || !(picked->key == key)) picked = &entry;
    }
  }
  if (picked == nullptr) picked = &entries.emplace_back();
  const auto failed = picked->backoffs.find(name);
  if (failed != picked->backoffs.end() &&
      clock_.Now() - failed->second.failed < failed->second.delay) {
    return Start::kBackoff;
  }
  picked->key = key;
  picked->running = name;
  picked->started = clock_.Now();
  ++running_;
  return Start::kStarted;
}

Duration PendingOperations::Finish(const OperationKey& key, const Status& result) {
  const auto volume = volumes_.find(key.volume);
  if (volume == volumes_.end()) return Duration::zero();
  Entries& entries = volume->second;
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.key == key && !entry.running.empty();
  });
  if (found == entries.end()) return Duration::zero();
  --running_;
  if (result.ok()) {
    entries.erase(found);
    if (entries.empty()) volumes_.erase(volume);
    return Duration::zero();
  }
  Backoff& backoff = found->backoffs[std::exchange(found->running, "")];
  backoff.failed = clock_.Now();
  backoff.delay =
      backoff.delay == Duration::zero() ? kFirstDelay : std::min(backoff.delay * 2, kLongestDelay);
  ++backoff.failures;
  backoff.error = result.message().substr(0, kMaxErrorBytes);
  return backoff.delay;
}

bool PendingOperations::IsRunning(const OperationKey& key) const {
  const auto volume = volumes_.find(key.volume);
  if (volume == volumes_.end()) return false;
  return std::any_of(volume->second.begin(), volume->second.end(), [&](const Entry& entry) {
    return !entry.running.empty() && entry.key.Matches(key);
  });
}

std::optional<MonotonicTime> PendingOperations::NextRetry() const {
  std::optional<MonotonicTime> next;
  for (const auto& [volume, entries] : volumes_) {
    for (const Entry& entry : entries) {
      if (!entry.running.empty()) continue;
      for (const auto& [name, backoff] : entry.backoffs) {
        const MonotonicTime when = backoff.failed + backoff.delay;
        // One that is over was looked at by the pass that asks.
        if (when > clock_.Now() && (!next || when < *next)) next = when;
      }
    }
  }
  return next;
}

std::vector<PendingOperations::Info> PendingOperations::List() const {
  std::vector<Info> all;
  for (const auto& [volume, entries] : volumes_) {
    for (const Entry& entry : entries) {
      if (!entry.running.empty() && !entry.backoffs.contains(entry.running)) {
        all.push_back({.key = entry.key, .name = entry.running, .started = entry.started});
      }
      for (const auto& [name, backoff] : entry.backoffs) {
        Info& info = all.emplace_back();
        info.key = entry.key;
        info.name = name;
        if (name == entry.running) info.started = entry.started;
        info.failures = backoff.failures;
        info.last_error = backoff.error;
        info.last_failed = backoff.failed;
        info.next_try = backoff.failed + backoff.delay;
      }
    }
  }
  return all;
}

void PendingOperations::ClearBackoff() {
  for (auto& [volume, entries] : volumes_) {
    for (Entry& entry : entries) {
      if (entry.running.empty()) entry.backoffs.clear();
    }
  }
}

void PendingOperations::Forget(const std::string& volume) {
  const auto found = volumes_.find(volume);
  if (found == volumes_.end()) return;
  std::erase_if(found->second, [](const Entry& entry) { return entry.running.empty(); });
  if (found->second.empty()) volumes_.erase(found);
}

}  // namespace csinative::volumemanager
