// SPDX-License-Identifier: Apache-2.0
//
// The file whose content Kubernetes shows as a container's last words.
#pragma once

#include <string>
#include <string_view>

#include "lib/log/logger.h"

namespace csinative::sidecar {

inline constexpr char kTerminationLogPath[] = "/dev/termination-log";

// Creates or truncates the file, mode 0644 when new. A failure is only logged (common 7.3).
void WriteTerminationLog(std::string_view message, const log::Logger& log,
                         const std::string& path = kTerminationLogPath);

}  // namespace csinative::sidecar
