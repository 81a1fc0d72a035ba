// SPDX-License-Identifier: Apache-2.0
//
// The PersistentVolume object for a volume that the driver created (provisioner 10.2). Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/provisioner/secret_templates.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::provisioner {

// What a class says about Secrets, resolved for one claim.
struct SecretReferences {
  std::optional<core::SecretReference> provisioner;
  std::optional<core::SecretReference> controller_publish;
  std::optional<core::SecretReference> node_stage;
  std::optional<core::SecretReference> node_publish;
  std::optional<core::SecretReference> controller_expand;
  std::optional<core::SecretReference> node_expand;
  std::optional<core::SecretReference> controller_modify;
};

// The claim as the volume refers to it.
core::ObjectReference ClaimReference(const core::PersistentVolumeClaim& claim);

// Everything the object is made of. Borrowed parts outlive the call.
struct VolumeRecipe {
  std::string driver;
  std::string identity;  // of this provisioner, for the volume attributes
  std::string name;
  const core::PersistentVolumeClaim* claim = nullptr;
  const storage::StorageClass* klass = nullptr;
  std::string provisioned_by;  // of the class as it is stored
  std::string fs_type;
  int64_t capacity_bytes = 0;
  bool read_only = false;  // provisioner 10.3
  std::string attributes_class;
  SecretReferences secrets;
  const ::csi::v1::Volume* volume = nullptr;
  std::optional<core::VolumeNodeAffinity> node_affinity;
};

core::PersistentVolume BuildVolume(const VolumeRecipe& recipe);

}  // namespace csinative::provisioner
