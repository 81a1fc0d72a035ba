// SPDX-License-Identifier: Apache-2.0
#include "lib/base/utf8.h"

namespace csinative {

Rune DecodeRune(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {static_cast<char32_t>(first), 1, true};
  size_t width = 0;
  char32_t value = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    width = 2;
    value = first & 0x1f;
  } else if (first >= 0xe0 && first <= 0xef) {
    width = 3;
    value = first & 0x0f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    width = 4;
    value = first & 0x07;
  } else {
    return {};
  }
  if (text.size() < width) return {};
  for (size_t i = 1; i < width; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3f);
  }
  const bool overlong = (width == 3 && value < 0x800) || (width == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (overlong || surrogate || value > 0x10ffff) return {};
  return {value, width, true};
}

void AppendRune(std::string& out, char32_t rune) {
  const auto put = [&](char32_t bits) {
    out += static_cast<char>(static_cast<unsigned char>(bits));
  };
  if (rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff)) rune = kReplacementRune;
  if (rune < 0x80) {
    put(rune);
  } else if (rune < 0x800) {
    put(0xc0 | (rune >> 6));
    put(0x80 | (rune & 0x3f));
  } else if (rune < 0x10000) {
    put(0xe0 | (rune >> 12));
    put(0x80 | ((rune >> 6) & 0x3f));
    put(0x80 | (rune & 0x3f));
  } else {
    put(0xf0 | (rune >> 18));
    put(0x80 | ((rune >> 12) & 0x3f));
    put(0x80 | ((rune >> 6) & 0x3f));
    put(0x80 | (rune & 0x3f));
  }
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.width);
  }
  return true;
}

}  // namespace csinative
