// SPDX-License-Identifier: Apache-2.0
//
// Where kubelet keeps volumes, and the names it derives (volumemanager-csi 2 and 3, volumemanager
// 2). Below the root:
//
//   pods/<uid>/volumes/kubernetes.io~csi/<name>/{mount,vol_data.json}            a pod's volume
//   pods/<uid>/volumeDevices/kubernetes.io~csi/<name>                            link to a device
//   plugins/kubernetes.io/csi/<driver>/<sha256>/{globalmount,vol_data.json}      staged
//   plugins/kubernetes.io/csi/volumeDevices/<name>/{data/vol_data.json,dev/<uid>}
//   plugins/kubernetes.io/csi/volumeDevices/{staging/<name>,publish/<name>/<uid>}
//   plugins_registry/                                                            sockets
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/csi/volume_names.h"

namespace csinative::volumemanager {

inline constexpr char kMountLeaf[] = "mount";
inline constexpr char kStagingLeaf[] = "globalmount";
// All directories made here (volumemanager-csi 1).
inline constexpr uint32_t kDirectoryMode = 0750;

class Paths {
 public:
  explicit Paths(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string Pods() const { return root_ + "/pods"; }
  std::string Plugins() const { return root_ + "/plugins"; }
  std::string Registry() const { return root_ + "/plugins_registry"; }
  std::string LockFile() const { return root_ + "/volumemanager.lock"; }

  std::string Pod(std::string_view uid) const;
  std::string PodVolumes(std::string_view uid) const;        // of this plugin
  std::string PodVolumeDevices(std::string_view uid) const;  // of this plugin
  std::string PodSubpaths(std::string_view uid, std::string_view name) const;
  std::string PodVolume(std::string_view uid, std::string_view name) const;
  // What NodePublishVolume is told of a filesystem.
  std::string PublishTarget(std::string_view uid, std::string_view name) const;
  std::string PodDeviceLink(std::string_view uid, std::string_view name) const;

  std::string CsiPlugin() const { return root_ + "/plugins/kubernetes.io/csi"; }
  std::string Staged(std::string_view driver, std::string_view handle) const;
  // What NodeStageVolume is told of a filesystem.
  std::string StagingTarget(std::string_view driver, std::string_view handle) const;

  std::string BlockVolumes() const { return CsiPlugin() + "/volumeDevices"; }
  std::string BlockVolume(std::string_view name) const;
  std::string BlockData(std::string_view name) const;
  std::string BlockMap(std::string_view name) const;  // one file a pod
  std::string BlockStaging(std::string_view name) const;
  std::string BlockPublishDirectory(std::string_view name) const;
  std::string BlockPublishTarget(std::string_view name, std::string_view uid) const;

 private:
  std::string root_;
};

// "/" cannot be in a file name.
std::string EscapeName(std::string_view name);
std::string UnescapeName(std::string_view name);

using csi::AttachmentName;
using csi::Sha256Hex;
// Of a volume that a pod describes itself.
std::string InlineHandle(std::string_view pod_uid, std::string_view volume);

// Names by which a node's volumes are told apart, and under which it reports them.
using csi::UniqueVolumeName;
std::string UniqueInlineName(std::string_view pod_uid, std::string_view volume);

// Whether everything of a volume that becomes part of a path can be one.
Status CheckPathParts(std::string_view driver, std::string_view handle, std::string_view name);

}  // namespace csinative::volumemanager
