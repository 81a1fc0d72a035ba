// SPDX-License-Identifier: Apache-2.0
//
// One volume as this node works with it: from a PersistentVolume, from a pod that describes it
// itself, or from what was written to disk. Values and pure functions; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apis/core/v1/pod.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "lib/base/result.h"
#include "lib/kube/resource.h"
#include "lib/mount/ownership.h"
#include "lib/mount/volume_data.h"

namespace csinative::volumemanager {

enum class Lifecycle { kPersistent, kEphemeral };
enum class VolumeMode { kFilesystem, kBlock };

struct VolumeSpec {
  std::string name;  // of the PersistentVolume, or of the volume in its pod
  Lifecycle lifecycle = Lifecycle::kPersistent;
  VolumeMode mode = VolumeMode::kFilesystem;
  std::string driver;
  std::string handle;
  bool read_only = false;
  // Unknown for a volume that was found on disk.
  std::vector<std::string> access_modes;
  std::string fs_type;
  std::vector<std::string> mount_options;
  std::map<std::string, std::string> attributes;
  std::optional<kube::ObjectName> stage_secret;
  std::optional<kube::ObjectName> publish_secret;
  core::NodeSelector node_affinity;  // without terms: any node
  bool has_node_affinity = false;

  bool block() const { return mode == VolumeMode::kBlock; }
  bool inline_volume() const { return lifecycle == Lifecycle::kEphemeral; }
  // A step for the whole node comes before the step for the pod.
  bool device_mountable() const { return !inline_volume(); }
};

// What of a pod matters to its volumes.
struct PodFacts {
  std::string ns;
  std::string name;
  std::string uid;
  std::string service_account;
  std::optional<uint32_t> fs_group;
  mount::OwnershipChange change = mount::OwnershipChange::kAlways;
};
PodFacts FactsOf(const core::Pod& pod);

// By which a node tells its volumes apart.
std::string UniqueNameOf(const VolumeSpec& spec, const std::string& pod_uid);

// REQUIRES for both: a CSI source. Fail for names that cannot be part of a path.
Result<VolumeSpec> SpecOf(const core::PersistentVolume& volume, bool read_only);
Result<VolumeSpec> SpecOf(const core::Volume& volume, const PodFacts& pod);

// vol_data.json beside a pod's or a block volume, and beside a staged one.
mount::VolumeData DataOf(const VolumeSpec& spec, const std::string& node);
mount::VolumeData StagedDataOf(const VolumeSpec& spec);
// The minimal volume that such a file describes (volumemanager-csi 4).
Result<VolumeSpec> SpecFromData(const mount::VolumeData& data, VolumeMode mode,
                                const std::string& pod_uid);
// The same of a staged volume's: driver and handle are all it has.
Result<VolumeSpec> SpecFromStagedData(const mount::VolumeData& data);

// Whether a node with these labels may have the volume; the failure is upstream's text.
Status CheckNodeAffinity(const VolumeSpec& spec, const meta::ObjectMeta& node);

// How containers use a volume of their pod.
struct VolumeUse {
  bool mounted = false;
  bool device = false;
};
VolumeUse UseOf(const core::Pod& pod, const std::string& volume);

}  // namespace csinative::volumemanager
