// SPDX-License-Identifier: Apache-2.0
//
// Ordered set of pending timers: by time, then by the order they were set. Loop only.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lib/async/event_loop.h"

namespace csinative::async {

class TimerQueue {
 public:
  EventLoop::TimerId Add(MonotonicTime when, EventLoop::Step step) {
    const EventLoop::TimerId id = ++last_id_;
    timers_.emplace(Key{when, id}, std::move(step));
    when_.emplace(id, when);
    return id;
  }
  // False if the timer is not pending.
  bool Cancel(EventLoop::TimerId id) {
    auto it = when_.find(id);
    if (it == when_.end()) return false;
    // The step may own things whose destructors set or cancel timers: destroy it last.
    auto node = timers_.extract(Key{it->second, id});
    when_.erase(it);
    return true;
  }
  bool Pending(EventLoop::TimerId id) const { return when_.contains(id); }

  // A timer outside of the queue; Put restores its place in the order.
  struct Taken {
    MonotonicTime when;
    EventLoop::TimerId id;
    EventLoop::Step step;
  };
  std::optional<Taken> Take(EventLoop::TimerId id) {
    auto it = when_.find(id);
    if (it == when_.end()) return std::nullopt;
    auto node = timers_.extract(Key{it->second, id});
    when_.erase(it);
    return Taken{node.key().first, id, std::move(node.mapped())};
  }
  void Put(Taken taken) {
    when_.emplace(taken.id, taken.when);
    timers_.emplace(Key{taken.when, taken.id}, std::move(taken.step));
  }

  std::optional<MonotonicTime> NextTime() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first.first;
  }
  // The first timer that is due at `now`, removed; empty if none is.
  EventLoop::Step PopDue(MonotonicTime now) {
    if (timers_.empty() || timers_.begin()->first.first > now) return {};
    auto node = timers_.extract(timers_.begin());
    when_.erase(node.key().second);
    return std::move(node.mapped());
  }
  bool empty() const { return timers_.empty(); }
  void Clear() {
    auto timers = std::move(timers_);
    timers_.clear();
    when_.clear();
  }

 private:
  using Key = std::pair<MonotonicTime, EventLoop::TimerId>;
  std::map<Key, EventLoop::Step> timers_;
  std::unordered_map<EventLoop::TimerId, MonotonicTime> when_;
  EventLoop::TimerId last_id_ = 0;
};

}  // namespace csinative::async
