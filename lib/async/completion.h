// SPDX-License-Identifier: Apache-2.0
//
// Bridge from callback interfaces to tasks:
//
//   Result<int> r = co_await FromCallback<Result<int>>([&](Completer<Result<int>> done) {
//     Handle h = StartSomething(..., [done](int v) { done(v); });
//     return AbortHook([h] { h.Abort(); });   // or nothing to call on cancellation
//   });
//
// The completer may be called from any thread, or never; only the first call counts. The task is
// resumed by a step of its loop, never inside the call. When the task is cancelled, the hook is
// called and the task continues with the reason at once; a later completion goes nowhere. So the
// operation must own all memory it uses.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/async/task.h"

namespace csinative::async {

using AbortHook = UniqueFunction<void()>;

namespace internal {

template <typename T>
struct CompletionState {
  explicit CompletionState(EventLoop* l) : loop(l) {}
  EventLoop* loop;
  std::coroutine_handle<> waiter;  // null once resumed or destroyed
  std::optional<T> value;
};

}  // namespace internal

// Copyable handle to one pending completion. The loop must outlive all calls.
template <typename T>
class Completer {
 public:
  explicit Completer(std::shared_ptr<internal::CompletionState<T>> state)
      : state_(std::move(state)) {}

  void operator()(T value) const {
    state_->loop->Post([state = state_, boxed = std::make_unique<T>(std::move(value))] {
      if (!state->waiter || state->value) return;
      state->value.emplace(std::move(*boxed));
      std::exchange(state->waiter, nullptr).resume();
    });
  }

 private:
  std::shared_ptr<internal::CompletionState<T>> state_;
};

// T is constructible from a Status (Status, Result<X>).
template <typename T, typename Start>
class CallbackAwaiter final : private CancelHook {
 public:
  explicit CallbackAwaiter(Start start) : start_(std::move(start)) {}
  CallbackAwaiter(CallbackAwaiter&&) = delete;
  ~CallbackAwaiter() {
    if (state_) state_->waiter = nullptr;
  }

  bool await_ready() const noexcept { return false; }
  template <internal::TaskPromise P>
  bool await_suspend(std::coroutine_handle<P> self) {
    TaskContext context = self.promise().context;
    if (context.cancel->cancelled()) {
      early_.emplace(context.cancel->reason());
      return false;
    }
    state_ = std::make_shared<internal::CompletionState<T>>(context.loop);
    state_->waiter = self;
    context.cancel->Link(this);
    if constexpr (std::is_void_v<std::invoke_result_t<Start&, Completer<T>>>) {
      start_(Completer<T>(state_));
    } else {
      abort_ = start_(Completer<T>(state_));
    }
    return true;
  }
  T await_resume() {
    Unlink();
    if (early_) return std::move(*early_);
    return std::move(*state_->value);
  }

 private:
  void OnCancel(const Status& reason) override {
    if (abort_) abort_();
    Completer<T> complete(state_);
    complete(T(reason));
  }

  Start start_;
  AbortHook abort_;
  std::optional<T> early_;
  std::shared_ptr<internal::CompletionState<T>> state_;
};

// `start` is called once, when the task suspends; it returns an AbortHook, or nothing.
template <typename T, typename Start>
CallbackAwaiter<T, Start> FromCallback(Start start) {
  return CallbackAwaiter<T, Start>(std::move(start));
}

}  // namespace csinative::async
