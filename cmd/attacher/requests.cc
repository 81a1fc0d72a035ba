// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/requests.h"

#include <utility>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"
#include "lib/csi/access_modes.h"
#include "lib/kube/errors.h"

namespace csinative::attacher {

Result<::csi::v1::VolumeCapability> CapabilityOf(const core::PersistentVolumeSpec& spec,
                                                 const std::string& default_fs_type,
                                                 const DriverFeatures& features) {
  ::csi::v1::VolumeCapability capability;
  if (spec.volumemode() == apis::kVolumeModeBlock) {
    capability.mutable_block();
  } else {
    const std::string& fs_type = spec.persistentvolumesource().csi().fstype();
    auto* mount = capability.mutable_mount();
    mount->set_fs_type(fs_type.empty() ? default_fs_type : fs_type);
    mount->mutable_mount_flags()->CopyFrom(spec.mountoptions());
  }
  const std::vector<std::string> modes(spec.accessmodes().begin(), spec.accessmodes().end());
  CSI_ASSIGN_OR_RETURN(const auto mode,
                       csi::ToCsiAccessMode(modes, features.single_node_multi_writer
                                                       ? csi::SingleNodeMultiWriter::kYes
                                                       : csi::SingleNodeMultiWriter::kNo));
  capability.mutable_access_mode()->set_mode(mode);
  return capability;
}

Result<::csi::v1::ControllerPublishVolumeRequest> PublishRequest(
    const core::PersistentVolumeSpec& spec, const std::string& default_fs_type,
    const DriverFeatures& features) {
  const core::CSIPersistentVolumeSource& source = spec.persistentvolumesource().csi();
  ::csi::v1::ControllerPublishVolumeRequest request;
  for (const auto& entry : source.volumeattributes()) {
    (*request.mutable_volume_context())[entry.key()] = entry.value();
  }
  request.set_volume_id(source.volumehandle());
  request.set_readonly(features.publish_readonly && source.readonly());
  CSI_ASSIGN_OR_RETURN(*request.mutable_volume_capability(),
                       CapabilityOf(spec, default_fs_type, features));
  return request;
}

::csi::v1::ControllerUnpublishVolumeRequest UnpublishRequest(
    const core::PersistentVolumeSpec& spec) {
  ::csi::v1::ControllerUnpublishVolumeRequest request;
  request.set_volume_id(spec.persistentvolumesource().csi().volumehandle());
  return request;
}

Result<std::string> NodeIdOf(const storage::VolumeAttachment& attachment,
                             const std::optional<storage::CSINode>& node, const std::string& driver,
                             RecordedNodeId recorded) {
  const std::string& node_name = attachment.spec().nodename();
  if (node) {
    for (const storage::CSINodeDriver& entry : node->spec().drivers()) {
      if (entry.name() == driver) return entry.nodeid();
    }
  }
  if (recorded == RecordedNodeId::kUse) {
    const auto& annotations = attachment.metadata().annotations();
    if (const std::string* id = apis::GetEntry(annotations, apis::kAnnNodeId)) return *id;
  }
  if (!node) return kube::CacheNotFound("csinode.storage.k8s.io", node_name);
  return NotFoundError(StrCat("CSINode ", node_name, " does not contain driver ", driver));
}

}  // namespace csinative::attacher
