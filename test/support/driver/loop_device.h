// SPDX-License-Identifier: Apache-2.0
//
// Loop devices over image files. The kernel is the only record of which image has a device, so a
// restarted driver finds its devices again. Root only; blocking pool.
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace csinative::driver {

// The device ("/dev/loop3") that has the image as its backing file.
Result<std::optional<std::string>> FindLoopDevice(const std::string& image);
// FindLoopDevice, or a new device.
Result<std::string> AttachLoopDevice(const std::string& image);
// Takes the image's device away; Ok if it has none. A device that is still in use goes with its
// last user.
Status DetachLoopDevice(const std::string& image);
// Makes a grown image visible as the size of its device.
Status RefreshLoopDevice(const std::string& device);

}  // namespace csinative::driver
