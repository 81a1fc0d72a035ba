// SPDX-License-Identifier: Apache-2.0
//
// csi.v1.Controller of the sample driver: volumes, snapshots, clones, expansion, publish records.
// Needs no privileges. Loop only.
#pragma once

#include "test/support/driver/service.h"

namespace csinative::driver {

// context outlives the server.
void RegisterControllerService(rpc::Server& server, DriverContext& context);

}  // namespace csinative::driver
