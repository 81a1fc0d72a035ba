// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/termination_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/status.h"
#include "lib/base/unique_fd.h"

namespace csinative::sidecar {

void WriteTerminationLog(std::string_view message, const log::Logger& log,
                         const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  int error = fd.valid() ? 0 : errno;
  if (error == 0 &&
      ::write(fd.get(), message.data(), message.size()) != static_cast<ssize_t>(message.size())) {
    error = errno;
  }
  if (error == 0) return;
  log.Error(OsStatus(error, "open " + path), "Failed to write a message to the termination logfile",
            "terminationLogPath", path);
}

}  // namespace csinative::sidecar
