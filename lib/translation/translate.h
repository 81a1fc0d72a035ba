// SPDX-License-Identifier: Apache-2.0
//
// Volumes of in-tree plugins as their CSI drivers know them (attacher 12). Pure functions; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "lib/base/result.h"

namespace csinative::translation {

// Whether the driver replaces an in-tree plugin.
bool ReplacesInTreePlugin(std::string_view driver);
// The in-tree plugin that the driver replaces, e.g. "kubernetes.io/gce-pd"; empty if it does not.
std::string_view InTreePluginOf(std::string_view driver);

// A volume of an in-tree plugin that a CSI driver could take over, whichever does.
bool IsMigratable(const core::PersistentVolumeSpec& spec);

// The volume with a CSI source instead of the in-tree one; its topology is left alone. Fails when
// the source cannot be understood. REQUIRES: IsMigratable.
Result<core::PersistentVolume> ToCsi(core::PersistentVolume volume);

// The handle as the driver itself calls the volume, on the node with this id: translated handles of
// GCE disks do not know project and zone. A driver that replaces no in-tree plugin is an error.
Result<std::string> RepairVolumeHandle(std::string_view driver, const std::string& handle,
                                       const std::string& node_id);

// What ToCsi reads of a volume besides its spec: everything else of labels and annotations may be
// dropped before.
bool IsReadLabel(std::string_view key);
bool IsReadAnnotation(std::string_view key);

}  // namespace csinative::translation
