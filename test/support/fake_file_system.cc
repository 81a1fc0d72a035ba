// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_file_system.h"

#include <algorithm>
#include <cerrno>

#include "lib/base/strings.h"

namespace csinative::testing {
namespace {

using mount::FileType;

constexpr char kBase[] = "base";

Status Errno(int error, const char* operation, const std::string& path) {
  return OsStatus(error, StrCat(operation, " ", path));
}

}  // namespace

FakeFileSystem::FakeFileSystem(std::string root) : root_(std::move(root)) {
  Put({kBase, ""}, FileType::kDirectory, 0755);
  for (size_t end = root_.find('/', 1);; end = root_.find('/', end + 1)) {
    Put({kBase, root_.substr(0, end)}, FileType::kDirectory, 0755);
    if (end == std::string::npos) break;
  }
}

FakeFileSystem::Node* FakeFileSystem::Put(const Place& place, FileType type, uint32_t mode) {
  Node node;
  node.type = type;
  node.mode = mode;
  node.inode = next_inode_++;
  node.changed = static_cast<int64_t>(node.inode);
  devices_.emplace(place.first, devices_.size() + 1);
  return &(nodes_[place] = node);
}

Status FakeFileSystem::Check(const char* operation, const std::string& path) const {
  if (hook_) CSI_RETURN_IF_ERROR(hook_(operation, path));
  return Status();
}

const FakeFileSystem::Mount* FakeFileSystem::MountAt(const std::string& path) const {
  const auto found = std::find_if(mounts_.rbegin(), mounts_.rend(),
                                  [&](const Mount& m) { return m.path == path; });
  return found == mounts_.rend() ? nullptr : &*found;
}

Result<FakeFileSystem::Place> FakeFileSystem::Locate(const char* operation,
                                                     const std::string& path) const {
  Place place{kBase, ""};
  for (size_t start = 1; start <= path.size();) {
    const auto parent = nodes_.find(place);
    if (parent == nodes_.end()) return Errno(ENOENT, operation, path);
    if (parent->second.type == FileType::kSymlink) return Errno(ELOOP, operation, path);
    if (parent->second.type != FileType::kDirectory) return Errno(ENOTDIR, operation, path);
    const size_t end = std::min(path.find('/', start), path.size());
    place.second += "/" + path.substr(start, end - start);
    if (const Mount* mounted = MountAt(path.substr(0, end))) place = mounted->shows;
    start = end + 1;
  }
  return place;
}

Result<FakeFileSystem::Node*> FakeFileSystem::Find(const char* operation, const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const Place place, Locate(operation, path));
  const auto found = nodes_.find(place);
  if (found == nodes_.end()) return Errno(ENOENT, operation, path);
  return &found->second;
}

bool FakeFileSystem::HasChildren(const Place& place) const {
  const auto next = nodes_.lower_bound({place.first, place.second + "/"});
  return next != nodes_.end() && next->first.first == place.first &&
         next->first.second.starts_with(place.second + "/");
}

Result<mount::FileInfo> FakeFileSystem::Stat(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("Stat", path));
  CSI_ASSIGN_OR_RETURN(const Node* node, Find("lstat", path));
  mount::FileInfo info;
  info.type = node->type;
  info.mode = node->mode;
  info.gid = node->gid;
  info.inode = node->inode;
  info.changed_ns = node->changed;
  return info;
}

Result<std::vector<mount::DirectoryEntry>> FakeFileSystem::List(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("List", path));
  CSI_ASSIGN_OR_RETURN(const Node* node, Find("open", path));
  if (node->type != FileType::kDirectory) return Errno(ENOTDIR, "open", path);
  CSI_ASSIGN_OR_RETURN(const Place place, Locate("open", path));
  std::vector<mount::DirectoryEntry> entries;
  const std::string prefix = place.second + "/";
  for (auto at = nodes_.lower_bound({place.first, prefix});
       at != nodes_.end() && at->first.first == place.first && at->first.second.starts_with(prefix);
       ++at) {
    const std::string name = at->first.second.substr(prefix.size());
    if (name.find('/') == std::string::npos) entries.push_back({name, at->second.type});
  }
  return entries;
}

Result<std::string> FakeFileSystem::ReadFile(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("ReadFile", path));
  CSI_ASSIGN_OR_RETURN(const Node* node, Find("open", path));
  if (node->type == FileType::kSymlink) return Errno(ELOOP, "open", path);
  if (node->type == FileType::kDirectory) return Errno(EISDIR, "read", path);
  return node->content;
}

Status FakeFileSystem::WriteFile(const std::string& path, const std::string& content,
                                 uint32_t mode) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("WriteFile", path));
  CSI_RETURN_IF_ERROR(Find("open", mount::ParentOf(path)).status());
  CSI_ASSIGN_OR_RETURN(const Place place, Locate("create", path));
  Put(place, FileType::kFile, mode)->content = content;
  return Status();
}

Status FakeFileSystem::CreateFile(const std::string& path, uint32_t mode) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("CreateFile", path));
  CSI_RETURN_IF_ERROR(Find("open", mount::ParentOf(path)).status());
  CSI_ASSIGN_OR_RETURN(const Place place, Locate("create", path));
  if (!nodes_.contains(place)) Put(place, FileType::kFile, mode);
  return Status();
}

Status FakeFileSystem::MakeDirectories(const std::string& path, uint32_t mode) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("MakeDirectories", path));
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    CSI_ASSIGN_OR_RETURN(const Place place, Locate("mkdir", part));
    const auto found = nodes_.find(place);
    if (found == nodes_.end()) {
      Put(place, FileType::kDirectory, mode);
    } else if (found->second.type == FileType::kSymlink) {
      return Errno(ELOOP, "mkdir", path);
    } else if (found->second.type != FileType::kDirectory) {
      return Errno(ENOTDIR, "mkdir", path);
    }
    if (end == std::string::npos) return Status();
  }
}

Status FakeFileSystem::Remove(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("Remove", path));
  CSI_ASSIGN_OR_RETURN(const Node* node, Find("remove", path));
  CSI_ASSIGN_OR_RETURN(const Place place, Locate("remove", path));
  if (MountAt(path) != nullptr) return Errno(EBUSY, "remove", path);
  if (node->type == FileType::kDirectory && HasChildren(place)) {
    return Errno(ENOTEMPTY, "remove", path);
  }
  nodes_.erase(place);
  return Status();
}

Status FakeFileSystem::MakeSymlink(const std::string& target, const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("MakeSymlink", path));
  CSI_RETURN_IF_ERROR(Find("open", mount::ParentOf(path)).status());
  CSI_ASSIGN_OR_RETURN(const Place place, Locate("symlink", path));
  if (nodes_.contains(place)) return Errno(EEXIST, "symlink", path);
  Put(place, FileType::kSymlink, 0777)->content = target;
  return Status();
}

Result<std::string> FakeFileSystem::Resolve(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("Resolve", path));
  CSI_ASSIGN_OR_RETURN(const Node* node, Find("resolve", path));
  // Only the last component can be a link here.
  return node->type == FileType::kSymlink ? node->content : path;
}

Status FakeFileSystem::SetGroup(const std::string& path, uint32_t gid) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("SetGroup", path));
  CSI_ASSIGN_OR_RETURN(Node * node, Find("lchown", path));
  node->gid = gid;
  return Status();
}

Status FakeFileSystem::SetMode(const std::string& path, uint32_t mode) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("SetMode", path));
  CSI_ASSIGN_OR_RETURN(Node * node, Find("chmod", path));
  node->mode = mode;
  return Status();
}

Result<bool> FakeFileSystem::IsMountPoint(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("IsMountPoint", path));
  CSI_RETURN_IF_ERROR(Find("statx", path).status());
  return MountAt(path) != nullptr;
}

Result<mount::MountTable> FakeFileSystem::ReadMountTable() {
  CSI_RETURN_IF_ERROR(Check("ReadMountTable", root_));
  mount::MountTable table;
  auto add = [&](int id, const std::string& path, const Place& shows) {
    mount::MountEntry entry;
    entry.id = id;
    entry.minor = devices_.at(shows.first);
    entry.root = shows.second.empty() ? "/" : shows.second;
    entry.mount_point = path;
    entry.fs_type = "fake";
    entry.source = shows.first;
    table.push_back(std::move(entry));
  };
  add(1, "/", {kBase, ""});
  for (const Mount& mounted : mounts_) add(mounted.id, mounted.path, mounted.shows);
  return table;
}

Status FakeFileSystem::BindMount(const std::string& source, const std::string& target) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, target));
  CSI_RETURN_IF_ERROR(Check("BindMount", target));
  CSI_RETURN_IF_ERROR(Find("mount", target).status());
  CSI_RETURN_IF_ERROR(Find("mount", source).status());
  CSI_ASSIGN_OR_RETURN(const Place shows, Locate("mount", source));
  mounts_.push_back({next_id_++, target, shows});
  return Status();
}

Status FakeFileSystem::Unmount(const std::string& path) {
  CSI_RETURN_IF_ERROR(mount::CheckPath(root_, path));
  CSI_RETURN_IF_ERROR(Check("Unmount", path));
  const Mount* top = MountAt(path);
  if (top == nullptr) return Errno(EINVAL, "unmount", path);
  const int id = top->id;
  for (const Mount& other : mounts_) {
    if (other.path != path && mount::IsAtOrBelow(other.path, path)) {
      return Errno(EBUSY, "unmount", path);
    }
  }
  std::erase_if(mounts_, [id](const Mount& m) { return m.id == id; });
  return Status();
}

Status FakeFileSystem::MountFilesystem(const std::string& name, const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const Node* node, Find("mount", path));
  if (node->type != FileType::kDirectory) return Errno(ENOTDIR, "mount", path);
  if (!nodes_.contains({name, ""})) Put({name, ""}, FileType::kDirectory, 0755);
  mounts_.push_back({next_id_++, path, {name, ""}});
  return Status();
}

void FakeFileSystem::MakeSpecial(const std::string& path, FileType type) {
  const auto place = Locate("mknod", path);
  if (place.ok()) Put(*place, type, 0600);
}

std::vector<std::string> FakeFileSystem::Entries() const {
  std::vector<std::string> out;
  for (const auto& [place, node] : nodes_) {
    if (place.first != kBase || place.second.size() <= root_.size() ||
        !mount::IsAtOrBelow(place.second, root_)) {
      continue;
    }
    out.push_back(StrCat(place.second.substr(root_.size() + 1),
                         node.type == FileType::kDirectory ? "/" : ""));
  }
  return out;
}

std::vector<std::string> FakeFileSystem::Mounts() const {
  std::vector<std::string> out;
  for (const Mount& mounted : mounts_) out.push_back(mounted.path.substr(root_.size() + 1));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace csinative::testing
