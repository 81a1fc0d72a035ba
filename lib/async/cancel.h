// SPDX-License-Identifier: Apache-2.0
//
// Cooperative cancellation. A CancelSource belongs to a scope or to a time limit; each awaitable
// registers a CancelHook with the source of the task that waits. Loop only.
#pragma once

#include <optional>

#include "lib/base/clock.h"
#include "lib/base/status.h"

namespace csinative::async {

class CancelSource;

// A callback in a source's list. Deriving classes unregister by destruction, or by Unlink().
class CancelHook {
 public:
  CancelHook() = default;
  CancelHook(const CancelHook&) = delete;
  CancelHook& operator=(const CancelHook&) = delete;

  // Called once, after the hook was taken off the list. Must not resume a coroutine in place.
  virtual void OnCancel(const Status& reason) = 0;

  void Unlink();
  bool linked() const { return source_ != nullptr; }

 protected:
  ~CancelHook() { Unlink(); }

 private:
  friend class CancelSource;
  CancelSource* source_ = nullptr;
  CancelHook* prev_ = nullptr;
  CancelHook* next_ = nullptr;
};

// Cancelled at most once, with a reason: kCancelled, or kDeadlineExceeded from a time limit.
// A child is cancelled with its parent. The parent must outlive the child.
class CancelSource final : private CancelHook {
 public:
  explicit CancelSource(CancelSource* parent = nullptr);
  ~CancelSource();

  void Cancel(Status reason = CancelledError());
  bool cancelled() const { return !reason_.ok(); }
  // Ok until cancelled.
  const Status& reason() const { return reason_; }

  // The earliest known deadline of this source and its ancestors; says when Cancel will come.
  std::optional<MonotonicTime> deadline() const { return deadline_; }
  void LimitDeadline(MonotonicTime when);

  // REQUIRES: !cancelled() and hook not linked.
  void Link(CancelHook* hook);

 private:
  friend class CancelHook;
  void OnCancel(const Status& reason) override;

  Status reason_;
  std::optional<MonotonicTime> deadline_;
  CancelHook* first_ = nullptr;
  CancelHook* last_ = nullptr;
};

}  // namespace csinative::async
