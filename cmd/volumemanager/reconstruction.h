// SPDX-License-Identifier: Apache-2.0
//
// What is on disk when the process starts (volumemanager 11): directories and vol_data.json tell
// which volumes an earlier run has, or may have, mounted. Needs neither the API server nor a
// driver, and trusts nothing about what is really mounted.
//
// Differs: staged volumes without any pod are found too; upstream leaks them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/volumemanager/actual_state.h"
#include "cmd/volumemanager/paths.h"
#include "lib/mount/file_system.h"

namespace csinative::volumemanager {

struct FoundVolume {
  VolumeSpec spec;
  std::string device_mount_path;
  // Of its pods, by UID: volumes of several names can share a handle.
  std::map<std::string, VolumeSpec> pods;
};

// A pod's volume that is mounted, and whose vol_data.json does not say which one it is.
struct UnreadableVolume {
  std::string uid;
  std::string name;  // of its directory: that of its PersistentVolume
};

struct DiskScan {
  std::vector<FoundVolume> volumes;
  std::vector<std::string> pods;      // UIDs that have a directory
  std::vector<std::string> failures;  // what could not be read or removed, for the log
  std::vector<UnreadableVolume> unreadable;
  bool refused = false;  // something could not be removed: a new scan tries again
};

// Removes what a crash has left of staging directories before anything was staged in them, or after
// it was undone. Blocking pool.
DiskScan ScanDisk(mount::FileSystem& fs, const Paths& paths);

// Enters everything as uncertain.
void AddFound(const DiskScan& scan, ActualState* state);

// Enters a volume that could not be read, once it is known what it may be. It is in use and stays
// as it is until its pod mounts it again: what is mounted there was not seen.
void AddUnreadable(const VolumeSpec& spec, const std::string& uid, const Paths& paths,
                   ActualState* state);

}  // namespace csinative::volumemanager
