// SPDX-License-Identifier: Apache-2.0
#include "lib/async/cancel.h"

#include <cassert>
#include <utility>

namespace csinative::async {

void CancelHook::Unlink() {
  if (source_ == nullptr) return;
  (prev_ ? prev_->next_ : source_->first_) = next_;
  (next_ ? next_->prev_ : source_->last_) = prev_;
  source_ = nullptr;
  prev_ = next_ = nullptr;
}

CancelSource::CancelSource(CancelSource* parent) {
  if (parent == nullptr) return;
  deadline_ = parent->deadline_;
  if (parent->cancelled()) {
    reason_ = parent->reason_;
  } else {
    parent->Link(this);
  }
}

CancelSource::~CancelSource() {
  // Hooks that outlive their source (frames destroyed in another order while discarding) must not
  // keep a pointer to it.
  while (first_ != nullptr) first_->Unlink();
}

void CancelSource::Cancel(Status reason) {
  assert(!reason.ok());
  if (cancelled()) return;
  reason_ = std::move(reason);
  const Status kept = reason_;
  while (first_ != nullptr) {
    CancelHook* hook = first_;
    hook->Unlink();
    hook->OnCancel(kept);
  }
}

void CancelSource::OnCancel(const Status& reason) { Cancel(reason); }

void CancelSource::LimitDeadline(MonotonicTime when) {
  if (!deadline_ || when < *deadline_) deadline_ = when;
}

void CancelSource::Link(CancelHook* hook) {
  assert(!cancelled() && hook->source_ == nullptr);
  hook->source_ = this;
  hook->prev_ = last_;
  hook->next_ = nullptr;
  (last_ ? last_->next_ : first_) = hook;
  last_ = hook;
}

}  // namespace csinative::async
