// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/driver_calls.h"

#include <utility>

#include "lib/async/timeout.h"

namespace csinative::provisioner {
namespace {

async::Task<Status> Delete(rpc::Channel* channel, ::csi::v1::DeleteVolumeRequest request) {
  ::csi::v1::DeleteVolumeResponse response;
  co_return co_await channel->Call("/csi.v1.Controller/DeleteVolume", request, &response);
}

async::Task<Result<::csi::v1::Volume>> Create(rpc::Channel* channel,
                                              ::csi::v1::CreateVolumeRequest request) {
  ::csi::v1::CreateVolumeResponse response;
  CSI_CO_RETURN_IF_ERROR(
      co_await channel->Call("/csi.v1.Controller/CreateVolume", request, &response));
  // An answer without a volume is one whose volume has no id (upstream crashes, provisioner 23.1).
  co_return std::move(*response.mutable_volume());
}

async::Task<Status> CleanUp(rpc::Channel* channel, ::csi::v1::DeleteVolumeRequest request) {
  constexpr int kTries = 5;  // external-provisioner, cleanupVolume
  Status last;
  for (int i = 0; i < kTries; ++i) {
    last = co_await Delete(channel, request);
    if (last.ok()) break;
  }
  co_return last;
}

}  // namespace

async::Task<Result<::csi::v1::Volume>> DriverCalls::CreateVolume(
    ::csi::v1::CreateVolumeRequest request, Migrated migrated) {
  co_return co_await async::WithTimeout(timeout_,
                                        Create(&ChannelFor(migrated), std::move(request)));
}

async::Task<Status> DriverCalls::DeleteVolume(::csi::v1::DeleteVolumeRequest request,
                                              Migrated migrated) {
  co_return co_await async::WithTimeout(timeout_,
                                        Delete(&ChannelFor(migrated), std::move(request)));
}

async::Task<Status> DriverCalls::CleanUpVolume(::csi::v1::DeleteVolumeRequest request) {
  co_return co_await async::WithTimeout(timeout_, CleanUp(&channel_, std::move(request)));
}

}  // namespace csinative::provisioner
