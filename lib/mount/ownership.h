// SPDX-License-Identifier: Apache-2.0
//
// The group of a pod's volume (volumemanager 14.4): children before their directory, the root last,
// so that an interrupted run leaves a root that does not match. Blocking pool.
#pragma once

#include <string>

#include "lib/mount/file_system.h"

namespace csinative::mount {

enum class OwnershipChange { kAlways, kOnRootMismatch };

struct OwnershipOptions {
  uint32_t gid = 0;
  OwnershipChange change = OwnershipChange::kAlways;
};

// Gives everything at and below `path` the group, and the group the right to read, write and enter;
// new files inherit it. Links themselves change their group, nothing is followed.
// Differs: an entry that is right already is not touched, and an entry that cannot be changed fails
// the call once all others are done; upstream only logs it.
Status SetVolumeOwnership(FileSystem& fs, const std::string& path, const OwnershipOptions& options);

}  // namespace csinative::mount
