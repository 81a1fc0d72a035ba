// SPDX-License-Identifier: Apache-2.0
//
// Blocking system calls run elsewhere: `co_await Blocking(executor, fn)`. Production uses a small
// bounded thread pool, virtual time runs the function as a step of the loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/async/completion.h"

namespace csinative::async {

class BlockingExecutor {
 public:
  virtual ~BlockingExecutor() = default;
  // Loop only. Runs `work` once, on any thread, in no promised order.
  virtual void Submit(UniqueFunction<void()> work) = 0;
};

// At most `max_threads` threads, started when needed. Destruction waits for work in progress and
// drops what has not started.
class ThreadPool final : public BlockingExecutor {
 public:
  explicit ThreadPool(size_t max_threads) : max_threads_(max_threads) {}
  ~ThreadPool() override;
  void Submit(UniqueFunction<void()> work) override;

 private:
  void Work();

  const size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<UniqueFunction<void()>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

// Runs work as a step of the loop, so that virtual time stays deterministic.
class InlineExecutor final : public BlockingExecutor {
 public:
  explicit InlineExecutor(EventLoop& loop) : loop_(loop) {}
  void Submit(UniqueFunction<void()> work) override { loop_.Post(std::move(work)); }

 private:
  EventLoop& loop_;
};

// Returns what fn returns (a Status or a Result). When the caller is cancelled it continues with
// the reason, while fn, which owns all it uses, still runs to its end on the pool.
template <typename F>
Task<std::invoke_result_t<F&>> Blocking(BlockingExecutor& executor, F fn) {
  using T = std::invoke_result_t<F&>;
  co_return co_await FromCallback<T>([&executor, f = std::move(fn)](Completer<T> done) mutable {
    executor.Submit([done, f = std::move(f)]() mutable { done(f()); });
  });
}

}  // namespace csinative::async
