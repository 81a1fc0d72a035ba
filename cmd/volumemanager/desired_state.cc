// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/desired_state.h"

namespace csinative::volumemanager {

const DesiredVolume* DesiredState::Find(const std::string& volume) const {
  const auto found = volumes_.find(volume);
  return found == volumes_.end() ? nullptr : &found->second;
}

const DesiredPod* DesiredState::Find(const std::string& volume, const std::string& uid) const {
  const DesiredVolume* entry = Find(volume);
  if (entry == nullptr) return nullptr;
  const auto found = entry->pods.find(uid);
  return found == entry->pods.end() ? nullptr : &found->second;
}

bool DesiredState::HasSpec(const std::string& uid, const std::string& spec_name) const {
  for (const auto& [volume, entry] : volumes_) {
    const auto pod = entry.pods.find(uid);
    if (pod != entry.pods.end() && pod->second.spec.name == spec_name) return true;
  }
  return false;
}

std::vector<std::string> DesiredState::VolumesOf(const std::string& uid) const {
  std::vector<std::string> names;
  for (const auto& [volume, entry] : volumes_) {
    if (entry.pods.contains(uid)) names.push_back(volume);
  }
  return names;
}

std::string DesiredState::Add(const PodFacts& pod, const VolumeSpec& spec, const std::string& name,
                              bool attachable) {
  std::string unique = UniqueNameOf(spec, pod.uid);
  const auto [entry, added] = volumes_.try_emplace(unique);
  if (added) entry->second.attachable = attachable;
  DesiredPod& row = entry->second.pods[pod.uid];
  row.pod = pod;
  row.spec = spec;
  row.names.insert(name);
  return unique;
}

void DesiredState::Remove(const std::string& volume, const std::string& uid) {
  const auto found = volumes_.find(volume);
  if (found == volumes_.end()) return;
  found->second.pods.erase(uid);
  if (found->second.pods.empty()) volumes_.erase(found);
}

void DesiredState::SetLastTried(const std::string& volume, const std::string& uid) {
  const auto found = volumes_.find(volume);
  if (found != volumes_.end()) found->second.last_tried = uid;
}

void DesiredState::SetAttachable(const std::string& volume, bool attachable) {
  const auto found = volumes_.find(volume);
  if (found != volumes_.end()) found->second.attachable = attachable;
}

void DesiredState::SetReportedInUse(const std::set<std::string>& volumes) {
  for (auto& [name, volume] : volumes_) volume.reported_in_use = volumes.contains(name);
}

}  // namespace csinative::volumemanager
