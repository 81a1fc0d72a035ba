// SPDX-License-Identifier: Apache-2.0
//
// Which volumes the pods of this node must have (volumemanager 3). Loop only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cmd/volumemanager/volume_spec.h"

namespace csinative::volumemanager {

struct DesiredPod {
  PodFacts pod;
  VolumeSpec spec;
  std::set<std::string> names;  // of the volume in the pod: one volume can be there twice
};

using DesiredPods = std::map<std::string, DesiredPod>;  // by UID

struct DesiredVolume {
  bool attachable = false;
  // The Node says that this volume is in use: from then on nobody detaches it.
  bool reported_in_use = false;
  std::string last_tried;  // UID of the pod that it was last mounted for, with success or not
  DesiredPods pods;
};

class DesiredState {
 public:
  using Volumes = std::map<std::string, DesiredVolume>;  // by unique name

  const Volumes& volumes() const { return volumes_; }
  const DesiredVolume* Find(const std::string& volume) const;
  const DesiredPod* Find(const std::string& volume, const std::string& uid) const;
  // Any volume of the pod whose spec has this name.
  bool HasSpec(const std::string& uid, const std::string& spec_name) const;
  // Unique names, sorted.
  std::vector<std::string> VolumesOf(const std::string& uid) const;

  // Returns the unique name. Facts and spec of a pod that is there are replaced; whether it is
  // attachable is decided by whoever adds it first.
  std::string Add(const PodFacts& pod, const VolumeSpec& spec, const std::string& name,
                  bool attachable);
  void Remove(const std::string& volume, const std::string& uid);
  void SetLastTried(const std::string& volume, const std::string& uid);
  void SetAttachable(const std::string& volume, bool attachable);
  // All others are not reported any more.
  void SetReportedInUse(const std::set<std::string>& volumes);

 private:
  Volumes volumes_;
};

}  // namespace csinative::volumemanager
