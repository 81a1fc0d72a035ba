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

// What stays as it was because the volume does not let anybody change it: it is mounted read-only,
// its server maps root to nobody, or it has no owners and modes.
struct OwnershipRefusals {
  uint64_t entries = 0;
  Status first;
};

// Gives everything at and below `path` the group, and the group the right to read, write and enter;
// new files inherit it. Links themselves change their group, nothing is followed.
// Differs: an entry that is right already is not touched, and a change that fails for another
// reason than a refusal (an error of the device) fails the call once all others are done; upstream
// only logs it.
Result<OwnershipRefusals> SetVolumeOwnership(FileSystem& fs, const std::string& path,
                                             const OwnershipOptions& options);

}  // namespace csinative::mount
