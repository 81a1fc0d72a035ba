// SPDX-License-Identifier: Apache-2.0
#include "lib/async/waiter.h"

#include <utility>

namespace csinative::async {

Waiter::~Waiter() {
  if (queued_) list_->Remove(this);
}

bool Waiter::Suspend(std::coroutine_handle<> self, TaskContext context) {
  if (cancellable_ && context.cancel->cancelled()) {
    result_ = context.cancel->reason();
    return false;
  }
  self_ = self;
  loop_ = context.loop;
  list_->Append(this);
  if (cancellable_) context.cancel->Link(this);
  return true;
}

void Waiter::Wake(Status result) {
  Unlink();
  list_->Remove(this);
  result_ = std::move(result);
  loop_->Post([this] { self_.resume(); });
}

void Waiter::OnCancel(const Status& reason) { Wake(reason); }

WaiterList::~WaiterList() {
  // Only while discarding can tasks still wait: their frames go later, and must not look back.
  while (first_ != nullptr) Remove(first_);
}

void WaiterList::Append(Waiter* waiter) {
  waiter->queued_ = true;
  waiter->prev_ = last_;
  waiter->next_ = nullptr;
  (last_ ? last_->next_ : first_) = waiter;
  last_ = waiter;
}

void WaiterList::Remove(Waiter* waiter) {
  if (!waiter->queued_) return;
  waiter->queued_ = false;
  (waiter->prev_ ? waiter->prev_->next_ : first_) = waiter->next_;
  (waiter->next_ ? waiter->next_->prev_ : last_) = waiter->prev_;
}

bool WaiterList::WakeOne() {
  if (first_ == nullptr) return false;
  first_->Wake(Status());
  return true;
}

void WaiterList::WakeAll() {
  while (WakeOne()) {
  }
}

}  // namespace csinative::async
