// SPDX-License-Identifier: Apache-2.0
//
// What csi-attacher finds out about its driver before it starts to work (attacher 3, steps 15 and
// 16). Loop only.
#pragma once

#include <string>

#include "cmd/attacher/driver_features.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/rpc/channel.h"

namespace csinative::attacher {

// Plugin capabilities and, of a driver with a controller service, its controller capabilities; both
// calls share one second. `name` is the driver's. On failure *failure is what upstream's log says
// of the call that failed. Channel and failure outlive the task.
async::Task<Result<DriverFeatures>> ReadDriverFeatures(rpc::Channel* channel, std::string name,
                                                       std::string* failure);

}  // namespace csinative::attacher
