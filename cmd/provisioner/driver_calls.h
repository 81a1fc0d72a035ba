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

// Whether a call is about a volume of an in-tree plugin: measured apart.
enum class Migrated { kNo, kYes };

class DriverCalls {
 public:
  // Borrowed: both outlive this. `migrated_channel` is for calls about migrated volumes.
  DriverCalls(rpc::Channel& channel, rpc::Channel& migrated_channel, Duration timeout)
      : channel_(channel), migrated_channel_(migrated_channel), timeout_(timeout) {}

  async::Task<Result<::csi::v1::Volume>> CreateVolume(::csi::v1::CreateVolumeRequest request,
                                                      Migrated migrated);
  async::Task<Status> DeleteVolume(::csi::v1::DeleteVolumeRequest request, Migrated migrated);
  // Deletes a volume that cannot be used, at once and at most five times; all tries share one time
  // limit. The last error. Never measured as migrated.
  async::Task<Status> CleanUpVolume(::csi::v1::DeleteVolumeRequest request);

 private:
  rpc::Channel& ChannelFor(Migrated migrated) {
    return migrated == Migrated::kYes ? migrated_channel_ : channel_;
  }

  rpc::Channel& channel_;
  rpc::Channel& migrated_channel_;
  const Duration timeout_;
};

}  // namespace csinative::provisioner
