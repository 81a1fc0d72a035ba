// SPDX-License-Identifier: Apache-2.0
//
// Claims that the driver called impossible: they are left alone for a while (provisioner 12.3).
// In memory only. Loop only.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "lib/base/clock.h"

namespace csinative::provisioner {

class InfeasibleClaims {
 public:
  // sig-storage-lib-external-provisioner, NewProvisionController: the slow set is made before the
  // back-off options apply, so the retention is always five minutes.
  static constexpr Duration kRetention = std::chrono::minutes(5);

  explicit InfeasibleClaims(const Clock& clock) : clock_(clock) {}

  // An existing entry stays as it is.
  void Add(const std::string& uid, const std::string& class_uid);
  // Whether the claim has to wait. A class that was replaced sets it free.
  bool MustWait(const std::string& uid, const std::string& class_uid);
  bool Has(const std::string& uid) const { return entries_.contains(uid); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    MonotonicTime since;
    std::string class_uid;
  };

  const Clock& clock_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace csinative::provisioner
