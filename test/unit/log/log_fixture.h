// SPDX-License-Identifier: Apache-2.0
//
// A logger whose clock stands still and whose records are kept.
#pragma once

#include <cstdlib>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/log/logger.h"

namespace csinative::log {

class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(WallTime now) : now_(now) {}
  MonotonicTime Now() const override { return {}; }
  WallTime WallNow() const override { return now_; }

 private:
  const WallTime now_;
};

// 2006-01-02 15:04:05.067890999 UTC.
inline constexpr WallTime kTestTime{std::chrono::nanoseconds(1136214245067890999)};

// A place in this file.
inline std::source_location CallerLocation() { return std::source_location::current(); }

class TestLog {
 public:
  explicit TestLog(Format format = Format::kText, WallTime now = kTestTime) : clock_(now) {
    // The header shows local time.
    ::setenv("TZ", "UTC", /*overwrite=*/1);
    log = NewLogger(output, {.clock = &clock_, .pid = 4711});
    log.backend()->SetFormat(format);
  }

  // What follows the header of the only text record; then forgets it.
  std::string Body() {
    const std::string record = Take();
    const size_t end = record.find("] ");
    return end == std::string::npos ? "no header: " + record : record.substr(end + 2);
  }
  // The only JSON record without ts and caller; then forgets it.
  std::string Remainder() {
    std::string record = Take();
    const size_t caller = record.find(",\"caller\":\"");
    if (!record.starts_with("{\"ts\":") || caller == std::string::npos) return "odd: " + record;
    const size_t comma = record.find(',');
    const size_t end = record.find("\",", caller + 11);
    return record.substr(comma + 1, caller - comma) + record.substr(end + 2);
  }
  // The only record; then forgets it.
  std::string Take() {
    const auto records = output->Records();
    output->Clear();
    if (records.size() != 1) return "records: " + std::to_string(records.size());
    return records[0];
  }

  const std::shared_ptr<CollectingOutput> output = std::make_shared<CollectingOutput>();
  Logger log;

 private:
  StoppedClock clock_;
};

}  // namespace csinative::log
