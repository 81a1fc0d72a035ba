// SPDX-License-Identifier: Apache-2.0
//
// Typed CSI calls: the request decides on the method and on the type of the answer.
//
//   Result<DeleteVolumeResponse> deleted = co_await csi::Call(channel, std::move(request));
//
// The deadline is the caller's (async::WithTimeout). Loop only.
#pragma once

#include <string>
#include <utility>

#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/rpc/channel.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::csi {

// kName is the method of the request type, Response the type of its answer.
template <typename Request>
struct MethodOf;

#define CSI_METHOD_(Service, Method)                                 \
  template <>                                                        \
  struct MethodOf<::csi::v1::Method##Request> {                      \
    using Response = ::csi::v1::Method##Response;                    \
    static constexpr char kName[] = "/csi.v1." #Service "/" #Method; \
  }
CSI_METHOD_(Identity, GetPluginInfo);
CSI_METHOD_(Identity, GetPluginCapabilities);
CSI_METHOD_(Identity, Probe);
CSI_METHOD_(Controller, CreateVolume);
CSI_METHOD_(Controller, DeleteVolume);
CSI_METHOD_(Controller, ControllerPublishVolume);
CSI_METHOD_(Controller, ControllerUnpublishVolume);
CSI_METHOD_(Controller, ValidateVolumeCapabilities);
CSI_METHOD_(Controller, ListVolumes);
CSI_METHOD_(Controller, GetCapacity);
CSI_METHOD_(Controller, ControllerGetCapabilities);
CSI_METHOD_(Controller, CreateSnapshot);
CSI_METHOD_(Controller, DeleteSnapshot);
CSI_METHOD_(Controller, ListSnapshots);
CSI_METHOD_(Controller, GetSnapshot);
CSI_METHOD_(Controller, ControllerExpandVolume);
CSI_METHOD_(Controller, ControllerGetVolume);
CSI_METHOD_(Controller, ControllerModifyVolume);
CSI_METHOD_(GroupController, GroupControllerGetCapabilities);
CSI_METHOD_(GroupController, CreateVolumeGroupSnapshot);
CSI_METHOD_(GroupController, DeleteVolumeGroupSnapshot);
CSI_METHOD_(GroupController, GetVolumeGroupSnapshot);
CSI_METHOD_(Node, NodeStageVolume);
CSI_METHOD_(Node, NodeUnstageVolume);
CSI_METHOD_(Node, NodePublishVolume);
CSI_METHOD_(Node, NodeUnpublishVolume);
CSI_METHOD_(Node, NodeGetVolumeStats);
CSI_METHOD_(Node, NodeExpandVolume);
CSI_METHOD_(Node, NodeGetCapabilities);
CSI_METHOD_(Node, NodeGetInfo);
#undef CSI_METHOD_

// A failure is an RpcStatus (lib/rpc/channel.h). The channel outlives the task.
template <typename Request>
async::Task<Result<typename MethodOf<Request>::Response>> Call(rpc::Channel& channel,
                                                               Request request) {
  typename MethodOf<Request>::Response response;
  Status status = co_await channel.Call(MethodOf<Request>::kName, request, &response);
  if (!status.ok()) co_return status;
  co_return response;
}

}  // namespace csinative::csi
