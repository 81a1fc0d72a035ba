// SPDX-License-Identifier: Apache-2.0
//
// Mounts, unmounts and the filesystems on devices, by system calls and the mkfs tools. The kernel's
// mount table is the only record. Root only; blocking pool.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace csinative::driver {

struct MountEntry {
  std::string target;
  std::string device;  // "major:minor" of the filesystem
  bool read_only = false;
};

// The mount table, oldest first.
Result<std::vector<MountEntry>> ReadMountTable();
// The last mount at exactly this path.
Result<bool> IsMountPoint(const std::string& path);

// Mount options by name, as in StorageClass.mountOptions.
struct MountOptions {
  unsigned long flags = 0;  // MS_…
  std::string data;         // what is left, for the filesystem
};
MountOptions ParseMountOptions(const std::vector<std::string>& options);

// Binds a folder or file over `target`, which exists, with the flags that a bind mount can have.
Status BindMount(const std::string& source, const std::string& target, unsigned long flags);
Status MountFilesystem(const std::string& device, const std::string& target,
                       const std::string& fs_type, const MountOptions& options);
// Until nothing is mounted at the path; Ok if nothing is, or if there is no such path.
Status UnmountAll(const std::string& target);

// "ext4", "xfs", or "" for a device or image that starts with neither.
Result<std::string> DetectFilesystem(const std::string& device);
// kInvalidArgument for a type that the driver does not know.
Status MakeFilesystem(const std::string& device, const std::string& fs_type);
// Grows the mounted filesystem to the size of its device.
Status GrowFilesystem(const std::string& device, const std::string& mount_point,
                      const std::string& fs_type);

}  // namespace csinative::driver
