// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>

#include "lib/base/unique_fd.h"

namespace csinative::driver {
namespace {

namespace fs = std::filesystem;

constexpr int kLoopMajor = 7;
// Another process can take the free device between the question and the use.
constexpr int kAttempts = 50;

Result<UniqueFd> Open(const std::string& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC));
  if (!fd.valid()) return OsStatus(errno, "open " + path);
  return fd;
}

// The node of a loop device; made when the machine's /dev lacks it.
Result<UniqueFd> OpenDevice(int number) {
  const std::string path = "/dev/loop" + std::to_string(number);
  if (access(path.c_str(), F_OK) != 0 &&
      mknod(path.c_str(), S_IFBLK | 0660, makedev(kLoopMajor, static_cast<unsigned>(number))) !=
          0 &&
      errno != EEXIST) {
    return OsStatus(errno, "mknod " + path);
  }
  return Open(path, O_RDWR);
}

}  // namespace

Result<std::optional<std::string>> FindLoopDevice(const std::string& image) {
  struct stat wanted{};
  if (stat(image.c_str(), &wanted) != 0) {
    if (errno == ENOENT) return std::optional<std::string>();
    return OsStatus(errno, "stat " + image);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/block", error)) {
    const std::string name = entry.path().filename();
    // Only devices that are in use have the folder "loop".
    if (!name.starts_with("loop") || !fs::exists(entry.path() / "loop", error)) continue;
    Result<UniqueFd> device = Open("/dev/" + name, O_RDONLY);
    if (!device.ok()) continue;
    loop_info64 info{};
    if (ioctl(device->get(), LOOP_GET_STATUS64, &info) != 0) continue;
    if (info.lo_device == wanted.st_dev && info.lo_inode == wanted.st_ino) {
      return std::optional<std::string>("/dev/" + name);
    }
  }
  return std::optional<std::string>();
}

Result<std::string> AttachLoopDevice(const std::string& image) {
  CSI_ASSIGN_OR_RETURN(std::optional<std::string> known, FindLoopDevice(image));
  if (known) return *known;
  CSI_ASSIGN_OR_RETURN(UniqueFd control, Open("/dev/loop-control", O_RDWR));
  CSI_ASSIGN_OR_RETURN(UniqueFd backing, Open(image, O_RDWR));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return OsStatus(errno, "LOOP_CTL_GET_FREE");
    CSI_ASSIGN_OR_RETURN(UniqueFd device, OpenDevice(number));
    loop_config config{};
    config.fd = static_cast<unsigned>(backing.get());
    config.block_size = 512;
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) {
      return "/dev/loop" + std::to_string(number);
    }
    if (errno != EBUSY) return OsStatus(errno, "LOOP_CONFIGURE " + image);
  }
  return UnavailableError("no free loop device");
}

Status DetachLoopDevice(const std::string& image) {
  CSI_ASSIGN_OR_RETURN(std::optional<std::string> known, FindLoopDevice(image));
  if (!known) return Status();
  CSI_ASSIGN_OR_RETURN(UniqueFd device, Open(*known, O_RDONLY));
  if (ioctl(device.get(), LOOP_CLR_FD) != 0 && errno != ENXIO) {
    return OsStatus(errno, "LOOP_CLR_FD " + *known);
  }
  return Status();
}

Status RefreshLoopDevice(const std::string& device) {
  CSI_ASSIGN_OR_RETURN(UniqueFd fd, Open(device, O_RDWR));
  if (ioctl(fd.get(), LOOP_SET_CAPACITY) != 0) {
    return OsStatus(errno, "LOOP_SET_CAPACITY " + device);
  }
  return Status();
}

}  // namespace csinative::driver
