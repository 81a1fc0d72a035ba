// SPDX-License-Identifier: Apache-2.0
//
// Why items failed most recently, for people who look. Bounded, however many items fail: only the
// latest kMaxFailures are known, and of a long text the beginning. Loop only.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/base/clock.h"

namespace csinative::kube {

struct Failure {
  std::string text;
  MonotonicTime when{};
};

class FailureMemory {
 public:
  static constexpr size_t kMaxFailures = 1000;
  static constexpr size_t kMaxText = 1024;  // bytes

  void Remember(const std::string& item, std::string_view text, MonotonicTime when);
  void Forget(const std::string& item);
  // A copy.
  std::optional<Failure> Find(const std::string& item) const;

 private:
  struct Entry {
    std::string item;
    Failure failure;
  };
  std::list<Entry> entries_;                                                // the latest first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;  // keys in entries_
};

}  // namespace csinative::kube
