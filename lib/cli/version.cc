// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/version.h"

#include "lib/base/strings.h"

namespace csinative::cli {

std::string_view BuildVersion() { return "v" CSI_NATIVE_VERSION; }

std::string VersionText(std::string_view program) {
  return StrCat(program, " ", BuildVersion(), "\n");
}

}  // namespace csinative::cli
