// SPDX-License-Identifier: Apache-2.0
//
// What is, or may be, mounted on this node (volumemanager 4). Uncertain means: treat it as mounted
// when it has to go, and as not mounted when a pod needs it. Loop only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/volumemanager/outcome.h"
#include "cmd/volumemanager/volume_spec.h"

namespace csinative::volumemanager {

enum class Attachability { kNo, kYes, kUncertain };
enum class DeviceState { kNotMounted, kUncertain, kMounted };
enum class PodMountState { kUncertain, kMounted };  // not mounted: no entry

struct MountedPod {
  VolumeSpec spec;
  PodMountState state = PodMountState::kUncertain;
  bool remount = false;        // publish again although it is mounted
  bool reconstructed = false;  // found on disk and not confirmed since
  bool held = false;           // nobody knows what is mounted there: it is not unmounted
};

struct ActualVolume {
  VolumeSpec spec;
  Attachability attachable = Attachability::kNo;
  DeviceState device = DeviceState::kNotMounted;
  std::string device_path;                 // how the attachment or the device is called
  std::string device_mount_path;           // where it is staged; block: the map directory
  bool reconstructed = false;              // found on disk; until it is forgotten
  std::map<std::string, MountedPod> pods;  // by UID
};

class ActualState {
 public:
  using Volumes = std::map<std::string, ActualVolume>;  // by unique name

  const Volumes& volumes() const { return volumes_; }
  const ActualVolume* Find(const std::string& volume) const;
  const MountedPod* Find(const std::string& volume, const std::string& uid) const;
  bool HasPod(const std::string& uid) const;
  bool HasSpec(const std::string& uid, const std::string& spec_name) const;
  // Another pod has it, or may have it.
  bool MountedElsewhere(const std::string& volume, const std::string& uid) const;

  // A volume that is there keeps what is known of it.
  void MarkAttached(const std::string& volume, const VolumeSpec& spec, Attachability attachable);
  void SetDevicePath(const std::string& volume, const std::string& path);
  // Refused while a pod has the volume.
  void Forget(const std::string& volume);

  void MarkDeviceMounted(const std::string& volume, const std::string& mount_path);
  void MarkDeviceUncertain(const std::string& volume, const std::string& mount_path);
  void MarkDeviceUnmounted(const std::string& volume);
  void MarkDeviceFailed(const std::string& volume, FailureKind kind, const std::string& mount_path);

  // REQUIRES for these: the volume is there (else they do nothing).
  void MarkPodMounted(const std::string& volume, const std::string& uid, const VolumeSpec& spec);
  void MarkPodUncertain(const std::string& volume, const std::string& uid, const VolumeSpec& spec);
  void MarkPodFailed(const std::string& volume, const std::string& uid, const VolumeSpec& spec,
                     FailureKind kind);
  void MarkPodUnmounted(const std::string& volume, const std::string& uid);
  void MarkRemount(const std::string& volume, const std::string& uid);

  // From disk: everything uncertain. Does not change a pod that is there.
  void AddReconstructed(const std::string& volume, const VolumeSpec& spec,
                        const std::string& device_mount_path);
  void AddReconstructedPod(const std::string& volume, const std::string& uid,
                           const VolumeSpec& spec);
  // Until the pod has mounted it again.
  void Hold(const std::string& volume, const std::string& uid);
  // Decides what is uncertain; the first answer stays.
  void SetAttachability(const std::string& volume, bool attachable);
  // It was seen attached: it stays in use until it is forgotten.
  void MarkAttachable(const std::string& volume);

 private:
  ActualVolume* Get(const std::string& volume);
  Volumes volumes_;
};

}  // namespace csinative::volumemanager
