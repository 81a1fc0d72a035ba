// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/debug_process.h"

#include <chrono>

#include "lib/cli/version.h"
#include "lib/metrics/process_collector.h"

namespace csinative::sidecar {

serve::DebugSnapshot NewDebugSnapshot(Process& process) {
  serve::DebugSnapshot snapshot;
  snapshot.program = process.program_name();
  snapshot.version = std::string(cli::BuildVersion());
  snapshot.time = process.loop().WallNow();
  const auto since_epoch = std::chrono::duration<double>(snapshot.time.time_since_epoch());
  snapshot.uptime = std::chrono::duration_cast<Duration>(
      since_epoch - std::chrono::duration<double>(metrics::ProcessStartTime("", process.loop())));
  return snapshot;
}

void AddDebugCalls(const csi::ObservedChannel::Calls& calls, MonotonicTime now,
                   serve::DebugSnapshot* snapshot) {
  for (const csi::ObservedChannel::Running& call : calls) {
    serve::DebugSnapshot::Call& out = snapshot->calls.emplace_back();
    out.method = call.method;
    out.subject = call.subject;
    out.age = now - call.start;
    if (call.deadline) out.deadline_in = *call.deadline - now;
  }
}

}  // namespace csinative::sidecar
