// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/driver_watch.h"

#include <string_view>
#include <utility>

#include "lib/async/sleep.h"

namespace csinative::registrar {

std::optional<std::string> SocketFile(const std::string& address) {
  std::string_view path = address;
  if (path.starts_with("unix://")) {
    path.remove_prefix(7);
  } else if (path.starts_with("unix:")) {
    path.remove_prefix(5);
  } else if (!path.starts_with('/')) {
    return std::nullopt;
  }
  return std::string(path);
}

bool DriverWatch::Identity::operator==(const Identity& other) const {
  return device == other.device && inode == other.inode && changed.tv_sec == other.changed.tv_sec &&
         changed.tv_nsec == other.changed.tv_nsec;
}

DriverWatch::DriverWatch(Config config)
    : config_(std::move(config)), file_(SocketFile(config_.address)), known_(Look()) {}

std::optional<DriverWatch::Identity> DriverWatch::Look() const {
  struct stat info = {};
  if (!file_ || ::stat(file_->c_str(), &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino, info.st_ctim};
}

async::Task<Result<std::string>> DriverWatch::WaitForOtherName() {
  while (true) {
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(config_.interval));
    const std::optional<Identity> now = Look();
    if (!now || now == known_) continue;
    Result<std::string> name = co_await config_.ask_name();
    if (!name.ok()) {
      // Asked again after the next interval, because the file is still a new one.
      config_.log.V(2).Info("CSI driver was restarted and does not tell its name yet", "err",
                            name.status());
      continue;
    }
    if (*name != config_.driver) co_return name;
    config_.log.V(2).Info("CSI driver was restarted", "csiDriverName", *name);
    known_ = now;
  }
}

}  // namespace csinative::registrar
