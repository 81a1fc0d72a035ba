// SPDX-License-Identifier: Apache-2.0
//
// The part of the machine that a volume manager touches: directories, small files and the mount
// table below one root folder. An interface, so that simulation and tests have it in memory
// (test/support/fake_file_system.h).
//
// Calls block (a dead server behind a mount can hold any of them), so they belong on the blocking
// pool. Any thread, several at once. Paths are absolute, without "." and ".." and doubled slashes,
// and lie at or below root() unless said otherwise; no component below the root is followed if it
// is a symbolic link. A failure of the system is an OsStatus: IsMissing() asks for ENOENT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/mount/mount_table.h"

namespace csinative::mount {

// Of a file that is being written (FileSystem::WriteFile).
inline constexpr char kTemporarySuffix[] = ".tmp";

enum class FileType { kFile, kDirectory, kSymlink, kSocket, kBlockDevice, kOther };

struct FileInfo {
  FileType type = FileType::kOther;
  uint32_t mode = 0;  // permission bits, 07777
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // time of the last status change, since 1970
};

struct DirectoryEntry {
  std::string name;
  FileType type = FileType::kOther;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual const std::string& root() const = 0;

  // Of the entry itself.
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  // Sorted by name. Entries are not touched: one behind a dead mount does not hold the call.
  virtual Result<std::vector<DirectoryEntry>> List(const std::string& path) = 0;

  // Up to 1 MiB.
  virtual Result<std::string> ReadFile(const std::string& path) = 0;
  // All or nothing, also when the machine stops in between: written beside it as
  // "<name>.tmp" (kTemporarySuffix), made durable, renamed.
  virtual Status WriteFile(const std::string& path, const std::string& content, uint32_t mode) = 0;
  // An empty file; one that is there stays as it is.
  virtual Status CreateFile(const std::string& path, uint32_t mode) = 0;
  // With all parents below the root. What is there stays as it is, but must be a directory.
  virtual Status MakeDirectories(const std::string& path, uint32_t mode) = 0;
  // A file, a link or an empty directory. Never more than that one entry.
  virtual Status Remove(const std::string& path) = 0;
  // REQUIRES: nothing is at `path`.
  virtual Status MakeSymlink(const std::string& target, const std::string& path) = 0;
  // What `path` leads to when links are followed; may lie outside the root.
  virtual Result<std::string> Resolve(const std::string& path) = 0;

  // Of the entry itself.
  virtual Status SetGroup(const std::string& path, uint32_t gid) = 0;
  // REQUIRES: not a symbolic link.
  virtual Status SetMode(const std::string& path, uint32_t mode) = 0;

  // Whether something is mounted at exactly this place; bind mounts count.
  virtual Result<bool> IsMountPoint(const std::string& path) = 0;
  // Of this process's mount namespace, in the kernel's order.
  virtual Result<MountTable> ReadMountTable() = 0;
  // `source` is any existing path. REQUIRES: `target` exists and is of the same kind.
  virtual Status BindMount(const std::string& source, const std::string& target) = 0;
  // The topmost mount at `path`. Fails with EINVAL when there is none.
  virtual Status Unmount(const std::string& path) = 0;
  // Makes the root a mount whose changes other namespaces see, if it is none (volumemanager 2).
  virtual Status ShareRoot() = 0;
};

// The place does not exist.
bool IsMissing(const Status& status);
// The mount is broken: what answers at the place is an error of its server (volumemanager-csi 13).
bool IsCorruptedMount(const Status& status);

// Whether the path has the form that FileSystem takes, relative to `root`.
Status CheckPath(const std::string& root, const std::string& path);
// Whether a name from outside can be one component of a path: not empty, not "." or "..", no slash
// and no NUL.
bool IsPathComponent(std::string_view name);
std::string ParentOf(const std::string& path);
std::string NameOf(const std::string& path);

}  // namespace csinative::mount
