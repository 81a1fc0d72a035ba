// SPDX-License-Identifier: Apache-2.0
#include "test/support/demo/mount_namespace.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "lib/base/result.h"
#include "lib/base/strings.h"
#include "lib/mount/mount_table.h"

namespace csinative::demo {
namespace {

Status Denied(std::string text) { return Status(Code::kPermissionDenied, std::move(text)); }

Status Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  if (file.good()) return Status();
  return Denied(StrCat("cannot write ", path));
}

}  // namespace

Status EnterMountNamespace() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (uid == 0) {
    if (::unshare(CLONE_NEWNS) != 0) {
      return Denied(StrCat("unshare(CLONE_NEWNS): ", std::strerror(errno)));
    }
  } else {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return Denied(StrCat("unshare(CLONE_NEWUSER|CLONE_NEWNS): ", std::strerror(errno),
                           "; run it as root, or allow user namespaces (sysctl "
                           "kernel.unprivileged_userns_clone=1)"));
    }
    CSI_RETURN_IF_ERROR(Write("/proc/self/setgroups", "deny"));
    CSI_RETURN_IF_ERROR(Write("/proc/self/uid_map", StrCat("0 ", uid, " 1")));
    CSI_RETURN_IF_ERROR(Write("/proc/self/gid_map", StrCat("0 ", gid, " 1")));
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return Denied(StrCat("making mounts private: ", std::strerror(errno)));
  }
  return Status();
}

Result<std::vector<std::string>> MountPointsAtOrBelow(const std::string& folder) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CSI_ASSIGN_OR_RETURN(const mount::MountTable table, mount::ParseMountInfo(text));
  return mount::UnmountOrder(table, folder);
}

void UnmountAtOrBelow(const std::string& folder) {
  const auto points = MountPointsAtOrBelow(folder);
  if (!points.ok()) return;
  for (const std::string& point : *points) {
    ::umount2(point.c_str(), MNT_DETACH);
  }
}

}  // namespace csinative::demo
