// SPDX-License-Identifier: Apache-2.0
//
// The process_* families (common 9.5), read from /proc when /metrics is asked for. Loop only.
#pragma once

#include <string>

#include "lib/base/clock.h"
#include "lib/metrics/registry.h"

namespace csinative::metrics {

struct ProcessCollectorOptions {
  std::string root;  // prefix for /proc, for tests
  // In front of the help of process_start_time_seconds: "[ALPHA] ", or "" in csi-provisioner
  // (common 9.4).
  std::string start_time_help_prefix = "[ALPHA] ";
  // The livenessprobe exposes the start time alone.
  bool start_time_only = false;
};

// Adds the families to registry. What cannot be read is left out; the start time falls back to the
// clock's time, which is then the moment of this call.
void AddProcessCollector(Registry& registry, const Clock& clock,
                         ProcessCollectorOptions options = {});

// Boot time plus start ticks, in seconds since 1970; the clock's time when /proc does not tell.
double ProcessStartTime(const std::string& root, const Clock& clock);

}  // namespace csinative::metrics
