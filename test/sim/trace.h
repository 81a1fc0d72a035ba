// SPDX-License-Identifier: Apache-2.0
//
// What happened, in order, with virtual time: one line an event. The digest of all lines is the
// fingerprint of a run; the lines themselves are kept only when asked for. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"

namespace csinative::sim {

class Trace {
 public:
  // Borrowed: the clock. `sink`, if given, gets each line.
  Trace(const Clock& clock, std::function<void(std::string_view line)> sink)
      : clock_(clock), start_(clock.Now()), sink_(std::move(sink)) {}

  // "  1234.567890 driver CreateVolume pvc-1: ok"
  void Add(std::string_view who, std::string_view what);
  // FNV-1a of all lines so far.
  uint64_t digest() const { return digest_; }
  size_t lines() const { return lines_; }
  // The newest lines, for the report of a violation.
  const std::deque<std::string>& recent() const { return recent_; }

 private:
  const Clock& clock_;
  const MonotonicTime start_;
  const std::function<void(std::string_view)> sink_;
  uint64_t digest_ = 14695981039346656037ull;
  size_t lines_ = 0;
  std::deque<std::string> recent_;
};

}  // namespace csinative::sim
