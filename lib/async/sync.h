// SPDX-License-Identifier: Apache-2.0
//
// Event, Semaphore and Channel for tasks of one loop. Loop only. All waits end early with the
// reason of a cancellation.
#pragma once

#include <cassert>
#include <deque>
#include <utility>

#include "lib/async/waiter.h"
#include "lib/base/result.h"

namespace csinative::async {

// Manual-reset event.
class Event {
 public:
  bool is_set() const { return set_; }
  void Set() {
    set_ = true;
    waiters_.WakeAll();
  }
  void Reset() { set_ = false; }
  // A waiter that was woken by Set() returns Ok even if Reset() follows before it runs.
  Task<Status> Wait() {
    if (set_) co_return co_await CancellationStatus();
    co_return co_await waiters_.Wait();
  }

 private:
  bool set_ = false;
  WaiterList waiters_;
};

// Wakes whoever waits now; nothing is remembered. For "state changed, look again" loops.
class Signal {
 public:
  void NotifyAll() { waiters_.WakeAll(); }
  Waiter Wait() { return waiters_.Wait(); }

 private:
  WaiterList waiters_;
};

// Counting semaphore, first come first served.
class Semaphore {
 public:
  explicit Semaphore(size_t permits) : available_(permits) {}

  // On Ok the caller owns one permit.
  Task<Status> Acquire() {
    if (available_ > 0) {
      CSI_CO_RETURN_IF_ERROR(co_await CancellationStatus());
      if (available_ > 0) {
        --available_;
        co_return Status();
      }
    }
    co_return co_await waiters_.Wait();  // Release() hands its permit over
  }
  void Release() {
    if (!waiters_.WakeOne()) ++available_;
  }
  size_t available() const { return available_; }

 private:
  size_t available_;
  WaiterList waiters_;
};

// Releases a permit that was acquired. The semaphore outlives it.
class Permit {
 public:
  explicit Permit(Semaphore& semaphore) : semaphore_(semaphore) {}
  ~Permit() { semaphore_.Release(); }
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

 private:
  Semaphore& semaphore_;
};

// Unbounded first-in first-out channel with one or more readers.
template <typename T>
class Channel {
 public:
  // Ignored after Close().
  void Push(T item) {
    if (closed_) return;
    items_.push_back(std::move(item));
    waiters_.WakeOne();
  }
  // Readers get what is queued, then `end`.
  void Close(Status end) {
    assert(!end.ok());
    if (closed_) return;
    closed_ = true;
    end_ = std::move(end);
    waiters_.WakeAll();
  }
  Task<Result<T>> Pop() {
    while (items_.empty()) {
      if (closed_) co_return end_;
      Status woken = co_await waiters_.Wait();
      if (!woken.ok()) co_return woken;
    }
    T item = std::move(items_.front());
    items_.pop_front();
    co_return Result<T>(std::move(item));
  }
  size_t size() const { return items_.size(); }
  bool closed() const { return closed_; }

 private:
  std::deque<T> items_;
  WaiterList waiters_;
  bool closed_ = false;
  Status end_;
};

}  // namespace csinative::async
