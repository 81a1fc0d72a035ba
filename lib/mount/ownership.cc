// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/ownership.h"

#include "lib/base/strings.h"

namespace csinative::mount {
namespace {

constexpr uint32_t kReadWrite = 0660;
constexpr uint32_t kEnter = 0110;
constexpr uint32_t kSetGid = 02000;

// Kept in `first`.
void Note(Status* first, const Status& status) {
  if (first->ok()) *first = status;
}

void SetEntry(FileSystem& fs, const std::string& path, const FileInfo& info, uint32_t gid,
              Status* first) {
  if (info.gid != gid) Note(first, fs.SetGroup(path, gid));
  if (info.type == FileType::kSymlink) return;
  uint32_t mode = info.mode | kReadWrite;
  if (info.type == FileType::kDirectory) mode |= kSetGid | kEnter;
  // A change of the group clears set-user-ID and set-group-ID of files.
  if (mode != info.mode || info.gid != gid) Note(first, fs.SetMode(path, mode));
}

Status Walk(FileSystem& fs, const std::string& path, uint32_t gid, Status* first) {
  CSI_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  if (info.type == FileType::kDirectory) {
    CSI_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, fs.List(path));
    for (const DirectoryEntry& entry : entries) {
      Status walked = Walk(fs, StrCat(path, "/", entry.name), gid, first);
      // Somebody else may use the volume meanwhile.
      if (!walked.ok() && !IsMissing(walked)) return walked;
    }
  }
  SetEntry(fs, path, info, gid, first);
  return Status();
}

bool RootMatches(const FileInfo& root, uint32_t gid) {
  constexpr uint32_t kWanted = kReadWrite | kEnter;
  return root.type == FileType::kDirectory && root.gid == gid && (root.mode & kWanted) == kWanted &&
         (root.mode & kSetGid) != 0;
}

}  // namespace

Status SetVolumeOwnership(FileSystem& fs, const std::string& path,
                          const OwnershipOptions& options) {
  if (options.change == OwnershipChange::kOnRootMismatch) {
    const auto root = fs.Stat(path);
    if (root.ok() && RootMatches(*root, options.gid)) return Status();
  }
  Status first;
  CSI_RETURN_IF_ERROR(Walk(fs, path, options.gid, &first));
  return first;
}

}  // namespace csinative::mount
