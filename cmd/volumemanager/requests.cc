// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/requests.h"

#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

using Mode = ::csi::v1::VolumeCapability::AccessMode;
using Field = google::protobuf::Map<std::string, std::string>;

// A volume in Filesystem mode with this type is sent as a block volume: upstream's marker.
constexpr char kBlockMarker[] = "block";

void Fill(const StringMap& from, Field* field) {
  for (const auto& [key, value] : from) (*field)[key] = value;
}

void Fill(const SecretData& from, Field* field) {
  for (const auto& [key, value] : from) (*field)[key] = std::string(value.Reveal());
}

::csi::v1::VolumeCapability CapabilityOf(const VolumeSpec& spec, const NodeFeatures& features,
                                         const std::optional<uint32_t>& mount_group) {
  ::csi::v1::VolumeCapability capability;
  capability.mutable_access_mode()->set_mode(AccessModeOf(spec, features));
  if (spec.block() || spec.fs_type == kBlockMarker) {
    capability.mutable_block();
    return capability;
  }
  auto* mount = capability.mutable_mount();
  mount->set_fs_type(spec.fs_type);
  for (const std::string& option : spec.mount_options) mount->add_mount_flags(option);
  if (features.mount_group && mount_group) mount->set_volume_mount_group(StrCat(*mount_group));
  return capability;
}

}  // namespace

NodeFeatures FeaturesOf(const csi::NodeCapabilities& capabilities) {
  using Rpc = ::csi::v1::NodeServiceCapability::RPC;
  NodeFeatures features;
  features.stage = capabilities.Has(Rpc::STAGE_UNSTAGE_VOLUME);
  features.mount_group = capabilities.Has(Rpc::VOLUME_MOUNT_GROUP);
  features.single_node_multi_writer = capabilities.Has(Rpc::SINGLE_NODE_MULTI_WRITER);
  return features;
}

Mode::Mode AccessModeOf(const VolumeSpec& spec, const NodeFeatures& features) {
  const std::string_view mode = spec.access_modes.empty()
                                    ? apis::kReadWriteOnce
                                    : std::string_view(spec.access_modes.front());
  const bool capable = features.single_node_multi_writer;
  if (mode == apis::kReadWriteOnce) {
    return capable ? Mode::SINGLE_NODE_MULTI_WRITER : Mode::SINGLE_NODE_WRITER;
  }
  if (mode == apis::kReadOnlyMany) return Mode::MULTI_NODE_READER_ONLY;
  if (mode == apis::kReadWriteMany) return Mode::MULTI_NODE_MULTI_WRITER;
  if (mode == apis::kReadWriteOncePod) {
    return capable ? Mode::SINGLE_NODE_SINGLE_WRITER : Mode::SINGLE_NODE_WRITER;
  }
  return Mode::UNKNOWN;
}

::csi::v1::NodeStageVolumeRequest StageRequest(const VolumeSpec& spec, const NodeFeatures& features,
                                               const std::string& staging_path,
                                               const RequestParts& parts) {
  ::csi::v1::NodeStageVolumeRequest request;
  request.set_volume_id(spec.handle);
  Fill(parts.publish_context, request.mutable_publish_context());
  request.set_staging_target_path(staging_path);
  *request.mutable_volume_capability() = CapabilityOf(spec, features, parts.mount_group);
  Fill(parts.secrets, request.mutable_secrets());
  Fill(spec.attributes, request.mutable_volume_context());
  return request;
}

::csi::v1::NodePublishVolumeRequest PublishRequest(
    const VolumeSpec& spec, const NodeFeatures& features, const std::string& staging_path,
    const std::string& target_path, const StringMap& context, const RequestParts& parts) {
  ::csi::v1::NodePublishVolumeRequest request;
  request.set_volume_id(spec.handle);
  Fill(parts.publish_context, request.mutable_publish_context());
  request.set_staging_target_path(staging_path);
  request.set_target_path(target_path);
  *request.mutable_volume_capability() = CapabilityOf(spec, features, parts.mount_group);
  request.set_readonly(spec.read_only);
  Fill(parts.secrets, request.mutable_secrets());
  Fill(spec.attributes, request.mutable_volume_context());
  Fill(context, request.mutable_volume_context());
  return request;
}

StringMap PodInfo(const PodFacts& pod, const VolumeSpec& spec) {
  return {{std::string(apis::kContextPodName), pod.name},
          {std::string(apis::kContextPodNamespace), pod.ns},
          {std::string(apis::kContextPodUid), pod.uid},
          {std::string(apis::kContextServiceAccount), pod.service_account},
          {std::string(apis::kContextEphemeral), spec.inline_volume() ? "true" : "false"}};
}

}  // namespace csinative::volumemanager
