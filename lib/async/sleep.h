// SPDX-License-Identifier: Apache-2.0
//
// Waiting for time to pass. Loop only.
#pragma once

#include "lib/async/task.h"

namespace csinative::async {

// co_await SleepUntil(t): Ok at or after t, or the reason of a cancellation before that.
class SleepUntil final : private CancelHook {
 public:
  explicit SleepUntil(MonotonicTime when) : when_(when) {}

  bool await_ready() const noexcept { return false; }
  template <internal::TaskPromise P>
  bool await_suspend(std::coroutine_handle<P> self) {
    return Suspend(self, self.promise().context);
  }
  Status await_resume() { return std::move(result_); }

 private:
  bool Suspend(std::coroutine_handle<> self, TaskContext context) {
    if (context.cancel->cancelled()) {
      result_ = context.cancel->reason();
      return false;
    }
    self_ = self;
    loop_ = context.loop;
    timer_ = ScopedTimer(*loop_, when_, [this] {
      Unlink();
      self_.resume();
    });
    context.cancel->Link(this);
    return true;
  }
  void OnCancel(const Status& reason) override {
    timer_.Cancel();
    result_ = reason;
    loop_->Post([this] { self_.resume(); });
  }

  MonotonicTime when_;
  EventLoop* loop_ = nullptr;
  std::coroutine_handle<> self_;
  ScopedTimer timer_;
  Status result_;
};

// A duration of zero or less still lets other steps of the loop run first.
inline Task<Status> Sleep(Duration duration) {
  TaskContext context = co_await CurrentContext();
  co_return co_await SleepUntil(context.loop->Now() + duration);
}

// co_await Yield(): lets everything that is queued on the loop run first. Loops over many items do
// this every 100.
struct Yield {
  bool await_ready() const noexcept { return false; }
  template <internal::TaskPromise P>
  void await_suspend(std::coroutine_handle<P> self) {
    self.promise().context.loop->Post([self] { self.resume(); });
  }
  void await_resume() const noexcept {}
};

}  // namespace csinative::async
