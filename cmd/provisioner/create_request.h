// SPDX-License-Identifier: Apache-2.0
//
// The parts of a CreateVolume request that follow from claim and class alone (provisioner 7, steps
// 10 to 13). Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/base/result.h"
#include "lib/csi/access_modes.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::provisioner {

struct VolumeNaming {
  std::string prefix = "pvc";
  // -1: the whole UID with its dashes; n: its first n characters without dashes.
  int64_t uuid_length = -1;
};

// The name of the volume and of its object. Fails without a prefix, without a UID, and for a length
// that would give several claims one name or that a UID does not have.
Result<std::string> VolumeName(const VolumeNaming& naming, std::string_view claim_uid);

// Requested bytes, rounded up; 0 when the claim requests nothing.
Result<int64_t> RequestedBytes(const core::PersistentVolumeClaim& claim);

bool IsBlock(const core::PersistentVolumeClaim& claim);

// One capability for each access mode of the claim, in its order (provisioner 7.2). Fails for an
// unknown mode.
Result<std::vector<::csi::v1::VolumeCapability>> VolumeCapabilities(
    const core::PersistentVolumeClaim& claim, const storage::StorageClass& klass,
    const std::string& fs_type, csi::SingleNodeMultiWriter driver);

}  // namespace csinative::provisioner
