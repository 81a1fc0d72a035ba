// SPDX-License-Identifier: Apache-2.0
//
// Owner of running tasks. Every task is awaited or given to a scope; a scope is joined before its
// owner dies. Make it the last member of a class, so that it is destroyed first. Loop only.
#pragma once

#include <cstddef>

#include "lib/async/cancel.h"
#include "lib/async/task.h"
#include "lib/async/waiter.h"

namespace csinative::async {

class Scope {
 public:
  // `parent`, if given, cancels this scope too and must outlive it.
  explicit Scope(EventLoop& loop, CancelSource* parent = nullptr);
  // REQUIRES: empty(), or the loop is discarding (the frames are then destroyed here).
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Starts the task at the next step of the loop.
  void Spawn(Task<void> task);
  // Asks all tasks, present and future, to end.
  void Cancel(Status reason = CancelledError()) { cancel_.Cancel(std::move(reason)); }
  // Waits until no task is left. Not cut short by cancellation of the caller.
  Task<void> Join();
  // Cancel and Join.
  Task<void> Close();

  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }
  CancelSource& cancel_source() { return cancel_; }
  EventLoop& loop() const { return loop_; }

 private:
  friend class EventLoop;
  struct Root;

  static Root RunRoot(Scope* scope, Task<void> task);
  void Unlink(void* root_promise);
  // Returns false if there was none.
  bool DestroyOneFrame();

  EventLoop& loop_;
  CancelSource cancel_;
  WaiterList joiners_;
  void* first_ = nullptr;  // Root::promise_type, doubly linked
  void* last_ = nullptr;
  size_t size_ = 0;
  Scope* prev_in_loop_ = nullptr;
  Scope* next_in_loop_ = nullptr;
};

}  // namespace csinative::async
