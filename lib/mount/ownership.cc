// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/ownership.h"

#include <cerrno>

#include "lib/base/strings.h"

namespace csinative::mount {
namespace {

constexpr uint32_t kReadWrite = 0660;
constexpr uint32_t kEnter = 0110;
constexpr uint32_t kSetGid = 02000;

// The file system will not have it; another try would end the same way.
bool IsRefusal(const Status& status) {
  if (status.os_error() == nullptr) return false;
  switch (status.os_error()->error_number) {
    case EROFS:
    case EPERM:
    case EACCES:
    case EOPNOTSUPP:
    case ENOSYS:  // user space file systems without owners
    case EINVAL:  // a group that NFS cannot map
      return true;
    default:
      return false;
  }
}

class Walker {
 public:
  Walker(FileSystem& fs, uint32_t gid) : fs_(fs), gid_(gid) {}

  Status Walk(const std::string& path) {
    CSI_ASSIGN_OR_RETURN(const FileInfo info, fs_.Stat(path));
    if (info.type == FileType::kDirectory) {
      CSI_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, fs_.List(path));
      for (const DirectoryEntry& entry : entries) {
        Status walked = Walk(StrCat(path, "/", entry.name));
        // Somebody else may use the volume meanwhile.
        if (!walked.ok() && !IsMissing(walked)) return walked;
      }
    }
    SetEntry(path, info);
    return Status();
  }

  const Status& failure() const { return failure_; }
  const OwnershipRefusals& refusals() const { return refusals_; }

 private:
  void SetEntry(const std::string& path, const FileInfo& info) {
    Status grouped = info.gid == gid_ ? Status() : fs_.SetGroup(path, gid_);
    Status moded;
    if (info.type != FileType::kSymlink) {
      uint32_t mode = info.mode | kReadWrite;
      if (info.type == FileType::kDirectory) mode |= kSetGid | kEnter;
      // A change of the group clears set-user-ID and set-group-ID of files.
      if (mode != info.mode || info.gid != gid_) moded = fs_.SetMode(path, mode);
    }
    const bool refused = Note(grouped);
    if (Note(moded) || refused) ++refusals_.entries;
  }

  // True for a refusal.
  bool Note(const Status& status) {
    if (status.ok() || IsMissing(status)) return false;
    const bool refused = IsRefusal(status);
    Status& first = refused ? refusals_.first : failure_;
    if (first.ok()) first = status;
    return refused;
  }

  FileSystem& fs_;
  const uint32_t gid_;
  Status failure_;
  OwnershipRefusals refusals_;
};

bool RootMatches(const FileInfo& root, uint32_t gid) {
  constexpr uint32_t kWanted = kReadWrite | kEnter;
  return root.type == FileType::kDirectory && root.gid == gid && (root.mode & kWanted) == kWanted &&
         (root.mode & kSetGid) != 0;
}

}  // namespace

Result<OwnershipRefusals> SetVolumeOwnership(FileSystem& fs, const std::string& path,
                                             const OwnershipOptions& options) {
  if (options.change == OwnershipChange::kOnRootMismatch) {
    const auto root = fs.Stat(path);
    if (root.ok() && RootMatches(*root, options.gid)) return OwnershipRefusals();
  }
  Walker walker(fs, options.gid);
  CSI_RETURN_IF_ERROR(walker.Walk(path));
  CSI_RETURN_IF_ERROR(walker.failure());
  return walker.refusals();
}

}  // namespace csinative::mount
