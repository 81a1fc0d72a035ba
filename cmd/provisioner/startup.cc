// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/startup.h"

#include <chrono>
#include <utility>

#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/identity.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {

async::Task<Result<DriverFeatures>> ReadDriverFeatures(rpc::Channel* channel, std::string name,
                                                       Duration timeout) {
  using Service = ::csi::v1::PluginCapability::Service;
  using Rpc = ::csi::v1::ControllerServiceCapability::RPC;
  auto plugin = co_await async::WithTimeout(timeout, csi::GetPluginCapabilities(*channel));
  if (!plugin.ok()) co_return plugin.status();
  // Also asked of a driver that reports no controller service.
  auto controller = co_await async::WithTimeout(timeout, csi::GetControllerCapabilities(*channel));
  if (!controller.ok()) co_return controller.status();
  DriverFeatures features;
  features.name = std::move(name);
  features.controller_service = plugin->Has(Service::CONTROLLER_SERVICE);
  features.accessibility_constraints = plugin->Has(Service::VOLUME_ACCESSIBILITY_CONSTRAINTS);
  features.create_delete_volume = controller->Has(Rpc::CREATE_DELETE_VOLUME);
  features.create_delete_snapshot = controller->Has(Rpc::CREATE_DELETE_SNAPSHOT);
  features.clone_volume = controller->Has(Rpc::CLONE_VOLUME);
  features.modify_volume = controller->Has(Rpc::MODIFY_VOLUME);
  features.publish_unpublish_volume = controller->Has(Rpc::PUBLISH_UNPUBLISH_VOLUME);
  features.single_node_multi_writer = controller->Has(Rpc::SINGLE_NODE_MULTI_WRITER);
  co_return features;
}

async::Task<bool> LacksAttributesClass(kube::Client* client) {
  auto found = co_await client->GetPath("/apis/storage.k8s.io/v1");
  if (!found.ok()) co_return kube::IsNotFound(found.status());
  const rapidjson::Document& list = **found;
  if (!list.IsObject()) co_return false;
  auto resources = list.FindMember("resources");
  if (resources == list.MemberEnd() || !resources->value.IsArray()) co_return true;
  for (const auto& resource : resources->value.GetArray()) {
    if (!resource.IsObject()) continue;
    auto kind = resource.FindMember("kind");
    if (kind != resource.MemberEnd() && kind->value == "VolumeAttributesClass") co_return false;
  }
  co_return true;
}

std::string ProcessIdentity(const Clock& clock, Random& random, const std::string& driver) {
  const auto now = clock.WallNow().time_since_epoch();
  return StrCat(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), "-",
                random.Below(10000), "-", driver);
}

}  // namespace csinative::provisioner
