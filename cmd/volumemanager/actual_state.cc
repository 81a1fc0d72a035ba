// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/actual_state.h"

namespace csinative::volumemanager {

const ActualVolume* ActualState::Find(const std::string& volume) const {
  const auto found = volumes_.find(volume);
  return found == volumes_.end() ? nullptr : &found->second;
}

ActualVolume* ActualState::Get(const std::string& volume) {
  const auto found = volumes_.find(volume);
  return found == volumes_.end() ? nullptr : &found->second;
}

const MountedPod* ActualState::Find(const std::string& volume, const std::string& uid) const {
  const ActualVolume* entry = Find(volume);
  if (entry == nullptr) return nullptr;
  const auto found = entry->pods.find(uid);
  return found == entry->pods.end() ? nullptr : &found->second;
}

bool ActualState::HasPod(const std::string& uid) const {
  for (const auto& [name, volume] : volumes_) {
    if (volume.pods.contains(uid)) return true;
  }
  return false;
}

bool ActualState::HasSpec(const std::string& uid, const std::string& spec_name) const {
  for (const auto& [name, volume] : volumes_) {
    const auto pod = volume.pods.find(uid);
    if (pod != volume.pods.end() && pod->second.spec.name == spec_name) return true;
  }
  return false;
}

bool ActualState::MountedElsewhere(const std::string& volume, const std::string& uid) const {
  const ActualVolume* entry = Find(volume);
  if (entry == nullptr) return false;
  for (const auto& [other, pod] : entry->pods) {
    if (other != uid) return true;
  }
  return false;
}

void ActualState::MarkAttached(const std::string& volume, const VolumeSpec& spec,
                               Attachability attachable) {
  const auto [entry, added] = volumes_.try_emplace(volume);
  if (!added) return;
  entry->second.spec = spec;
  entry->second.attachable = attachable;
}

void ActualState::SetDevicePath(const std::string& volume, const std::string& path) {
  if (ActualVolume* entry = Get(volume)) entry->device_path = path;
}

void ActualState::Forget(const std::string& volume) {
  const auto found = volumes_.find(volume);
  if (found != volumes_.end() && found->second.pods.empty()) volumes_.erase(found);
}

void ActualState::MarkDeviceMounted(const std::string& volume, const std::string& mount_path) {
  if (ActualVolume* entry = Get(volume)) {
    entry->device = DeviceState::kMounted;
    entry->device_mount_path = mount_path;
  }
}

void ActualState::MarkDeviceUncertain(const std::string& volume, const std::string& mount_path) {
  if (ActualVolume* entry = Get(volume)) {
    entry->device = DeviceState::kUncertain;
    entry->device_mount_path = mount_path;
  }
}

void ActualState::MarkDeviceUnmounted(const std::string& volume) {
  if (ActualVolume* entry = Get(volume)) {
    entry->device = DeviceState::kNotMounted;
    entry->device_mount_path.clear();
  }
}

void ActualState::MarkDeviceFailed(const std::string& volume, FailureKind kind,
                                   const std::string& mount_path) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr) return;
  if (kind == FailureKind::kUncertain && entry->device == DeviceState::kNotMounted) {
    MarkDeviceUncertain(volume, mount_path);
  }
  if (kind == FailureKind::kFinal && entry->device == DeviceState::kUncertain &&
      !entry->reconstructed) {
    MarkDeviceUnmounted(volume);
  }
}

void ActualState::MarkPodMounted(const std::string& volume, const std::string& uid,
                                 const VolumeSpec& spec) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr) return;
  MountedPod& pod = entry->pods[uid];
  // Of a mounted one what it was mounted with stays.
  if (pod.state != PodMountState::kMounted) pod.spec = spec;
  pod.state = PodMountState::kMounted;
  pod.remount = false;
  pod.reconstructed = false;
  pod.held = false;
}

void ActualState::MarkPodUncertain(const std::string& volume, const std::string& uid,
                                   const VolumeSpec& spec) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr) return;
  MountedPod& pod = entry->pods[uid];
  if (pod.state != PodMountState::kMounted) pod.spec = spec;
  pod.state = PodMountState::kUncertain;
  pod.remount = false;
}

void ActualState::MarkPodFailed(const std::string& volume, const std::string& uid,
                                const VolumeSpec& spec, FailureKind kind) {
  const MountedPod* pod = Find(volume, uid);
  if (kind == FailureKind::kUncertain && pod == nullptr) MarkPodUncertain(volume, uid, spec);
  if (kind == FailureKind::kFinal && pod != nullptr && pod->state == PodMountState::kUncertain &&
      !pod->reconstructed) {
    MarkPodUnmounted(volume, uid);
  }
}

void ActualState::MarkPodUnmounted(const std::string& volume, const std::string& uid) {
  if (ActualVolume* entry = Get(volume)) entry->pods.erase(uid);
}

void ActualState::MarkRemount(const std::string& volume, const std::string& uid) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr) return;
  const auto pod = entry->pods.find(uid);
  if (pod != entry->pods.end()) pod->second.remount = true;
}

void ActualState::AddReconstructed(const std::string& volume, const VolumeSpec& spec,
                                   const std::string& device_mount_path) {
  const auto [entry, added] = volumes_.try_emplace(volume);
  if (!added) return;
  entry->second.spec = spec;
  entry->second.reconstructed = true;
  entry->second.attachable = Attachability::kUncertain;
  if (!spec.device_mountable()) return;
  entry->second.device = DeviceState::kUncertain;
  entry->second.device_mount_path = device_mount_path;
}

void ActualState::AddReconstructedPod(const std::string& volume, const std::string& uid,
                                      const VolumeSpec& spec) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr) return;
  const auto [pod, added] = entry->pods.try_emplace(uid);
  if (!added) return;
  pod->second.spec = spec;
  pod->second.reconstructed = true;
}

void ActualState::Hold(const std::string& volume, const std::string& uid) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr) return;
  const auto pod = entry->pods.find(uid);
  // Not if it was mounted again meanwhile.
  if (pod != entry->pods.end() && pod->second.reconstructed) pod->second.held = true;
}

void ActualState::SetAttachability(const std::string& volume, bool attachable) {
  ActualVolume* entry = Get(volume);
  if (entry == nullptr || entry->attachable != Attachability::kUncertain) return;
  entry->attachable = attachable ? Attachability::kYes : Attachability::kNo;
}

void ActualState::MarkAttachable(const std::string& volume) {
  if (ActualVolume* entry = Get(volume)) entry->attachable = Attachability::kYes;
}

}  // namespace csinative::volumemanager
