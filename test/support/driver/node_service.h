// SPDX-License-Identifier: Apache-2.0
//
// csi.v1.Node of the sample driver: what a request must have, one operation a volume at a time, the
// work itself is node_volume.h. Volumes are read from disk for each call, so that a node instance
// sees what a controller instance on the same folder has made.
#pragma once

#include "test/support/driver/service.h"

namespace csinative::driver {

// The context outlives the server.
void RegisterNodeService(rpc::Server& server, DriverContext& context);

}  // namespace csinative::driver
