// SPDX-License-Identifier: Apache-2.0
//
// Code that only the start of a program needs: a third of its resident memory.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace csinative::sidecar {

struct CodeMapping {
  unsigned long begin = 0;
  size_t bytes = 0;

  bool operator==(const CodeMapping&) const = default;
};

// The mappings of files that may be executed and not written, of a text in the form of
// /proc/self/maps. Lines of another form are left out. Any thread.
std::vector<CodeMapping> CodeMappings(std::string_view maps);

// Gives back the pages of this process that hold code. What is used again comes back from the page
// cache, 16 pages at a time; the rest, most of it what ran at the start, no longer counts as ours
// and is the first that the kernel takes when memory is short. Any thread; a few hundred
// microseconds.
void ReleaseStartupCode();

}  // namespace csinative::sidecar
