// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/failure_memory.h"

namespace csinative::kube {

void FailureMemory::Remember(const std::string& item, std::string_view text, MonotonicTime when) {
  Forget(item);
  if (entries_.size() == kMaxFailures) {
    index_.erase(entries_.back().item);
    entries_.pop_back();
  }
  entries_.push_front({item, {std::string(text.substr(0, kMaxText)), when}});
  index_.emplace(entries_.front().item, entries_.begin());
}

void FailureMemory::Forget(const std::string& item) {
  const auto found = index_.find(item);
  if (found == index_.end()) return;
  const auto entry = found->second;
  index_.erase(found);
  entries_.erase(entry);
}

std::optional<Failure> FailureMemory::Find(const std::string& item) const {
  const auto found = index_.find(item);
  if (found == index_.end()) return std::nullopt;
  return found->second->failure;
}

}  // namespace csinative::kube
