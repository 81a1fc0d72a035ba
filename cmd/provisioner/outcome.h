// SPDX-License-Identifier: Apache-2.0
//
// What a failed CreateVolume means for the claim (provisioner 12.1). Pure functions; any thread.
#pragma once

#include "lib/base/status.h"

namespace csinative::provisioner {

enum class ProvisionState {
  kFinished,      // nothing runs at the driver
  kInBackground,  // the driver may still create the volume: the same call has to be repeated
  kNoChange,      // the driver was not reached: what was known before is still true
  kReschedule,    // the volume cannot exist for the chosen node: another one may do
};

// Whether another node can be asked for: topology is in use and the scheduler chose one.
enum class NodeChoice { kFixed, kCanChange };

// The state after CreateVolume failed with `error`.
ProvisionState StateAfterCreateError(const Status& error, NodeChoice choice);

// The driver says that these parameters will never do: retried slowly (provisioner 12.3). Only a
// gRPC peer's code counts, however much context the status has gained.
bool IsInfeasible(const Status& error);

}  // namespace csinative::provisioner
