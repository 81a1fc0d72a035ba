// SPDX-License-Identifier: Apache-2.0
#include "lib/async/virtual_loop.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace csinative::async {

VirtualScheduler::VirtualScheduler()
    : start_(std::chrono::hours(1)),
      now_(start_),
      wall_start_(std::chrono::sys_days(std::chrono::year(2024) / 1 / 1)) {}

VirtualScheduler::~VirtualScheduler() { assert(loops_.empty()); }

bool VirtualScheduler::Step(MonotonicTime limit) {
  if (ready_.empty()) {
    auto next = timers_.NextTime();
    if (!next || *next > limit) return false;
    now_ = std::max(now_, *next);
    EventLoop::Step step = timers_.PopDue(now_);
    step();
    return true;
  }
  Ready ready = std::move(ready_.front());
  ready_.pop_front();
  ready.step();
  return true;
}

void VirtualScheduler::Advance(Duration duration) {
  const MonotonicTime end = now_ + duration;
  while (Step(end)) {
  }
  now_ = end;
}

void VirtualScheduler::Settle() {
  while (Step(now_)) {
  }
}

VirtualLoop::VirtualLoop(VirtualScheduler& scheduler) : scheduler_(scheduler) {
  scheduler_.loops_.push_back(this);
}

VirtualLoop::~VirtualLoop() {
  Discard();
  std::erase(scheduler_.loops_, this);
}

void VirtualLoop::Post(Step step) {
  if (discarding()) return;
  scheduler_.ready_.push_back({this, std::move(step)});
}

EventLoop::TimerId VirtualLoop::PostAt(MonotonicTime when, Step step) {
  if (discarding()) return 0;
  // Timers share the scheduler's order; the loop remembers its own for Discard(). Stale entries
  // are swept when they outnumber what a small loop can hold.
  const TimerId id = scheduler_.timers_.Add(when, std::move(step));
  timers_.push_back(id);
  if (timers_.size() > 1024 && (timers_.size() & (timers_.size() - 1)) == 0) {
    std::erase_if(timers_, [this](TimerId t) { return !scheduler_.timers_.Pending(t); });
  }
  return id;
}

void VirtualLoop::CancelTimer(TimerId id) { scheduler_.timers_.Cancel(id); }

void VirtualLoop::Discard() {
  if (discarding()) return;
  set_discarding(true);
  for (TimerId id : timers_) scheduler_.timers_.Cancel(id);
  timers_.clear();
  auto mine = [this](const VirtualScheduler::Ready& r) { return r.loop == this; };
  std::deque<VirtualScheduler::Ready> dropped;
  std::deque<VirtualScheduler::Ready> kept;
  for (auto& ready : scheduler_.ready_) {
    (mine(ready) ? dropped : kept).push_back(std::move(ready));
  }
  scheduler_.ready_ = std::move(kept);
  dropped.clear();
  DiscardScopes();
}

}  // namespace csinative::async
