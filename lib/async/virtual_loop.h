// SPDX-License-Identifier: Apache-2.0
//
// Event loops on virtual time, for tests and simulation. One scheduler holds the clock and any
// number of loops, one for each simulated process; it runs one step at a time, and jumps to the
// next timer when nothing is ready. Everything on one thread; nothing here is thread-safe.
#pragma once

#include <deque>
#include <vector>

#include "lib/async/event_loop.h"
#include "lib/async/timer_queue.h"

namespace csinative::async {

class VirtualLoop;

class VirtualScheduler {
 public:
  // Virtual monotonic time starts at one hour, wall time at 2024-01-01T00:00:00Z, so that a
  // subtraction never meets zero.
  VirtualScheduler();
  VirtualScheduler(const VirtualScheduler&) = delete;
  VirtualScheduler& operator=(const VirtualScheduler&) = delete;
  ~VirtualScheduler();

  MonotonicTime Now() const { return now_; }
  WallTime WallNow() const { return wall_start_ + (now_ - start_); }

  // Runs one step, after moving the clock to the next timer if nothing is ready and that timer is
  // not after `limit`. Returns false if there was nothing to do.
  bool Step(MonotonicTime limit = MonotonicTime::max());
  // Runs all that happens during the next `duration`; the clock ends exactly there.
  void Advance(Duration duration);
  // Runs what is ready now, without moving the clock.
  void Settle();
  // Steps until `done` returns true. False if nothing was left to do before that.
  template <typename Predicate>
  bool RunUntil(Predicate done, Duration limit = std::chrono::hours(24)) {
    const MonotonicTime end = now_ + limit;
    while (!done()) {
      if (!Step(end)) return false;
    }
    return true;
  }

 private:
  friend class VirtualLoop;
  struct Ready {
    VirtualLoop* loop;
    EventLoop::Step step;
  };

  MonotonicTime start_;
  MonotonicTime now_;
  WallTime wall_start_;
  std::deque<Ready> ready_;
  std::vector<VirtualLoop*> loops_;
  TimerQueue timers_;
};

class VirtualLoop final : public EventLoop {
 public:
  explicit VirtualLoop(VirtualScheduler& scheduler);
  // Discards what is left.
  ~VirtualLoop();

  MonotonicTime Now() const override { return scheduler_.Now(); }
  WallTime WallNow() const override { return scheduler_.WallNow(); }
  void Post(Step step) override;
  TimerId PostAt(MonotonicTime when, Step step) override;
  void CancelTimer(TimerId id) override;

  // A crash: drops all steps and timers of this loop and destroys all frames. The loop stays in
  // the discarding state: a restarted process gets a new loop.
  void Discard();

  // As SIGSTOP and SIGCONT: nothing of this loop runs in between; what was due meanwhile runs
  // afterwards, in order. Not from a step of this loop.
  void Suspend();
  void Resume();

 private:
  VirtualScheduler& scheduler_;
  bool suspended_ = false;
  std::vector<Step> held_steps_;
  std::vector<TimerQueue::Taken> held_timers_;
  std::vector<TimerId> timers_;  // pending ids of this loop, unordered, with stale entries
};

}  // namespace csinative::async
