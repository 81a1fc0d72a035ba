// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/startup_code.h"

#include <sys/mman.h>

#include <fstream>
#include <sstream>
#include <string>

#include "lib/base/strings.h"

namespace csinative::sidecar {

std::vector<CodeMapping> CodeMappings(std::string_view maps) {
  std::vector<CodeMapping> out;
  for (const std::string_view line : Split(maps, '\n')) {
    std::istringstream fields{std::string(line)};
    unsigned long begin = 0;
    unsigned long end = 0;
    char dash = 0;
    std::string rights;
    std::string offset;
    std::string device;
    std::string inode;
    fields >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode;
    if (!fields || dash != '-' || end <= begin) continue;
    // Private pages that were written to would be lost: code never is.
    if (rights != "r-xp" || inode == "0") continue;
    out.push_back({.begin = begin, .bytes = end - begin});
  }
  return out;
}

void ReleaseStartupCode() {
  std::ifstream file("/proc/self/maps");
  std::ostringstream text;
  text << file.rdbuf();
  for (const CodeMapping& mapping : CodeMappings(text.str())) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the kernel names them
    (void)::madvise(reinterpret_cast<void*>(mapping.begin), mapping.bytes, MADV_DONTNEED);
  }
}

}  // namespace csinative::sidecar
