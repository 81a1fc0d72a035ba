// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/tree.h"

#include "lib/base/strings.h"
#include "lib/mount/volume_data.h"

namespace csinative::mount {

Status RemoveIfPresent(FileSystem& fs, const std::string& path) {
  Status removed = fs.Remove(path);
  return IsMissing(removed) ? Status() : removed;
}

Status RemoveVolumeDirectory(FileSystem& fs, const std::string& directory,
                             const std::string& leaf) {
  const std::string path = StrCat(directory, "/", leaf);
  const auto mounted = fs.IsMountPoint(path);
  if (!mounted.ok() && !IsMissing(mounted.status())) return mounted.status();
  if (mounted.ok() && *mounted) return Status();
  Status removed = RemoveIfPresent(fs, path);
  if (!removed.ok()) {
    return removed.WithContext(StrCat("failed to remove dir [", path, "]"));
  }
  const std::string data = StrCat(directory, "/", kVolumeDataFile);
  removed = RemoveIfPresent(fs, data);
  if (!removed.ok()) {
    return removed.WithContext(StrCat("failed to delete volume data file [", data, "]"));
  }
  // Left by a crash in the middle of a write.
  removed = RemoveIfPresent(fs, StrCat(data, kTemporarySuffix));
  if (removed.ok()) removed = RemoveIfPresent(fs, directory);
  if (!removed.ok()) {
    return removed.WithContext(StrCat("failed to delete volume path [", directory, "]"));
  }
  return Status();
}

Status RemoveTree(FileSystem& fs, const std::string& path) {
  const auto info = fs.Stat(path);
  if (!info.ok()) return IsMissing(info.status()) ? Status() : info.status();
  const auto mounted = fs.IsMountPoint(path);
  if (!mounted.ok()) return mounted.status();
  if (*mounted) {
    return FailedPreconditionError(
        StrCat("cannot delete directory ", path, ": it is a mount point"));
  }
  if (info->type != FileType::kDirectory) return RemoveIfPresent(fs, path);
  CSI_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, fs.List(path));
  Status first;
  for (const DirectoryEntry& entry : entries) {
    Status removed = RemoveTree(fs, StrCat(path, "/", entry.name));
    if (first.ok()) first = removed;
  }
  return first.ok() ? RemoveIfPresent(fs, path) : first;
}

bool RemoveEmptyDirectories(FileSystem& fs, const std::string& path) {
  const auto mounted = fs.IsMountPoint(path);
  if (!mounted.ok()) return IsMissing(mounted.status());
  if (*mounted) return false;
  const auto entries = fs.List(path);
  if (!entries.ok()) return IsMissing(entries.status());
  bool empty = true;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.type != FileType::kDirectory ||
        !RemoveEmptyDirectories(fs, StrCat(path, "/", entry.name))) {
      empty = false;
    }
  }
  return empty && RemoveIfPresent(fs, path).ok();
}

Status UnmountAll(FileSystem& fs, const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const MountTable table, fs.ReadMountTable());
  for (const std::string& place : UnmountOrder(table, path)) {
    CSI_RETURN_IF_ERROR(fs.Unmount(place));
  }
  return Status();
}

}  // namespace csinative::mount
