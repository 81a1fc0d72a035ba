// SPDX-License-Identifier: Apache-2.0
//
// Per-file verbosity: the grammar and the matching of --vmodule (common 2.3, 5.10).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace csinative::log {

struct VmoduleRule {
  std::string pattern;
  int level = 0;
};

// Parses "pattern=N,…". The message of a failure is the reason a flag error quotes.
Result<std::vector<VmoduleRule>> ParseVmodule(std::string_view text);
// The same list as text.
std::string FormatVmodule(const std::vector<VmoduleRule>& rules);

// Decimal 0…2147483647 without sign or prefix: the grammar of -v and of N above.
Result<int> ParseLevel(std::string_view text);

// The level that the first matching rule gives to a source file, or -1. module is the base name of
// the file without extension. Rules of level 0 are ignored.
int VmoduleLevel(const std::vector<VmoduleRule>& rules, std::string_view module);

// Shell pattern as Go's filepath.Match reads it; a malformed one matches nothing.
bool MatchGlob(std::string_view pattern, std::string_view name);

// Last path element, and the same without ".cc", ".cpp" or ".h".
std::string_view BaseName(std::string_view path);
std::string_view ModuleName(std::string_view path);

}  // namespace csinative::log
