// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/startup.h"

#include <utility>

#include "lib/async/timeout.h"
#include "lib/csi/identity.h"

namespace csinative::attacher {
namespace {

// external-attacher, csiTimeout (attacher 3, step 15).
constexpr Duration kCapabilityTimeout = std::chrono::seconds(1);

async::Task<Result<DriverFeatures>> Ask(rpc::Channel* channel, std::string name,
                                        std::string* failure) {
  using Service = ::csi::v1::PluginCapability::Service;
  using Rpc = ::csi::v1::ControllerServiceCapability::RPC;
  DriverFeatures features;
  features.name = std::move(name);
  *failure = "Failed to check if the CSI Driver supports the CONTROLLER_SERVICE";
  auto plugin = co_await csi::GetPluginCapabilities(*channel);
  if (!plugin.ok()) co_return plugin.status();
  if (!plugin->Has(Service::CONTROLLER_SERVICE)) co_return std::move(features);
  *failure = "Failed to controller capability check";
  auto controller = co_await csi::GetControllerCapabilities(*channel);
  if (!controller.ok()) co_return controller.status();
  features.publish_unpublish_volume = controller->Has(Rpc::PUBLISH_UNPUBLISH_VOLUME);
  features.publish_readonly = controller->Has(Rpc::PUBLISH_READONLY);
  features.single_node_multi_writer = controller->Has(Rpc::SINGLE_NODE_MULTI_WRITER);
  features.lists_published_nodes =
      controller->Has(Rpc::LIST_VOLUMES) && controller->Has(Rpc::LIST_VOLUMES_PUBLISHED_NODES);
  co_return std::move(features);
}

}  // namespace

async::Task<Result<DriverFeatures>> ReadDriverFeatures(rpc::Channel* channel, std::string name,
                                                       std::string* failure) {
  co_return co_await async::WithTimeout(kCapabilityTimeout, Ask(channel, std::move(name), failure));
}

}  // namespace csinative::attacher
