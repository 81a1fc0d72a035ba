// SPDX-License-Identifier: Apache-2.0
//
// The controller calls of provisioning, each with the configured time limit. Loop only.
#pragma once

#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/rpc/channel.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::provisioner {

class DriverCalls {
 public:
  // channel outlives this.
  DriverCalls(rpc::Channel& channel, Duration timeout) : channel_(channel), timeout_(timeout) {}

  async::Task<Result<::csi::v1::Volume>> CreateVolume(::csi::v1::CreateVolumeRequest request);
  async::Task<Status> DeleteVolume(::csi::v1::DeleteVolumeRequest request);
  // Deletes a volume that cannot be used, at once and at most five times; all tries share one time
  // limit. The last error.
  async::Task<Status> CleanUpVolume(::csi::v1::DeleteVolumeRequest request);

 private:
  rpc::Channel& channel_;
  const Duration timeout_;
};

}  // namespace csinative::provisioner
