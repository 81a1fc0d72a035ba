// SPDX-License-Identifier: Apache-2.0
//
// A mount::FileSystem in memory, for controllers in virtual time. Several filesystems with trees of
// their own; mounts and bind mounts decide which of them a path leads to, as in the kernel. It
// outlives a simulated process, as a node outlives its daemon.
//
// Does not model: users and permission checks, hard links, mount propagation, space, mount options.
// Any one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/mount/file_system.h"

namespace csinative::testing {

class FakeFileSystem final : public mount::FileSystem {
 public:
  // `root` and its parents exist.
  explicit FakeFileSystem(std::string root = "/var/lib/kubelet");

  const std::string& root() const override { return root_; }
  Result<mount::FileInfo> Stat(const std::string& path) override;
  Result<std::vector<mount::DirectoryEntry>> List(const std::string& path) override;
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
  Result<mount::MountTable> ReadMountTable() override;
  Status BindMount(const std::string& source, const std::string& target) override;
  Status Unmount(const std::string& path) override;
  Status ShareRoot() override { return Status(); }

  // For the driver of a test. Mounts the filesystem `name` (made when first named) at a directory.
  Status MountFilesystem(const std::string& name, const std::string& path);
  // An entry of a kind that the interface cannot make.
  void MakeSpecial(const std::string& path, mount::FileType type);
  // As after a reboot.
  void ForgetMounts() { mounts_.clear(); }

  // Called before each call with its name ("Remove") and path; a failure is the call's answer.
  using Hook = std::function<Status(const std::string& operation, const std::string& path)>;
  void set_hook(Hook hook) { hook_ = std::move(hook); }

  // What is there now, sorted: entries below the root ("pods/u1/volumes/" with a slash for
  // directories; not what is inside of mounts), and mount points relative to the root.
  std::vector<std::string> Entries() const;
  std::vector<std::string> Mounts() const;

 private:
  using Place = std::pair<std::string, std::string>;  // filesystem, path in it ("" is its root)
  struct Node {
    mount::FileType type = mount::FileType::kDirectory;
    uint32_t mode = 0755;
    uint32_t gid = 0;
    uint64_t inode = 0;
    int64_t changed = 0;
    std::string content;  // of a file; target of a link
  };
  struct Mount {
    int id;
    std::string path;  // where
    Place shows;
  };

  Status Check(const char* operation, const std::string& path) const;
  // Through mounts. Fails as open would where a parent is missing or no directory.
  Result<Place> Locate(const char* operation, const std::string& path) const;
  Result<Node*> Find(const char* operation, const std::string& path);
  const Mount* MountAt(const std::string& path) const;
  Node* Put(const Place& place, mount::FileType type, uint32_t mode);
  bool HasChildren(const Place& place) const;

  const std::string root_;
  Hook hook_;
  std::map<Place, Node> nodes_;
  std::vector<Mount> mounts_;
  std::map<std::string, unsigned> devices_;  // minor numbers
  int next_id_ = 100;
  uint64_t next_inode_ = 1;
};

}  // namespace csinative::testing
