// SPDX-License-Identifier: Apache-2.0
//
// What the failure of a call to a driver says about a volume that the call was to attach or mount
// (attacher 10.4, volumemanager-csi 5.4). Pure; any thread.
#pragma once

#include "lib/base/status.h"

namespace csinative::csi {

// Whether the driver has ended with it, and nothing was done. Otherwise it may have been done, or
// the driver may still be at it. REQUIRES: not ok.
bool IsFinalAnswer(const Status& failure);

}  // namespace csinative::csi
