// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/slow_set.h"

#include <chrono>

#include "lib/async/sleep.h"

namespace csinative::csi {
namespace {

constexpr Duration kSweepInterval = std::chrono::milliseconds(100);  // common 14

}  // namespace

bool SlowSet::Add(const std::string& key, std::string storage_class_uid) {
  if (index_.contains(key)) return false;
  entries_.push_back({key, clock_.Now(), std::move(storage_class_uid)});
  index_.emplace(key, std::prev(entries_.end()));
  added_.NotifyAll();
  return true;
}

std::optional<std::string> SlowSet::Get(const std::string& key) const {
  auto found = index_.find(key);
  if (found == index_.end()) return std::nullopt;
  return found->second->storage_class_uid;
}

bool SlowSet::Contains(const std::string& key) const {
  auto found = index_.find(key);
  return found != index_.end() && clock_.Now() - found->second->added < retention_;
}

void SlowSet::Remove(const std::string& key) {
  auto found = index_.find(key);
  if (found == index_.end()) return;
  entries_.erase(found->second);
  index_.erase(found);
}

Duration SlowSet::TimeRemaining(const std::string& key) const {
  auto found = index_.find(key);
  if (found == index_.end()) return Duration::zero();
  return retention_ - (clock_.Now() - found->second->added);
}

void SlowSet::Sweep() {
  const MonotonicTime now = clock_.Now();
  while (!entries_.empty() && now - entries_.front().added > retention_) {
    index_.erase(entries_.front().key);
    entries_.pop_front();
  }
}

async::Task<void> SlowSet::Run() {
  const MonotonicTime start = clock_.Now();
  while (true) {
    if (entries_.empty()) {
      Status woken = co_await added_.Wait();
      if (!woken.ok()) co_return;
      continue;
    }
    // The first tick after the oldest entry has expired.
    const Duration due = entries_.front().added + retention_ - start;
    const MonotonicTime tick = start + (due / kSweepInterval + 1) * kSweepInterval;
    Status slept = co_await async::SleepUntil(tick);
    if (!slept.ok()) co_return;
    Sweep();
  }
}

}  // namespace csinative::csi
