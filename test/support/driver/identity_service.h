// SPDX-License-Identifier: Apache-2.0
//
// csi.v1.Identity of the sample driver. Loop only.
#pragma once

#include "test/support/driver/service.h"

namespace csinative::driver {

// context outlives the server.
void RegisterIdentityService(rpc::Server& server, DriverContext& context);

}  // namespace csinative::driver
