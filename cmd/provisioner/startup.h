// SPDX-License-Identifier: Apache-2.0
//
// What csi-provisioner finds out before it starts to work (provisioner 3, steps 9 and 12 to 16).
// Loop only.
#pragma once

#include <string>

#include "cmd/provisioner/driver_features.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"
#include "lib/rpc/channel.h"

namespace csinative::provisioner {

// Plugin and controller capabilities, each call with its own time limit. `name` is the driver's.
// The channel outlives the task.
async::Task<Result<DriverFeatures>> ReadDriverFeatures(rpc::Channel* channel, std::string name,
                                                       Duration timeout);

// Whether the API server answers clearly that it knows no VolumeAttributesClass: the feature is
// then off unless it was asked for. The client outlives the task.
async::Task<bool> LacksAttributesClass(kube::Client* client);

// "<milliseconds since 1970>-<0 to 9999>-<driver>", for the attributes of volumes.
std::string ProcessIdentity(const Clock& clock, Random& random, const std::string& driver);

}  // namespace csinative::provisioner
