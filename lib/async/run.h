// SPDX-License-Identifier: Apache-2.0
//
// Running one task to its end from plain code: mains and tests.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "lib/async/real_loop.h"
#include "lib/async/scope.h"
#include "lib/async/virtual_loop.h"

namespace csinative::async {

namespace internal {

template <typename T>
struct TaskOutcome {
  std::optional<T> value;
  bool done() const { return value.has_value(); }
  T Take() { return std::move(*value); }
};

template <>
struct TaskOutcome<void> {
  bool finished = false;
  bool done() const { return finished; }
  void Take() {}
};

// `out` and what `finished` uses outlive the task: the caller waits for it.
template <typename T>
Task<void> StoreOutcome(Task<T> task, TaskOutcome<T>* out, UniqueFunction<void()> finished) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(task);
    out->finished = true;
  } else {
    out->value.emplace(co_await std::move(task));
  }
  finished();
}

}  // namespace internal

// Runs the loop until the task has ended. Other tasks of the loop keep their state.
template <typename T>
T RunTask(RealLoop& loop, Task<T> task) {
  Scope scope(loop);
  internal::TaskOutcome<T> outcome;
  scope.Spawn(internal::StoreOutcome(std::move(task), &outcome, [&loop] { loop.Stop(); }));
  while (!scope.empty()) loop.Run();
  return outcome.Take();
}

// Steps virtual time until the task has ended. Aborts the program when nothing is left to run, or
// a virtual day has passed, before that: the task waits for something that never comes.
template <typename T>
T RunTask(VirtualScheduler& scheduler, EventLoop& loop, Task<T> task) {
  Scope scope(loop);
  internal::TaskOutcome<T> outcome;
  scope.Spawn(internal::StoreOutcome(std::move(task), &outcome, [] {}));
  if (!scheduler.RunUntil([&] { return scope.empty(); })) {
    std::fprintf(stderr, "RunTask: the task never ended\n");
    std::abort();
  }
  return outcome.Take();
}

}  // namespace csinative::async
