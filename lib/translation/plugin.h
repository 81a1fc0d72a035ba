// SPDX-License-Identifier: Apache-2.0
//
// The in-tree plugins and the drivers that replace them, one row each (attacher 12.1,
// provisioner 16). Inside of
// this folder only; any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/base/result.h"

namespace csinative::translation {

struct Plugin {
  std::string_view driver;   // of CSI
  std::string_view in_tree;  // the plugin's name
  bool (*has_source)(const core::PersistentVolumeSource& source);
  // Fills `csi`, which has the driver's name, from the in-tree source. May change other fields of
  // the volume; its in-tree source is taken away by the caller.
  Status (*to_csi)(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi);
  void (*clear_source)(core::PersistentVolumeSource* source);
  // The in-tree source for what `csi`, taken out of the volume, says; topology, labels and
  // annotations as the plugin has them.
  Status (*to_in_tree)(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume);
  // Null: the driver understands the plugin's classes.
  Status (*class_to_csi)(storage::StorageClass* klass) = nullptr;
  // Null: handles are right as they are.
  Result<std::string> (*repair_handle)(const std::string& handle,
                                       const std::string& node_id) = nullptr;
  // Keys that to_csi reads; empty ones fill up.
  std::array<std::string_view, 2> labels = {};
  std::array<std::string_view, 2> annotations = {};
};

// Rows of the table.
extern const Plugin kGcePersistentDisk;
extern const Plugin kAwsElasticBlockStore;
extern const Plugin kAzureDisk;
extern const Plugin kAzureFile;
extern const Plugin kCinder;
extern const Plugin kVsphere;
extern const Plugin kPortworx;

std::span<const Plugin* const> Plugins();

}  // namespace csinative::translation
