// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/infeasible_claims.h"

namespace csinative::provisioner {

void InfeasibleClaims::Add(const std::string& uid, const std::string& class_uid) {
  const MonotonicTime now = clock_.Now();
  // Entries of claims that never came back.
  std::erase_if(entries_, [&](const auto& item) { return now - item.second.since >= kRetention; });
  entries_.try_emplace(uid, Entry{now, class_uid});
}

bool InfeasibleClaims::MustWait(const std::string& uid, const std::string& class_uid) {
  auto it = entries_.find(uid);
  if (it == entries_.end()) return false;
  if (it->second.class_uid == class_uid && clock_.Now() - it->second.since < kRetention) {
    return true;
  }
  entries_.erase(it);
  return false;
}

}  // namespace csinative::provisioner
