// SPDX-License-Identifier: Apache-2.0
//
// Bodies of requests and answers for the log (kube-client 10.4). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace csinative::kube {

// Text as it is, anything else as a hex dump; cut to what the verbosity allows: nothing below 8,
// 1024 characters at 8, 10240 at 9, all from 10 on.
std::string BodyForLog(std::string_view body, int verbosity);

}  // namespace csinative::kube
