// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as Go decodes it: an invalid byte stands for itself, one at a time. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace csinative {

inline constexpr char32_t kReplacementRune = 0xfffd;

struct Rune {
  char32_t value = kReplacementRune;
  size_t width = 1;    // bytes consumed
  bool valid = false;  // false: one byte that starts no valid sequence
};

// The first code point. REQUIRES: text is not empty.
Rune DecodeRune(std::string_view text);
void AppendRune(std::string& out, char32_t rune);
bool IsValidUtf8(std::string_view text);

// Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space of
// Unicode 15.0, the version Go 1.26 ships.
bool IsPrintRune(char32_t rune);

}  // namespace csinative
