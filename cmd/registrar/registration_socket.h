// SPDX-License-Identifier: Apache-2.0
//
// The file of the registration socket: what stands there before, how it is made, how it goes
// (registrar 3.3, 3.7). Its appearance registers the driver, its removal takes the registration
// back. Loop only.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::registrar {

// "<directory>/<driver>-reg.sock". Neither part is checked or cleaned.
std::string SocketPath(std::string_view directory, std::string_view driver);

// Whether a socket, or a link to one, is there. Fails when it is something else or cannot be told.
Result<bool> SocketExists(const std::string& path);

// Unlinks a socket, live or not. Nothing there is fine; anything else stays and is an error.
Status RemoveStaleSocket(const std::string& path);

class RegistrationSocket {
 public:
  explicit RegistrationSocket(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Runs `listen`, which binds the path, so that only this user may connect (mode 0700). The
  // process's umask is as before afterwards. Threads that make files would see the other one.
  Status Create(const std::function<Status()>& listen);

  // Whether nothing is at the path.
  bool Missing() const;

  enum class Removal {
    kRemoved,
    kMissing,  // nothing there
    kNotOurs,  // another process's socket
  };
  // Takes the registration back. Removes whatever is at the path, a file or an empty folder too,
  // as upstream does.
  // Differs: another process's socket stays (docs/compatibility.md, csi-node-driver-registrar).
  Result<Removal> Remove() const;

 private:
  struct Identity {
    dev_t device;
    ino_t inode;
  };

  const std::string path_;
  // Of the file that Create made. The kernel does not reuse it while the socket listens.
  std::optional<Identity> created_;
};

}  // namespace csinative::registrar
