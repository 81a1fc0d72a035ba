// SPDX-License-Identifier: Apache-2.0
//
// What the driver is asked, from attachment, volume and node (attacher 8). Pure functions; any
// thread.
#pragma once

#include <optional>
#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/attacher/driver_features.h"
#include "lib/base/result.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::attacher {

Result<::csi::v1::VolumeCapability> CapabilityOf(const core::PersistentVolumeSpec& spec,
                                                 const std::string& default_fs_type,
                                                 const DriverFeatures& features);

// Without node id and secrets. REQUIRES for both: a CSI source.
Result<::csi::v1::ControllerPublishVolumeRequest> PublishRequest(
    const core::PersistentVolumeSpec& spec, const std::string& default_fs_type,
    const DriverFeatures& features);
::csi::v1::ControllerUnpublishVolumeRequest UnpublishRequest(
    const core::PersistentVolumeSpec& spec);

// The driver's id of the attachment's node: as the node registered it; for a detach also as the
// attachment recorded it, when the node does not say.
enum class RecordedNodeId { kIgnore, kUse };
Result<std::string> NodeIdOf(const storage::VolumeAttachment& attachment,
                             const std::optional<storage::CSINode>& node, const std::string& driver,
                             RecordedNodeId recorded);

}  // namespace csinative::attacher
