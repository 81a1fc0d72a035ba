// SPDX-License-Identifier: Apache-2.0
//
// Volumes and classes of in-tree plugins as their CSI drivers know them, and back (attacher 12,
// provisioner 16). Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
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

// A volume of a driver that replaces an in-tree plugin, with the plugin's source and topology.
// Fails for a volume of any other driver, and when handle or topology cannot be understood.
Result<core::PersistentVolume> ToInTree(core::PersistentVolume volume);

// A class of this in-tree plugin in the words of the driver. Its provisioner mostly stays the
// plugin. Fails for an unknown plugin and for zones that are given twice.
Result<storage::StorageClass> ClassToCsi(std::string_view in_tree, storage::StorageClass klass);

// The handle as the driver itself calls the volume, on the node with this id: translated handles of
// GCE disks do not know project and zone. A driver that replaces no in-tree plugin is an error.
Result<std::string> RepairVolumeHandle(std::string_view driver, const std::string& handle,
                                       const std::string& node_id);

// What ToCsi reads of a volume besides its spec: everything else of labels and annotations may be
// dropped before.
bool IsReadLabel(std::string_view key);
bool IsReadAnnotation(std::string_view key);

}  // namespace csinative::translation
