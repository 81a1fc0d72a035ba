// SPDX-License-Identifier: Apache-2.0
//
// Small text helpers, ASCII only unless said otherwise. Any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace csinative {

// Splits at every separator: "" gives one empty part. The views point into text.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The parts with separator between them. Parts convert to string_view.
template <typename Range>
std::string Join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    first = false;
    out += std::string_view(part);
  }
  return out;
}

// Without white space at both ends. White space is what Go's strings.TrimSpace removes, except
// for code points beyond ASCII.
std::string_view TrimSpace(std::string_view text);

bool EqualsIgnoreCase(std::string_view a, std::string_view b);
std::string ToLower(std::string_view text);
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);
// Lower-case hexadecimal digits, two a byte.
std::string HexEncode(std::string_view bytes);

namespace internal {
// One argument of StrCat as text. Numbers in decimal; a bool would be a mistake.
class CatPiece {
 public:
  CatPiece(std::string_view text) : text_(text) {}     // NOLINT: implicit
  CatPiece(const std::string& text) : text_(text) {}   // NOLINT: implicit
  CatPiece(const char* text) : text_(text) {}          // NOLINT: implicit
  CatPiece(char c) : digits_{c}, text_(digits_, 1) {}  // NOLINT: implicit
  CatPiece(bool) = delete;
  template <std::signed_integral T>
  CatPiece(T value) : CatPiece(value < 0, Magnitude(value)) {}  // NOLINT: implicit
  template <std::unsigned_integral T>
  CatPiece(T value) : CatPiece(false, static_cast<uint64_t>(value)) {}  // NOLINT: implicit
  CatPiece(const CatPiece&) = delete;
  CatPiece& operator=(const CatPiece&) = delete;

  std::string_view text() const { return text_; }

 private:
  CatPiece(bool negative, uint64_t magnitude);
  static uint64_t Magnitude(int64_t value) {
    return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  }

  char digits_[24] = {};
  std::string_view text_;
};
std::string CatPieces(std::initializer_list<std::string_view> pieces);
}  // namespace internal

// All arguments (text, characters and integers) as one string.
template <typename... T>
std::string StrCat(const T&... arguments) {
  return internal::CatPieces({internal::CatPiece(arguments).text()...});
}

}  // namespace csinative
