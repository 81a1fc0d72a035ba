// SPDX-License-Identifier: Apache-2.0
//
// Runs programs of the machine: mkfs, resize2fs, cp. Blocking pool.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"

namespace csinative::driver {

// Runs the program (looked up in PATH) to its end. The error of one that fails holds what it wrote.
Status RunTool(const std::vector<std::string>& arguments);

}  // namespace csinative::driver
