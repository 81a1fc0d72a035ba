// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/node_volume.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "test/support/driver/loop_device.h"
#include "test/support/driver/mounter.h"

namespace csinative::driver {
namespace {

namespace fs = std::filesystem;

Status Fail(Code code, std::string message) {
  return RpcStatus(static_cast<int>(code), std::move(message));
}

// Nothing for a path that is not there.
std::optional<struct stat> Look(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return info;
}

// The device number of the image's loop device; nothing if it has none.
Result<std::optional<dev_t>> LoopNumber(const std::string& image) {
  CSI_ASSIGN_OR_RETURN(std::optional<std::string> device, FindLoopDevice(image));
  if (!device) return std::optional<dev_t>();
  std::optional<struct stat> info = Look(*device);
  return info ? std::optional<dev_t>(info->st_rdev) : std::nullopt;
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? OsStatus(error.value(), "mkdir " + path) : Status();
}

// A file to bind a device over.
Status MakeFile(const std::string& path) {
  CSI_RETURN_IF_ERROR(MakeFolder(fs::path(path).parent_path()));
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0660));
  return fd.valid() ? Status() : OsStatus(errno, "create " + path);
}

int64_t TreeBytes(const std::string& folder) {
  int64_t sum = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error)) {
    struct stat info{};
    if (lstat(entry.path().c_str(), &info) == 0) sum += info.st_blocks * 512;
  }
  return sum;
}

}  // namespace

Result<NodeVolume> NodeVolume::Open(std::string folder) {
  Result<Volume> volume = VolumeStore::Read(folder);
  if (!volume.ok()) return Fail(Code::kNotFound, volume.status().message());
  return NodeVolume(std::move(folder), std::move(volume).value());
}

Result<bool> NodeVolume::IsAt(const std::string& path) const {
  const std::optional<struct stat> there = Look(path);
  if (!there) return false;
  if (!volume_.image) {
    const std::optional<struct stat> here = Look(data());
    if (!here || here->st_dev != there->st_dev || here->st_ino != there->st_ino) return false;
    return IsMountPoint(path);
  }
  CSI_ASSIGN_OR_RETURN(std::optional<dev_t> loop, LoopNumber(image()));
  if (!loop) return false;
  if (S_ISBLK(there->st_mode)) return there->st_rdev == *loop;
  return there->st_dev == *loop;
}

Status NodeVolume::MountAt(const std::string& path, const Access& access) const {
  MountOptions options = ParseMountOptions(access.mount_flags);
  if (access.read_only) options.flags |= MS_RDONLY;
  if (!volume_.image) {
    if (!options.data.empty()) {
      return Fail(Code::kInvalidArgument, "a folder has no mount option " + options.data);
    }
    return BindMount(data(), path, options.flags);
  }
  CSI_ASSIGN_OR_RETURN(const std::string device, AttachLoopDevice(image()));
  CSI_RETURN_IF_ERROR(RefreshLoopDevice(device));
  std::string wanted = access.fs_type.empty() ? volume_.fs_type : access.fs_type;
  CSI_ASSIGN_OR_RETURN(std::string found, DetectFilesystem(device));
  if (found.empty()) {
    if (wanted.empty()) wanted = "ext4";
    CSI_RETURN_IF_ERROR(MakeFilesystem(device, wanted));
    found = wanted;
  } else if (!wanted.empty() && wanted != found) {
    return Fail(Code::kInvalidArgument,
                StrCat("the volume has the filesystem ", found, ", not ", wanted));
  }
  CSI_RETURN_IF_ERROR(MountFilesystem(device, path, found, options));
  // A copy may be larger than its source.
  const bool copied = !volume_.source_snapshot.empty() || !volume_.source_volume.empty();
  if (copied && (options.flags & MS_RDONLY) == 0) return GrowFilesystem(device, path, found);
  return Status();
}

Status NodeVolume::Stage(const std::string& node_id, const std::string& staging,
                         const Access& access) const {
  if (access.block && !volume_.block) {
    return Fail(Code::kInvalidArgument, "the volume has a filesystem");
  }
  // The mark comes first: a crash in between leaves a volume that cannot be deleted until it is
  // unstaged, and not a mount without volume.
  CSI_RETURN_IF_ERROR(VolumeStore::SetStaged(folder_, node_id, true));
  if (access.block) {
    CSI_ASSIGN_OR_RETURN(const std::string device, AttachLoopDevice(image()));
    return RefreshLoopDevice(device);
  }
  CSI_RETURN_IF_ERROR(MakeFolder(staging));
  CSI_ASSIGN_OR_RETURN(const bool mounted, IsMountPoint(staging));
  if (!mounted) return MountAt(staging, access);
  CSI_ASSIGN_OR_RETURN(const bool ours, IsAt(staging));
  return ours ? Status() : Fail(Code::kInternal, "another volume is at the staging path");
}

Result<bool> NodeVolume::HasOtherTarget(const std::string& staging,
                                        const std::string& target) const {
  dev_t device = 0;
  if (volume_.block) {
    // Targets are binds of one file of the filesystem of /dev.
    const std::optional<struct stat> dev = Look("/dev");
    if (dev) device = dev->st_dev;
  } else if (volume_.image) {
    CSI_ASSIGN_OR_RETURN(std::optional<dev_t> loop, LoopNumber(image()));
    if (!loop) return false;
    device = *loop;
  } else if (const std::optional<struct stat> here = Look(data())) {
    device = here->st_dev;
  }
  const std::string number = StrCat(major(device), ":", minor(device));
  CSI_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  for (const MountEntry& entry : table) {
    if (entry.device != number || entry.target == staging || entry.target == target) continue;
    CSI_ASSIGN_OR_RETURN(const bool ours, IsAt(entry.target));
    if (ours) return true;
  }
  return false;
}

Status NodeVolume::Publish(const std::string& staging, const std::string& target,
                           const Access& access) const {
  if (access.block != volume_.block) {
    return Fail(Code::kInvalidArgument, "the volume has the other access type");
  }
  CSI_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  const auto known = std::find_if(table.rbegin(), table.rend(),
                                  [&](const MountEntry& entry) { return entry.target == target; });
  if (known != table.rend()) {
    CSI_ASSIGN_OR_RETURN(const bool ours, IsAt(target));
    if (ours && known->read_only == access.read_only) return Status();
    return Fail(Code::kAlreadyExists, "the target shows something else");
  }
  if (access.single_writer) {
    CSI_ASSIGN_OR_RETURN(const bool elsewhere, HasOtherTarget(staging, target));
    if (elsewhere) return Fail(Code::kFailedPrecondition, "the volume has another target here");
  }
  if (access.block) {
    std::string device;
    if (staging.empty()) {
      CSI_ASSIGN_OR_RETURN(device, AttachLoopDevice(image()));
    } else {
      CSI_ASSIGN_OR_RETURN(std::optional<std::string> staged, FindLoopDevice(image()));
      if (!staged) return Fail(Code::kFailedPrecondition, "the volume is not staged");
      device = *staged;
    }
    CSI_RETURN_IF_ERROR(MakeFile(target));
    return BindMount(device, target, access.read_only ? MS_RDONLY : 0);
  }
  if (!staging.empty()) {
    CSI_ASSIGN_OR_RETURN(const bool staged, IsAt(staging));
    if (!staged) return Fail(Code::kFailedPrecondition, "the volume is not staged");
  }
  CSI_RETURN_IF_ERROR(MakeFolder(target));
  if (staging.empty()) return MountAt(target, access);
  MountOptions options = ParseMountOptions(access.mount_flags);
  if (access.read_only) options.flags |= MS_RDONLY;
  return BindMount(staging, target, options.flags);
}

Status NodeVolume::Unstage(const std::string& folder, const std::string& node_id,
                           const std::string& staging) {
  CSI_RETURN_IF_ERROR(UnmountAll(staging));
  CSI_RETURN_IF_ERROR(DetachLoopDevice(folder + "/image"));
  return VolumeStore::SetStaged(folder, node_id, false);
}

Status NodeVolume::Unpublish(const std::string& folder, const std::string& target) {
  CSI_RETURN_IF_ERROR(UnmountAll(target));
  if (remove(target.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return OsStatus(errno, "remove " + target);
  }
  Result<Volume> volume = VolumeStore::Read(folder);
  if (!volume.ok()) return Status();
  if (volume->ephemeral) {
    CSI_RETURN_IF_ERROR(DetachLoopDevice(folder + "/image"));
    return VolumeStore::Remove(folder);
  }
  // Without a stage the device came with the target.
  if (volume->image && !VolumeStore::IsStaged(folder)) return DetachLoopDevice(folder + "/image");
  return Status();
}

Result<NodeVolume::Usage> NodeVolume::Stats(const std::string& path) const {
  CSI_ASSIGN_OR_RETURN(const bool here, IsAt(path));
  if (!here) return Fail(Code::kNotFound, "the volume is not at " + path);
  Usage usage;
  // A file "abnormal" in the volume's folder makes it so: a switch for tests.
  std::ifstream abnormal(folder_ + "/abnormal");
  if (abnormal) {
    std::getline(abnormal, usage.abnormal);
    if (usage.abnormal.empty()) usage.abnormal = "abnormal";
  }
  usage.total_bytes = volume_.capacity_bytes;
  usage.block = volume_.block;
  if (volume_.block) return usage;
  struct statvfs info{};
  if (statvfs(path.c_str(), &info) != 0) return OsStatus(errno, "statvfs " + path);
  const auto unit = static_cast<int64_t>(info.f_frsize);
  if (volume_.image) {
    usage.total_bytes = static_cast<int64_t>(info.f_blocks) * unit;
    usage.available_bytes = static_cast<int64_t>(info.f_bavail) * unit;
    usage.used_bytes = static_cast<int64_t>(info.f_blocks - info.f_bfree) * unit;
  } else {
    // The filesystem below is everybody's: count what is in the folder.
    usage.used_bytes = TreeBytes(data());
    usage.available_bytes = std::max<int64_t>(0, usage.total_bytes - usage.used_bytes);
  }
  usage.total_inodes = static_cast<int64_t>(info.f_files);
  usage.available_inodes = static_cast<int64_t>(info.f_favail);
  usage.used_inodes = static_cast<int64_t>(info.f_files - info.f_ffree);
  return usage;
}

Result<int64_t> NodeVolume::Expand(const std::string& path, int64_t required_bytes) const {
  CSI_ASSIGN_OR_RETURN(const bool here, IsAt(path));
  if (!here) return Fail(Code::kNotFound, "the volume is not at " + path);
  Volume grown = volume_;
  grown.capacity_bytes = std::max(grown.capacity_bytes, required_bytes);
  if (!volume_.image) return grown.capacity_bytes;
  CSI_RETURN_IF_ERROR(VolumeStore::Grow(folder_, grown));
  CSI_ASSIGN_OR_RETURN(std::optional<std::string> device, FindLoopDevice(image()));
  if (!device) return Fail(Code::kFailedPrecondition, "the volume is not staged");
  CSI_RETURN_IF_ERROR(RefreshLoopDevice(*device));
  if (volume_.block) return grown.capacity_bytes;
  CSI_ASSIGN_OR_RETURN(const std::string fs_type, DetectFilesystem(*device));
  CSI_RETURN_IF_ERROR(GrowFilesystem(*device, path, fs_type));
  return grown.capacity_bytes;
}

}  // namespace csinative::driver
