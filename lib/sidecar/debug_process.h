// SPDX-License-Identifier: Apache-2.0
//
// What /debug (lib/serve/debug_page.h) says of every program, also of one without an API client.
// Loop only.
#pragma once

#include "lib/base/clock.h"
#include "lib/csi/observed_channel.h"
#include "lib/serve/debug_page.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

// With the program's name, version, time and age.
serve::DebugSnapshot NewDebugSnapshot(Process& process);

void AddDebugCalls(const csi::ObservedChannel::Calls& calls, MonotonicTime now,
                   serve::DebugSnapshot* snapshot);

}  // namespace csinative::sidecar
