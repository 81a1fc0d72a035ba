// SPDX-License-Identifier: Apache-2.0
#include "test/integration/volumemanager/mount_namespace.h"

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>

namespace csinative {

Status EnterOwnMountNamespace() {
  if (::unshare(CLONE_NEWNS) != 0) {
    return OsStatus(errno, "this test mounts, so it needs root (CAP_SYS_ADMIN): unshare");
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return OsStatus(errno, "make the mounts of the test private");
  }
  return Status();
}

}  // namespace csinative
