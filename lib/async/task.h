// SPDX-License-Identifier: Apache-2.0
//
// Task<T>: a lazy coroutine. It runs when awaited, or when given to a Scope, and only once. It
// inherits its context (loop and cancellation) from whoever awaits it. Loop only.
//
// Parameters of a coroutine are values (or services that outlive the scope); a lambda that is a
// coroutine captures nothing. Destroying a task that has started and not finished aborts, unless
// the loop is discarding.
#pragma once

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/async/cancel.h"
#include "lib/async/event_loop.h"

namespace csinative::async {

// What a running task knows about its surroundings. Both outlive the task.
struct TaskContext {
  EventLoop* loop = nullptr;
  CancelSource* cancel = nullptr;
};

namespace internal {

struct PromiseBase {
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept {
      return self.promise().continuation;
    }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  TaskContext context;
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr error;
  bool started = false;
};

template <typename T>
struct Promise : PromiseBase {
  std::coroutine_handle<Promise> get_return_object() {
    return std::coroutine_handle<Promise>::from_promise(*this);
  }
  template <typename U = T>
    requires std::is_convertible_v<U&&, T>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T Take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
  std::optional<T> value;
};

template <>
struct Promise<void> : PromiseBase {
  std::coroutine_handle<Promise> get_return_object() {
    return std::coroutine_handle<Promise>::from_promise(*this);
  }
  void return_void() noexcept {}
  void Take() {
    if (error) std::rethrow_exception(error);
  }
};

template <typename P>
concept TaskPromise = std::is_base_of_v<PromiseBase, P>;

}  // namespace internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Handle handle) : handle_(handle) {}  // NOLINT: from get_return_object
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      Destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { Destroy(); }

  class Awaiter {
   public:
    Awaiter(Handle handle, CancelSource* cancel) : handle_(handle), cancel_(cancel) {}
    bool await_ready() const noexcept { return false; }
    template <internal::TaskPromise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept {
      promise_type& promise = handle_.promise();
      promise.context = parent.promise().context;
      if (cancel_ != nullptr) promise.context.cancel = cancel_;
      promise.continuation = parent;
      promise.started = true;
      return handle_;
    }
    T await_resume() { return handle_.promise().Take(); }

   private:
    Handle handle_;
    CancelSource* cancel_;
  };

  Awaiter operator co_await() && { return Awaiter(handle_, nullptr); }

  // Awaits the task under another cancellation source, which must outlive the wait.
  Awaiter Under(CancelSource& cancel) && { return Awaiter(handle_, &cancel); }

 private:
  void Destroy() {
    if (!handle_) return;
    const internal::PromiseBase& promise = handle_.promise();
    if (promise.started && !handle_.done() && !promise.context.loop->discarding()) {
      std::fprintf(stderr, "a running task was destroyed\n");
      std::abort();
    }
    std::exchange(handle_, nullptr).destroy();
  }

  Handle handle_;
};

// co_await CurrentContext(): the context of the task that asks. Does not suspend.
struct CurrentContext {
  bool await_ready() const noexcept { return false; }
  template <internal::TaskPromise P>
  bool await_suspend(std::coroutine_handle<P> self) noexcept {
    context = self.promise().context;
    return false;
  }
  TaskContext await_resume() const noexcept { return context; }
  TaskContext context;
};

// co_await CancellationStatus(): Ok, or the reason why this task should end. Does not suspend.
struct CancellationStatus {
  bool await_ready() const noexcept { return false; }
  template <internal::TaskPromise P>
  bool await_suspend(std::coroutine_handle<P> self) noexcept {
    cancel = self.promise().context.cancel;
    return false;
  }
  Status await_resume() const { return cancel->reason(); }
  CancelSource* cancel = nullptr;
};

}  // namespace csinative::async
