// SPDX-License-Identifier: Apache-2.0
//
// What /proc/self/mountinfo says (volumemanager-csi 13). Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace csinative::mount {

struct MountEntry {
  int id = 0;
  int parent_id = 0;
  unsigned major = 0;
  unsigned minor = 0;
  std::string root;         // what of the filesystem is mounted
  std::string mount_point;  // where, without octal escapes
  std::vector<std::string> options;
  std::vector<std::string> optional_fields;  // "shared:7"
  std::string fs_type;
  std::string source;
  std::vector<std::string> super_options;

  bool SameDevice(const MountEntry& other) const {
    return major == other.major && minor == other.minor;
  }
  bool IsShared() const;
};

using MountTable = std::vector<MountEntry>;

// Fails on the first line that is not as proc(5) says.
Result<MountTable> ParseMountInfo(std::string_view text);

// The last entry whose mount point is `path` or contains it; null if there is none.
const MountEntry* FindMount(const MountTable& table, std::string_view path);

// Other places where the same piece of the same filesystem is mounted (bind mounts of it included),
// in the table's order. `path` need not be a mount point itself.
std::vector<std::string> MountReferences(const MountTable& table, std::string_view path);

// Whether one of these places keeps a staged volume in use: it lies elsewhere than below
// ".../plugins/kubernetes.io/" at the same place as `staging_path`.
bool HasForeignReference(std::string_view staging_path, const std::vector<std::string>& references);

// Mount points at or below `path`, deepest first, and the topmost mount of one place before those
// it hides: the order in which they can be unmounted.
std::vector<std::string> UnmountOrder(const MountTable& table, std::string_view path);

// Whether `path` is `base` or lies below it.
bool IsAtOrBelow(std::string_view path, std::string_view base);

}  // namespace csinative::mount
