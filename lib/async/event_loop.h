// SPDX-License-Identifier: Apache-2.0
//
// The event loop all controller logic runs on: a queue of steps and a set of timers. One interface
// for the real loop (real_loop.h) and the virtual-time loop of tests and simulation
// (virtual_loop.h).
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/unique_function.h"

namespace csinative::async {

class Scope;

class EventLoop : public Clock {
 public:
  using Step = UniqueFunction<void()>;
  using TimerId = uint64_t;  // never 0 for a pending timer
  using ExceptionHandler = UniqueFunction<void(std::exception_ptr)>;

  EventLoop() = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Any thread. Runs step on the loop after all steps posted before it by the same thread.
  // Dropped while discarding.
  virtual void Post(Step step) = 0;

  // Loop only. Runs step at or after `when`; timers of one instant run in the order they were set.
  virtual TimerId PostAt(MonotonicTime when, Step step) = 0;
  // Loop only. No effect on a timer that ran or was cancelled.
  virtual void CancelTimer(TimerId id) = 0;

  // True while frames are being thrown away (a simulated crash, or the end of a test): destructors
  // then have no effects and make no claims.
  bool discarding() const { return discarding_; }

  // Where an exception that leaves a task goes. Default: message on stderr, abort.
  void set_exception_handler(ExceptionHandler handler) { on_exception_ = std::move(handler); }
  void EscapedException(std::exception_ptr error);

 protected:
  // Destroys the frames of all scopes of this loop. The derived loop drops its queue and timers
  // first: they point into frames.
  void DiscardScopes();
  void set_discarding(bool discarding) { discarding_ = discarding; }

 private:
  friend class Scope;
  bool discarding_ = false;
  Scope* scopes_ = nullptr;  // list of all live scopes, linked through Scope
  ExceptionHandler on_exception_;
};

// Cancels its timer on destruction. Loop only.
class ScopedTimer {
 public:
  ScopedTimer() = default;
  ScopedTimer(EventLoop& loop, MonotonicTime when, EventLoop::Step step)
      : loop_(&loop), id_(loop.PostAt(when, std::move(step))) {}
  ScopedTimer(ScopedTimer&& other) noexcept
      : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
  ScopedTimer& operator=(ScopedTimer&& other) noexcept {
    if (this != &other) {
      Cancel();
      loop_ = std::exchange(other.loop_, nullptr);
      id_ = other.id_;
    }
    return *this;
  }
  ~ScopedTimer() { Cancel(); }

  void Cancel() {
    if (loop_ != nullptr && !loop_->discarding()) loop_->CancelTimer(id_);
    loop_ = nullptr;
  }

 private:
  EventLoop* loop_ = nullptr;
  EventLoop::TimerId id_ = 0;
};

}  // namespace csinative::async
