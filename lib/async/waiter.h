// SPDX-License-Identifier: Apache-2.0
//
// A list of suspended tasks, woken in the order they came: what events, semaphores, channels and
// scopes are made of. Loop only.
#pragma once

#include <coroutine>

#include "lib/async/cancel.h"
#include "lib/async/task.h"

namespace csinative::async {

// One waiting task. Lives in the frame of the coroutine that waits.
class Waiter final : public CancelHook {
 public:
  Waiter(class WaiterList* list, bool cancellable) : list_(list), cancellable_(cancellable) {}
  ~Waiter();

  bool await_ready() const noexcept { return false; }
  template <internal::TaskPromise P>
  bool await_suspend(std::coroutine_handle<P> self) {
    return Suspend(self, self.promise().context);
  }
  // Ok when woken, else why the task was cancelled.
  Status await_resume() { return std::move(result_); }

 private:
  friend class WaiterList;
  bool Suspend(std::coroutine_handle<> self, TaskContext context);
  void Wake(Status result);
  void OnCancel(const Status& reason) override;

  WaiterList* list_;  // null once woken
  bool cancellable_;
  EventLoop* loop_ = nullptr;
  std::coroutine_handle<> self_;
  Status result_;
  bool queued_ = false;
  Waiter* prev_ = nullptr;
  Waiter* next_ = nullptr;
};

class WaiterList {
 public:
  WaiterList() = default;
  WaiterList(const WaiterList&) = delete;
  WaiterList& operator=(const WaiterList&) = delete;
  // REQUIRES: empty(), or the loop is discarding.
  ~WaiterList();

  // co_await list.Wait(): suspends until woken or cancelled.
  Waiter Wait() { return Waiter(this, true); }
  // The same, deaf to cancellation; the result is always Ok.
  Waiter WaitUncancellable() { return Waiter(this, false); }

  bool empty() const { return first_ == nullptr; }
  // Wakes the one that waits longest; false if there is none.
  bool WakeOne();
  void WakeAll();

 private:
  friend class Waiter;
  void Append(Waiter* waiter);
  void Remove(Waiter* waiter);

  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace csinative::async
