// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/mounter.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "test/support/driver/tool.h"

namespace csinative::driver {
namespace {

struct NamedFlag {
  std::string_view name;
  unsigned long set;
  unsigned long clear;
};
constexpr NamedFlag kFlags[] = {
    {"ro", MS_RDONLY, 0},         {"rw", 0, MS_RDONLY},
    {"noatime", MS_NOATIME, 0},   {"nodiratime", MS_NODIRATIME, 0},
    {"relatime", MS_RELATIME, 0}, {"strictatime", MS_STRICTATIME, 0},
    {"nosuid", MS_NOSUID, 0},     {"nodev", MS_NODEV, 0},
    {"noexec", MS_NOEXEC, 0},     {"sync", MS_SYNCHRONOUS, 0},
    {"dirsync", MS_DIRSYNC, 0},   {"defaults", 0, 0},
};
// What a remount can change for one bind mount.
constexpr unsigned long kBindFlags = MS_RDONLY | MS_NOATIME | MS_NODIRATIME | MS_RELATIME |
                                     MS_STRICTATIME | MS_NOSUID | MS_NODEV | MS_NOEXEC;

// Paths in the mount table have blanks and backslashes as \ooo.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3') {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Result<std::vector<MountEntry>> ReadMountTable() {
  std::ifstream in("/proc/self/mountinfo");
  if (!in) return OsStatus(errno, "open /proc/self/mountinfo");
  std::vector<MountEntry> out;
  std::string line;
  while (std::getline(in, line)) {
    // id parent major:minor root target options …
    const std::vector<std::string_view> fields = Split(line, ' ');
    if (fields.size() < 6) continue;
    const std::vector<std::string_view> options = Split(fields[5], ',');
    out.push_back({Unescape(fields[4]), std::string(fields[2]),
                   std::find(options.begin(), options.end(), "ro") != options.end()});
  }
  return out;
}

Result<bool> IsMountPoint(const std::string& path) {
  CSI_ASSIGN_OR_RETURN(std::vector<MountEntry> table, ReadMountTable());
  return std::any_of(table.begin(), table.end(),
                     [&](const MountEntry& entry) { return entry.target == path; });
}

MountOptions ParseMountOptions(const std::vector<std::string>& options) {
  MountOptions out;
  std::vector<std::string> rest;
  for (const std::string& list : options) {
    for (std::string_view option : Split(list, ',')) {
      if (option.empty()) continue;
      const auto* known = std::find_if(std::begin(kFlags), std::end(kFlags),
                                       [&](const NamedFlag& flag) { return flag.name == option; });
      if (known == std::end(kFlags)) {
        rest.emplace_back(option);
        continue;
      }
      out.flags = (out.flags & ~known->clear) | known->set;
    }
  }
  out.data = Join(rest, ",");
  return out;
}

Status BindMount(const std::string& source, const std::string& target, unsigned long flags) {
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return OsStatus(errno, "bind " + source + " to " + target);
  }
  flags &= kBindFlags;
  if (flags == 0) return Status();
  if (mount(nullptr, target.c_str(), nullptr, MS_BIND | MS_REMOUNT | flags, nullptr) != 0) {
    const Status failure = OsStatus(errno, "remount " + target);
    umount2(target.c_str(), MNT_DETACH);
    return failure;
  }
  return Status();
}

Status MountFilesystem(const std::string& device, const std::string& target,
                       const std::string& fs_type, const MountOptions& options) {
  std::string data = options.data;
  // Copies of one filesystem have one UUID, which XFS refuses to mount twice.
  if (fs_type == "xfs") data += data.empty() ? "nouuid" : ",nouuid";
  if (mount(device.c_str(), target.c_str(), fs_type.c_str(), options.flags, data.c_str()) != 0) {
    return OsStatus(errno, "mount " + device + " at " + target + " with options \"" + data + "\"");
  }
  return Status();
}

Status UnmountAll(const std::string& target) {
  while (umount2(target.c_str(), UMOUNT_NOFOLLOW) == 0) {
  }
  // EINVAL: nothing is mounted there.
  if (errno == EINVAL || errno == ENOENT) return Status();
  return OsStatus(errno, "unmount " + target);
}

Result<std::string> DetectFilesystem(const std::string& device) {
  UniqueFd fd(open(device.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return OsStatus(errno, "open " + device);
  std::array<unsigned char, 4096> head{};
  const ssize_t n = pread(fd.get(), head.data(), head.size(), 0);
  if (n < 0) return OsStatus(errno, "read " + device);
  if (std::memcmp(head.data(), "XFSB", 4) == 0) return std::string("xfs");
  // The ext superblock starts at byte 1024, its magic number at 56.
  if (head[1024 + 56] == 0x53 && head[1024 + 57] == 0xef) return std::string("ext4");
  return std::string();
}

Status MakeFilesystem(const std::string& device, const std::string& fs_type) {
  if (fs_type == "ext4") {
    return RunTool({"mkfs.ext4", "-q", "-F", "-m", "0", device});
  }
  if (fs_type == "xfs") return RunTool({"mkfs.xfs", "-q", "-f", device});
  return InvalidArgumentError("unknown filesystem " + fs_type);
}

Status GrowFilesystem(const std::string& device, const std::string& mount_point,
                      const std::string& fs_type) {
  if (fs_type == "xfs") return RunTool({"xfs_growfs", mount_point});
  return RunTool({"resize2fs", device});
}

}  // namespace csinative::driver
