// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/identity.h"

#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"

namespace csinative::csi {
namespace {

// csi-lib-utils rpc.ProbeForever: one attempt a second (common 8.2).
constexpr Duration kProbeInterval = std::chrono::seconds(1);

bool TimedOut(const Status& status) { return status.code() == Code::kDeadlineExceeded; }

// Reads the `rpc` kind of a capability list; entries of another kind are skipped.
template <typename Set, typename Response>
Set RpcTypes(const Response& response) {
  Set set;
  for (const auto& capability : response.capabilities()) {
    if (capability.has_rpc()) set.Add(capability.rpc().type());
  }
  return set;
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): channels outlive the tasks.

async::Task<Result<bool>> Probe(rpc::Channel& channel) {
  ::csi::v1::ProbeResponse response;
  Status status =
      co_await channel.Call("/csi.v1.Identity/Probe", ::csi::v1::ProbeRequest(), &response);
  if (!status.ok()) co_return status;
  co_return !response.has_ready() || response.ready().value();
}

async::Task<Status> WaitUntilReady(rpc::Channel& channel, Duration attempt_timeout,
                                   log::Logger log) {
  async::TaskContext context = co_await async::CurrentContext();
  // A ticker that was started before the first attempt and remembers at most one missed tick.
  MonotonicTime next = context.loop->Now() + kProbeInterval;
  while (true) {
    log.Info("Probing CSI driver for readiness");
    Result<bool> ready = co_await async::WithTimeout(attempt_timeout, Probe(channel));
    if (Status running = co_await async::CancellationStatus(); !running.ok()) co_return running;
    if (ready.ok()) {
      if (*ready) co_return Status();
      log.Info("CSI driver is not ready");
    } else if (TimedOut(ready.status())) {
      log.Info("CSI driver probe timed out");
    } else {
      co_return ready.status().WithContext("CSI driver probe failed");
    }
    CSI_CO_RETURN_IF_ERROR(co_await async::SleepUntil(next));
    const MonotonicTime now = context.loop->Now();
    do next += kProbeInterval;
    while (next <= now);
  }
}

async::Task<Result<std::string>> GetDriverName(rpc::Channel& channel) {
  ::csi::v1::GetPluginInfoResponse response;
  Status status = co_await channel.Call("/csi.v1.Identity/GetPluginInfo",
                                        ::csi::v1::GetPluginInfoRequest(), &response);
  if (!status.ok()) co_return status;
  if (response.name().empty()) co_return InvalidArgumentError("driver name is empty");
  co_return response.name();
}

async::Task<Result<PluginCapabilities>> GetPluginCapabilities(rpc::Channel& channel) {
  ::csi::v1::GetPluginCapabilitiesResponse response;
  Status status = co_await channel.Call("/csi.v1.Identity/GetPluginCapabilities",
                                        ::csi::v1::GetPluginCapabilitiesRequest(), &response);
  if (!status.ok()) co_return status;
  PluginCapabilities set;
  for (const auto& capability : response.capabilities()) {
    if (capability.has_service()) set.Add(capability.service().type());
  }
  co_return set;
}

async::Task<Result<ControllerCapabilities>> GetControllerCapabilities(rpc::Channel& channel) {
  ::csi::v1::ControllerGetCapabilitiesResponse response;
  Status status = co_await channel.Call("/csi.v1.Controller/ControllerGetCapabilities",
                                        ::csi::v1::ControllerGetCapabilitiesRequest(), &response);
  if (!status.ok()) co_return status;
  co_return RpcTypes<ControllerCapabilities>(response);
}

async::Task<Result<NodeCapabilities>> GetNodeCapabilities(rpc::Channel& channel) {
  ::csi::v1::NodeGetCapabilitiesResponse response;
  Status status = co_await channel.Call("/csi.v1.Node/NodeGetCapabilities",
                                        ::csi::v1::NodeGetCapabilitiesRequest(), &response);
  if (!status.ok()) co_return status;
  co_return RpcTypes<NodeCapabilities>(response);
}

async::Task<Result<GroupControllerCapabilities>> GetGroupControllerCapabilities(
    rpc::Channel& channel) {
  ::csi::v1::GroupControllerGetCapabilitiesResponse response;
  Status status =
      co_await channel.Call("/csi.v1.GroupController/GroupControllerGetCapabilities",
                            ::csi::v1::GroupControllerGetCapabilitiesRequest(), &response);
  if (!status.ok()) co_return status;
  co_return RpcTypes<GroupControllerCapabilities>(response);
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace csinative::csi
