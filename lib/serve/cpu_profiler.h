// SPDX-License-Identifier: Apache-2.0
//
// Samples what the threads of this process are doing: SIGPROF at each 10 ms of processor time, the
// interrupted stack by its frame pointers. One at a time in a process. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative::serve {

class CpuProfiler {
 public:
  // Room for `limit` of sampling on all processors; what comes later is counted as lost. kAborted
  // if another profiler is at work.
  static Result<std::unique_ptr<CpuProfiler>> Start(Duration limit);
  // Stops.
  ~CpuProfiler();
  CpuProfiler(const CpuProfiler&) = delete;
  CpuProfiler& operator=(const CpuProfiler&) = delete;

  // Stops, and returns what was sampled in pprof's format (profile.proto), not compressed.
  // Addresses are not symbolised: pprof does that with the executable.
  std::string Finish();

 private:
  CpuProfiler() = default;
  void Stop();

  bool running_ = true;
  WallTime started_wall_;
  MonotonicTime started_;
};

}  // namespace csinative::serve
