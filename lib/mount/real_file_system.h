// SPDX-License-Identifier: Apache-2.0
//
// The FileSystem of the machine. Every path is resolved by the kernel beneath a descriptor of the
// root, with symbolic links refused (openat2), so that nobody who can write below the root leads
// a call out of it. Needs Linux 5.6, and the right to mount for the calls that do.
#pragma once

#include <memory>
#include <string>

#include "lib/base/unique_fd.h"
#include "lib/mount/file_system.h"

namespace csinative::mount {

class RealFileSystem final : public FileSystem {
 public:
  // Creates the root (0750, parents too) if it is not there. The root itself may be reached over
  // links.
  static Result<std::unique_ptr<RealFileSystem>> Open(std::string root);

  const std::string& root() const override { return root_; }
  Result<FileInfo> Stat(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> List(const std::string& path) override;
  Result<std::string> ReadFile(const std::string& path) override;
  Status WriteFile(const std::string& path, const std::string& content, uint32_t mode) override;
  Status CreateFile(const std::string& path, uint32_t mode) override;
  Status MakeDirectories(const std::string& path, uint32_t mode) override;
  Status Remove(const std::string& path) override;
  Status MakeSymlink(const std::string& target, const std::string& path) override;
  Result<std::string> Resolve(const std::string& path) override;
  Status SetGroup(const std::string& path, uint32_t gid) override;
  Status SetMode(const std::string& path, uint32_t mode) override;
  Result<bool> IsMountPoint(const std::string& path) override;
  Result<MountTable> ReadMountTable() override;
  Status BindMount(const std::string& source, const std::string& target) override;
  Status Unmount(const std::string& path) override;
  // REQUIRES: no other call is in progress.
  Status ShareRoot() override;

 private:
  RealFileSystem(std::string root, std::string resolved, UniqueFd fd)
      : root_(std::move(root)), resolved_root_(std::move(resolved)), root_fd_(std::move(fd)) {}

  // O_CLOEXEC is added.
  Result<UniqueFd> OpenAt(const std::string& path, int flags) const;
  // The directory that holds the entry. REQUIRES: path != root().
  Result<UniqueFd> OpenParent(const std::string& path) const;

  const std::string root_;
  const std::string resolved_root_;  // what the kernel calls it
  UniqueFd root_fd_;
};

}  // namespace csinative::mount
