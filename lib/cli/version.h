// SPDX-License-Identifier: Apache-2.0
//
// The version of this build and the text of --version (common 2.7). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace csinative::cli {

// "v1.2.3", from the one copy in the top CMakeLists.txt.
std::string_view BuildVersion();
// What --version writes to stdout, line feed included.
std::string VersionText(std::string_view program);

}  // namespace csinative::cli
