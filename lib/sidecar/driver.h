// SPDX-License-Identifier: Apache-2.0
//
// The connection of a loss-aware sidecar to its driver (common 7): 30 seconds to come up, logged
// and measured calls, and the end of the process when an established connection is gone. Loop only.
#pragma once

#include <memory>
#include <string>

#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/csi/observed_channel.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

// kDeadlineExceeded "context deadline exceeded" when the driver does not come up; an address form
// that cannot be watched for loss is refused at once. `process` outlives the channel.
async::Task<Result<std::unique_ptr<csi::ObservedChannel>>> ConnectDriver(
    Process* process, std::string address, csi::ObservedChannel::Options options);

}  // namespace csinative::sidecar
