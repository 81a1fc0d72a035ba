// SPDX-License-Identifier: Apache-2.0
#include "test/integration/sidecar/container.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "lib/base/result.h"
#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;

constexpr char kRoot[] = "/mnt";

Status Mount(const char* source, const std::string& target, const char* type, unsigned long flags) {
  if (::mount(source, target.c_str(), type, flags, nullptr) == 0) return Status();
  return OsStatus(errno, "mount " + target);
}

Status RaiseLoopback() {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (::ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) return OsStatus(errno, "flags of lo");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0) return OsStatus(errno, "raise lo");
  return Status();
}

// Everything of the machine's root but what is to be empty.
Status FillRoot() {
  for (const auto& entry : fs::directory_iterator("/")) {
    const std::string name = entry.path().filename().string();
    const std::string target = StrCat(kRoot, "/", name);
    if (entry.is_symlink()) {
      fs::copy_symlink(entry.path(), target);
    } else if (entry.is_directory()) {
      fs::create_directory(target);
      if (name == "mnt" || name == "run") continue;
      CSI_RETURN_IF_ERROR(Mount(entry.path().c_str(), target, nullptr, MS_BIND | MS_REC));
    }
  }
  return Mount("tmpfs", StrCat(kRoot, "/var/lib"), "tmpfs", 0);
}

Status Enter() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) {
    return OsStatus(errno, "this test uses namespaces, so it needs root (CAP_SYS_ADMIN): unshare");
  }
  CSI_RETURN_IF_ERROR(Mount("none", "/", nullptr, MS_REC | MS_PRIVATE));
  CSI_RETURN_IF_ERROR(RaiseLoopback());
  CSI_RETURN_IF_ERROR(Mount("tmpfs", kRoot, "tmpfs", 0));
  CSI_RETURN_IF_ERROR(FillRoot());
  const std::string here = fs::current_path().string();
  if (::chroot(kRoot) != 0 || ::chdir(here.c_str()) != 0) return OsStatus(errno, "chroot");
  return Status();
}

}  // namespace

Status EnterContainer() {
  static const Status entered = Enter();
  return entered;
}

}  // namespace csinative
