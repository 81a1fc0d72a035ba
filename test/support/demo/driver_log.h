// SPDX-License-Identifier: Apache-2.0
//
// Follows the sample driver's RPC log and tells of the calls. Loop only.
#pragma once

#include <functional>
#include <string>

#include "lib/async/task.h"

namespace csinative::demo {

struct DriverCall {
  std::string method;   // "CreateVolume"
  std::string request;  // JSON, secrets stripped
  std::string code;     // "OK", ...
};

// Reads the file until cancelled; each new line is one call. A file that is not there yet is waited
// for.
async::Task<void> FollowDriverLog(std::string path, std::function<void(const DriverCall&)> on_call);

}  // namespace csinative::demo
