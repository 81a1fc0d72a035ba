// SPDX-License-Identifier: Apache-2.0
//
// What /debug says of the volumes of this node: each operation that runs or waits to be tried
// again, and each volume of a pod that waits to be attached. Loop only.
#pragma once

#include "cmd/volumemanager/volume_manager.h"
#include "lib/sidecar/debug_report.h"

namespace csinative::volumemanager {

void AddVolumes(const VolumeManager& manager, sidecar::DebugReport* report);

}  // namespace csinative::volumemanager
