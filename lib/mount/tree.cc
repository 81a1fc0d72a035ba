// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/tree.h"

#include "lib/base/strings.h"
#include "lib/mount/volume_data.h"

namespace csinative::mount {
namespace {

// One entry that something was mounted on.
Status RemoveMountPlace(FileSystem& fs, const std::string& path) {
  const auto info = fs.Stat(path);
  if (!info.ok()) return IsMissing(info.status()) ? Status() : info.status();
  CSI_ASSIGN_OR_RETURN(const bool mounted, fs.IsMountPoint(path));
  if (mounted) {
    return FailedPreconditionError(StrCat("cannot remove ", path, ": it is a mount point"));
  }
  if (info->type == FileType::kFile) {
    CSI_ASSIGN_OR_RETURN(const std::string content, fs.ReadFile(path));
    if (!content.empty()) {
      return FailedPreconditionError(StrCat("cannot remove ", path, ": the file is not empty"));
    }
  }
  return RemoveIfPresent(fs, path);  // of a directory: only an empty one
}

}  // namespace

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

Status RemoveSubpaths(FileSystem& fs, const std::string& path) {
  const auto containers = fs.List(path);
  if (!containers.ok()) return IsMissing(containers.status()) ? Status() : containers.status();
  CSI_RETURN_IF_ERROR(UnmountAll(fs, path));
  Status first;
  auto note = [&first](Status status) {
    if (first.ok()) first = std::move(status);
  };
  for (const DirectoryEntry& container : *containers) {
    const std::string directory = StrCat(path, "/", container.name);
    if (container.type != FileType::kDirectory) {
      note(FailedPreconditionError(StrCat("cannot remove ", directory, ": it is no directory")));
      continue;
    }
    const auto indexes = fs.List(directory);
    if (!indexes.ok()) {
      note(indexes.status());
      continue;
    }
    Status removed;
    for (const DirectoryEntry& index : *indexes) {
      Status gone = RemoveMountPlace(fs, StrCat(directory, "/", index.name));
      if (removed.ok()) removed = std::move(gone);
    }
    note(removed.ok() ? RemoveIfPresent(fs, directory) : removed);
  }
  return first.ok() ? RemoveIfPresent(fs, path) : first;
}

}  // namespace csinative::mount
