// SPDX-License-Identifier: Apache-2.0
//
// The shared end of all loggers of one process: format, verbosity, clock and output. There is one
// for each Process object, none is global. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/log/output.h"
#include "lib/log/value.h"
#include "lib/log/vmodule.h"

namespace csinative::log {

enum class Format { kText, kJson };
enum class Severity { kInfo, kWarning, kError, kFatal };

// One record before it is laid out. Everything is borrowed for the time of the call.
struct Record {
  Severity severity = Severity::kInfo;
  bool structured = true;  // false: text is written as it is, without pairs (common 5.8)
  int level = 0;
  std::source_location location;
  std::string_view text;
  const Value* error = nullptr;  // of an error call; null when there was no error
  std::string_view name;         // joined logger names
  std::span<const Pair> values;  // accumulated by the logger
  std::span<const Pair> pairs;   // of the call
};

class Backend {
 public:
  struct Options {
    const Clock* clock = &SystemClock();  // outlives the backend
    int pid = 0;                          // 0: this process
  };

  // output may be shared, so that a test can read it. Starts as text at verbosity 0 (common 5.1).
  explicit Backend(std::shared_ptr<Output> output);
  Backend(std::shared_ptr<Output> output, Options options);
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  void SetFormat(Format format) { format_.store(format, std::memory_order_relaxed); }
  void SetVerbosity(int level) { verbosity_.store(level, std::memory_order_relaxed); }
  int verbosity() const { return verbosity_.load(std::memory_order_relaxed); }
  void SetVmodule(std::vector<VmoduleRule> rules);

  // Whether an info record of this level from this place is written.
  bool Enabled(int level, const std::source_location& location) const {
    return level <= verbosity() ||
           (has_vmodule_.load(std::memory_order_relaxed) && EnabledByModule(level, location));
  }

  // Lays the record out and writes it. Does not look at verbosity.
  void Write(const Record& record);

 private:
  bool EnabledByModule(int level, const std::source_location& location) const;

  const std::shared_ptr<Output> output_;
  const Clock& clock_;
  const int pid_;
  std::atomic<Format> format_ = Format::kText;
  std::atomic<int> verbosity_ = 0;
  std::atomic<bool> has_vmodule_ = false;
  mutable std::mutex mutex_;
  std::vector<VmoduleRule> vmodule_;  // guarded by mutex_
};

}  // namespace csinative::log
