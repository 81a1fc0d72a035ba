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
  if (suspended_) {
    held_steps_.push_back(std::move(step));
  } else {
    scheduler_.ready_.push_back({this, std::move(step)});
  }
}

EventLoop::TimerId VirtualLoop::PostAt(MonotonicTime when, Step step) {
  if (discarding()) return 0;
  // Timers share the scheduler's order; the loop remembers its own for Discard(). Stale entries
  // are swept when they outnumber what a small loop can hold.
  const TimerId id = scheduler_.timers_.Add(when, std::move(step));
  if (suspended_) held_timers_.push_back(*scheduler_.timers_.Take(id));
  timers_.push_back(id);
  // Held timers are not pending, but will be.
  if (!suspended_ && timers_.size() > 1024 && (timers_.size() & (timers_.size() - 1)) == 0) {
    std::erase_if(timers_, [this](TimerId t) { return !scheduler_.timers_.Pending(t); });
  }
  return id;
}

void VirtualLoop::CancelTimer(TimerId id) {
  if (scheduler_.timers_.Cancel(id) || !suspended_) return;
  const auto held = std::find_if(held_timers_.begin(), held_timers_.end(),
                                 [id](const TimerQueue::Taken& timer) { return timer.id == id; });
  if (held == held_timers_.end()) return;
  const TimerQueue::Taken cancelled = std::move(*held);
  held_timers_.erase(held);
}

void VirtualLoop::Suspend() {
  if (suspended_ || discarding()) return;
  suspended_ = true;
  std::deque<VirtualScheduler::Ready> others;
  for (auto& ready : scheduler_.ready_) {
    if (ready.loop == this) {
      held_steps_.push_back(std::move(ready.step));
    } else {
      others.push_back(std::move(ready));
    }
  }
  scheduler_.ready_ = std::move(others);
  for (const TimerId id : timers_) {
    if (auto taken = scheduler_.timers_.Take(id)) held_timers_.push_back(*std::move(taken));
  }
}

void VirtualLoop::Resume() {
  if (!suspended_) return;
  suspended_ = false;
  for (Step& step : held_steps_) scheduler_.ready_.push_back({this, std::move(step)});
  held_steps_.clear();
  for (TimerQueue::Taken& held : held_timers_) scheduler_.timers_.Put(std::move(held));
  held_timers_.clear();
}

void VirtualLoop::Discard() {
  if (discarding()) return;
  set_discarding(true);
  // Steps may own what sets or cancels timers when it is destroyed: out of the members first.
  auto held_timers = std::exchange(held_timers_, {});
  auto held_steps = std::exchange(held_steps_, {});
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
  held_steps.clear();
  held_timers.clear();
  DiscardScopes();
}

}  // namespace csinative::async
