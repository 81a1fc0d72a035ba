// SPDX-License-Identifier: Apache-2.0
//
// --automaxprocs: caps the number of threads by the CPU quota of the control group (common 22.1).
// The side effect happens while the flag is parsed, so its log lines come before logging is
// configured. Start-up only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/log/logger.h"

namespace csinative::cli {

class AutoMaxProcs {
 public:
  struct Options {
    std::string root;  // prefix for /proc and /sys, for tests
    // GOMAXPROCS from the environment; when set, even to "", the limit is left alone.
    std::optional<std::string> gomaxprocs;
  };

  // Reads the environment.
  explicit AutoMaxProcs(log::Logger log);
  AutoMaxProcs(log::Logger log, Options options);

  // One occurrence of the flag: "" and true enable, false undoes, anything else is refused.
  Status Set(std::string_view value);
  // The cap in threads while enabled and a quota exists.
  std::optional<int> limit() const { return limit_; }

 private:
  Status Enable();

  const log::Logger log_;
  const Options options_;
  bool enabled_ = false;
  std::optional<int> limit_;
};

// CPU quota of this process's control group in CPUs (version 2 or 1); nullopt when unlimited.
Result<std::optional<double>> CgroupCpuQuota(const std::string& root);

}  // namespace csinative::cli
