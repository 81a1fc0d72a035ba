// SPDX-License-Identifier: Apache-2.0
#include "test/support/demo/mount_namespace.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/strings.h"

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

void UnmountBelow(const std::string& folder) {
  std::vector<std::string> found;
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped, target;
    fields >> skipped >> skipped >> skipped >> skipped >> target;
    if (target.starts_with(folder + "/")) found.push_back(target);
  }
  for (auto it = found.rbegin(); it != found.rend(); ++it) ::umount2(it->c_str(), MNT_DETACH);
}

}  // namespace csinative::demo
