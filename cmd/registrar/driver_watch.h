// SPDX-License-Identifier: Apache-2.0
//
// Notices that another driver has come to the driver's socket: a driver that restarts may answer
// with another name, and the registration under the old one would be wrong for ever. Looks at the
// socket's file now and then, and asks for the name only when the file is a new one. Loop only.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>

#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/log/logger.h"

namespace csinative::registrar {

// The path that is dialled for a --csi-address; nullopt for addresses without a file.
std::optional<std::string> SocketFile(const std::string& address);

class DriverWatch {
 public:
  struct Config {
    std::string address;  // --csi-address
    std::string driver;   // the name that is registered
    log::Logger log;
    // Connects and asks; the name or why not.
    std::function<async::Task<Result<std::string>>()> ask_name;
    // Six wakeups a minute, beside about 120 of the gRPC library.
    Duration interval = std::chrono::seconds(10);
  };
  // REQUIRES: the driver has just answered, so that what is at the address is the driver.
  explicit DriverWatch(Config config);

  // Waits for another name and returns it, or the reason of a cancellation.
  async::Task<Result<std::string>> WaitForOtherName();

 private:
  struct Identity {
    dev_t device;
    ino_t inode;
    timespec changed;  // inode numbers are used again
    bool operator==(const Identity& other) const;
  };
  std::optional<Identity> Look() const;

  const Config config_;
  const std::optional<std::string> file_;
  std::optional<Identity> known_;
};

}  // namespace csinative::registrar
