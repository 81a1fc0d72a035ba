// SPDX-License-Identifier: Apache-2.0
//
// Which claims are this provisioner's business, and what a claim says about how to provision it
// (provisioner 5). Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"

namespace csinative::provisioner {

// The names this process answers to.
struct DriverNames {
  std::string driver;
  std::string in_tree;  // of the plugin that the driver replaces; empty: none

  bool Knows(std::string_view name) const {
    return name == driver || (!in_tree.empty() && name == in_tree);
  }
};

// The provisioner the claim asks for: the GA annotation, else the beta one.
std::optional<std::string> RequestedProvisioner(const core::PersistentVolumeClaim& claim);

// Whether the claim was handed from an in-tree plugin to this driver.
bool IsMigratedTo(const core::PersistentVolumeClaim& claim, std::string_view driver);

// The annotation wins whenever it exists, else spec.storageClassName, else "".
std::string ClassNameOf(const core::PersistentVolumeClaim& claim);

// The node the scheduler chose, by the current or else the alpha annotation; empty: none.
std::string SelectedNodeOf(const core::PersistentVolumeClaim& claim);

// Whether the scheduler has spoken, as WaitForFirstConsumer demands: the alpha key does not count.
bool HasSelectedNode(const core::PersistentVolumeClaim& claim);

// Unbound and ours: provisioner 5, steps 2, 3 and 5. What remains depends on the class.
bool IsCandidate(const core::PersistentVolumeClaim& claim, const DriverNames& names);

// Step 7: an immediate class, or a node is selected.
bool IsReadyToBind(const core::PersistentVolumeClaim& claim, const storage::StorageClass& klass);

}  // namespace csinative::provisioner
