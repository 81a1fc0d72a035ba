// SPDX-License-Identifier: Apache-2.0
//
// Which volumes are this provisioner's business, and which of them are to be deleted (provisioner
// 13.1, 13.3). Pure functions; any thread.
#pragma once

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/claim_filter.h"

namespace csinative::provisioner {

// Also true for volumes that somebody made by hand for this driver.
bool IsOwned(const core::PersistentVolume& volume, const DriverNames& names);

// The volume is ours.
bool ShouldDelete(const core::PersistentVolume& volume);

// Whether a sync of the volume would do anything at all: what the queue takes.
bool NeedsSync(const core::PersistentVolume& volume, const DriverNames& names);

}  // namespace csinative::provisioner
