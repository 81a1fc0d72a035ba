// SPDX-License-Identifier: Apache-2.0
//
// The start-up conversation with a driver (common 8): is it ready, who is it, what can it do. Each
// function makes its calls under the caller's deadline unless it takes one. Loop only.
#pragma once

#include <string>

#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/csi/capabilities.h"
#include "lib/log/logger.h"
#include "lib/rpc/channel.h"

namespace csinative::csi {

// Probes once a second, each attempt limited by `attempt_timeout`, until the driver says it is
// ready; an absent answer means ready. A time-out or "not ready" is tried again without limit; any
// other failure, Unimplemented included, is returned as "CSI driver probe failed: …" (common 8.2).
// The channel outlives the task.
async::Task<Status> WaitUntilReady(rpc::Channel& channel, Duration attempt_timeout,
                                   log::Logger log);

// One Probe; absent `ready` is true.
async::Task<Result<bool>> Probe(rpc::Channel& channel);

// GetPluginInfo. An empty name is the error "driver name is empty"; no further syntax check.
async::Task<Result<std::string>> GetDriverName(rpc::Channel& channel);

async::Task<Result<PluginCapabilities>> GetPluginCapabilities(rpc::Channel& channel);
async::Task<Result<ControllerCapabilities>> GetControllerCapabilities(rpc::Channel& channel);
async::Task<Result<NodeCapabilities>> GetNodeCapabilities(rpc::Channel& channel);
async::Task<Result<GroupControllerCapabilities>> GetGroupControllerCapabilities(
    rpc::Channel& channel);

}  // namespace csinative::csi
