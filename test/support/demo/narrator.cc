// SPDX-License-Identifier: Apache-2.0
#include "test/support/demo/narrator.h"

#include <cstdio>

namespace csinative::demo {

void Narrator::Title(const std::string& text) {
  std::printf("\n%s\n", text.c_str());
  std::fflush(stdout);
}

void Narrator::Row(const std::string& actor, const std::string& object, const std::string& what) {
  if (!header_printed_) {
    header_printed_ = true;
    std::printf("%8s  %-11s  %-44s  %s\n", "elapsed", "who", "object", "what");
  }
  const double seconds = std::chrono::duration<double>(elapsed()).count();
  std::printf("%7.3fs  %-11s  %-44s  %s\n", seconds, actor.c_str(), object.c_str(), what.c_str());
  std::fflush(stdout);
}

}  // namespace csinative::demo
