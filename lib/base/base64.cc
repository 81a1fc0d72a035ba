// SPDX-License-Identifier: Apache-2.0
#include "lib/base/base64.h"

#include <array>
#include <cstdint>

#include "lib/base/strings.h"

namespace csinative {
namespace {

struct Alphabet {
  char index62;
  char index63;
  bool padded;
};
constexpr Alphabet kStandard{'+', '/', true};
constexpr Alphabet kUrl{'-', '_', false};

char Digit(unsigned value, const Alphabet& alphabet) {
  if (value < 26) return static_cast<char>('A' + value);
  if (value < 52) return static_cast<char>('a' + value - 26);
  if (value < 62) return static_cast<char>('0' + value - 52);
  return value == 62 ? alphabet.index62 : alphabet.index63;
}

// The value of a digit, or -1.
int DigitValue(char c, const Alphabet& alphabet) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == alphabet.index62) return 62;
  return c == alphabet.index63 ? 63 : -1;
}

std::string Encode(std::string_view bytes, const Alphabet& alphabet) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      if (k <= count) {
        out += Digit((group >> (18 - 6 * k)) & 63, alphabet);
      } else if (alphabet.padded) {
        out += '=';
      }
    }
  }
  return out;
}

Status Malformed(size_t at) {
  return InvalidArgumentError(StrCat("illegal base64 data at input byte ", at));
}

Result<std::string> Decode(std::string_view text, const Alphabet& alphabet) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;
    if (c == '=' && alphabet.padded && digits >= 2 && digits + padding < 4) {
      ++padding;
      continue;
    }
    const int value = DigitValue(c, alphabet);
    if (value < 0 || padding > 0) return Malformed(i);
    group = (group << 6) | static_cast<uint32_t>(value);
    if (++digits == 4) {
      for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(group >> shift & 255);
      group = 0;
      digits = 0;
    }
  }
  if (digits == 0) return out;
  if (digits == 1 || (alphabet.padded && digits + padding != 4)) return Malformed(text.size());
  out += static_cast<char>(group >> (digits == 2 ? 4 : 10) & 255);
  if (digits == 3) out += static_cast<char>(group >> 2 & 255);
  return out;
}

}  // namespace

std::string Base64Encode(std::string_view bytes) { return Encode(bytes, kStandard); }
Result<std::string> Base64Decode(std::string_view text) { return Decode(text, kStandard); }
std::string Base64UrlEncode(std::string_view bytes) { return Encode(bytes, kUrl); }
Result<std::string> Base64UrlDecode(std::string_view text) { return Decode(text, kUrl); }

}  // namespace csinative
