// SPDX-License-Identifier: Apache-2.0
//
// Where a volume has to be accessible from: the accessibility_requirements of CreateVolume, and
// what the driver's answer means for the PersistentVolume (topology 6, 7). Loop only.
#pragma once

#include <optional>
#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/provisioner/node_topology.h"
#include "cmd/provisioner/topology_memory.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::provisioner {

struct TopologyPolicy {
  bool strict = false;    // --strict-topology
  bool immediate = true;  // --immediate-topology
};

// Borrowed parts outlive the call.
struct AccessibilityInputs {
  std::string driver;
  std::string claim_name;
  std::string selected_node;  // empty: none
  const storage::StorageClass* klass = nullptr;
  TopologyPolicy policy;
};

// The requirements, or nothing when the driver may choose. Reads and fills *remembered. The failure
// has kNotFound with an API error when the selected node's CSINode is gone: another node may do.
Result<std::optional<::csi::v1::TopologyRequirement>> AccessibilityRequirements(
    const AccessibilityInputs& inputs, const NodeTopology& nodes, Random& random,
    RememberedTopology* remembered);

// Node affinity from the answer's accessible_topology; nothing for an empty list.
std::optional<core::VolumeNodeAffinity> NodeAffinityOf(const ::csi::v1::Volume& volume);

}  // namespace csinative::provisioner
