// SPDX-License-Identifier: Apache-2.0
//
// Time limits and shields around a task. Loop only.
#pragma once

#include <type_traits>
#include <utility>

#include "lib/async/task.h"

namespace csinative::async {

// Runs the task; at `when` its awaitables end with kDeadlineExceeded ("context deadline exceeded").
// The task itself decides what it returns then, as with any cancellation.
template <typename T>
Task<T> WithDeadline(MonotonicTime when, Task<T> task) {
  TaskContext context = co_await CurrentContext();
  CancelSource limited(context.cancel);
  limited.LimitDeadline(when);
  ScopedTimer timer;
  if (when <= context.loop->Now()) {
    limited.Cancel(DeadlineExceededError());
  } else {
    timer =
        ScopedTimer(*context.loop, when, [&limited] { limited.Cancel(DeadlineExceededError()); });
  }
  if constexpr (std::is_void_v<T>) {
    co_await std::move(task).Under(limited);
  } else {
    co_return co_await std::move(task).Under(limited);
  }
}

// As WithDeadline, from now on. Zero and less: the limit has passed already.
template <typename T>
Task<T> WithTimeout(Duration timeout, Task<T> task) {
  TaskContext context = co_await CurrentContext();
  // A huge timeout (Go's longest duration) must not overflow the clock.
  const MonotonicTime now = context.loop->Now();
  const MonotonicTime when =
      timeout > MonotonicTime::max() - now ? MonotonicTime::max() : now + timeout;
  if constexpr (std::is_void_v<T>) {
    co_await WithDeadline(when, std::move(task));
  } else {
    co_return co_await WithDeadline(when, std::move(task));
  }
}

// Runs the task deaf to the caller's cancellation: for clean-up that must survive it. Give it a
// time limit inside.
template <typename T>
Task<T> Shielded(Task<T> task) {
  CancelSource own;
  if constexpr (std::is_void_v<T>) {
    co_await std::move(task).Under(own);
  } else {
    co_return co_await std::move(task).Under(own);
  }
}

}  // namespace csinative::async
