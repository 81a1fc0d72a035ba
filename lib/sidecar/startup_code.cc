// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/startup_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace csinative::sidecar {
namespace {

// Takes the next field, up to a space, from the front of the line.
std::string_view TakeField(std::string_view* line) {
  const size_t start = std::min(line->find_first_not_of(' '), line->size());
  line->remove_prefix(start);
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view field = line->substr(0, end);
  line->remove_prefix(end);
  return field;
}

bool ParseHex(std::string_view text, unsigned long* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<CodeMapping> CodeMappings(std::string_view maps) {
  std::vector<CodeMapping> out;
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const std::string_view range = TakeField(&line);
    const std::string_view rights = TakeField(&line);
    TakeField(&line);  // offset
    TakeField(&line);  // device
    const std::string_view inode = TakeField(&line);
    const size_t dash = range.find('-');
    unsigned long begin = 0;
    unsigned long after = 0;
    if (dash == std::string_view::npos || !ParseHex(range.substr(0, dash), &begin) ||
        !ParseHex(range.substr(dash + 1), &after) || after <= begin) {
      continue;
    }
    // Private pages that were written to would be lost: code never is.
    if (rights != "r-xp" || inode.empty() || inode == "0") continue;
    out.push_back({.begin = begin, .bytes = after - begin});
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
