// SPDX-License-Identifier: Apache-2.0
//
// Zones and regions of classes and volumes, between the words of the in-tree plugins and those of
// their drivers (provisioner 16). Inside of this folder only; any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/base/result.h"

namespace csinative::translation {

// Between the zones of one volume, in its label.
inline constexpr std::string_view kZoneSeparator = "__";

inline constexpr std::string_view kPrefixedFsType = "csi.storage.k8s.io/fstype";

// What most plugins do with a class. Keys of parameters are taken in any letter case.
struct ClassRules {
  std::string_view zone_key;  // of the driver's topology
  // The parameters "zone" and "zones" become an allowed topology.
  enum class Zones { kStay, kBecomeTopology } zones = Zones::kStay;
  // "fstype" gets the prefix that keeps it from the driver.
  enum class FsType { kStays, kIsPrefixed } fs_type = FsType::kIsPrefixed;
};

// Parameters and allowed topologies by these rules; other parameters stay. Fails for a class with
// zones in both places.
Status TranslateClass(const ClassRules& rules, storage::StorageClass* klass);

// Renames the zones of the allowed topologies.
void RenameZones(std::string_view zone_key, storage::StorageClass* klass);

// The region that `region_of` gives each of these zones; an error when it is not the same.
Result<std::string> OneRegion(const std::set<std::string>& zones,
                              Result<std::string> (*region_of)(const std::string& zone));

// The region of all these zones, of which there is at least one.
using RegionOfZones = Result<std::string> (*)(const std::set<std::string>& zones);

// Node affinity and labels of a volume as the in-tree plugin has them: zones under the label of
// Kubernetes, and, if the plugin has regions, a region beside them. Null: it has none.
Status TopologyToInTree(std::string_view zone_key, RegionOfZones region_of,
                        core::PersistentVolume* volume);

// The label keys for zone and region that the volume uses already, else the current ones.
struct TopologyLabels {
  std::string_view zone;
  std::string_view region;
};
TopologyLabels LabelsOf(const core::PersistentVolume& volume);
// Gives a requirement on the volume's nodes another key.
void RenameRequirement(std::string_view from, std::string_view to, core::PersistentVolume* volume);
// What the volume's nodes must have under this key.
std::set<std::string> RequiredValues(const core::PersistentVolume& volume, std::string_view key);
// Unless the volume has such a label already.
void AddLabel(std::string_view key, const std::string& value, core::PersistentVolume* volume);

}  // namespace csinative::translation
