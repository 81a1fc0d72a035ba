// SPDX-License-Identifier: Apache-2.0
//
// Time to finish for what is under way when its caller is cancelled. Loop only.
#pragma once

#include <algorithm>
#include <utility>

#include "lib/async/task.h"

namespace csinative::async {

namespace internal {

// Cancelled `grace` after its parent, or together with it when the parent's time limit is over.
class LateCancel final : private CancelHook {
 public:
  LateCancel(TaskContext context, Duration grace) : loop_(*context.loop), grace_(grace) {
    limit_ = context.cancel->deadline();
    if (limit_) source_.LimitDeadline(*limit_);
    if (context.cancel->cancelled()) {
      source_.Cancel(context.cancel->reason());
    } else {
      context.cancel->Link(this);
    }
  }
  CancelSource& source() { return source_; }

 private:
  void OnCancel(const Status& reason) override {
    if (!IsCancelled(reason) || grace_ <= Duration::zero()) {
      source_.Cancel(reason);
      return;
    }
    const MonotonicTime end = loop_.Now() + grace_;
    timer_ = ScopedTimer(loop_, limit_ ? std::min(*limit_, end) : end,
                         [this, reason] { source_.Cancel(reason); });
  }

  EventLoop& loop_;
  const Duration grace_;
  std::optional<MonotonicTime> limit_;
  CancelSource source_;
  ScopedTimer timer_;
};

}  // namespace internal

// Runs the task. A cancellation of the caller reaches it `grace` later; the caller's time limits
// stay what they are. A caller that is cancelled already: at once.
template <typename T>
Task<T> WithGrace(Duration grace, Task<T> task) {
  internal::LateCancel late(co_await CurrentContext(), grace);
  co_return co_await std::move(task).Under(late.source());
}

}  // namespace csinative::async
