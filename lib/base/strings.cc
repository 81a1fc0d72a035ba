// SPDX-License-Identifier: Apache-2.0
#include "lib/base/strings.h"

#include <algorithm>
#include <charconv>

namespace csinative {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view TrimSpace(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string ToLower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) return std::string(text);
  while (true) {
    const size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

std::string HexEncode(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

namespace internal {

CatPiece::CatPiece(bool negative, uint64_t magnitude) {
  digits_[0] = '-';
  char* const first = digits_ + (negative ? 1 : 0);
  const auto end = std::to_chars(first, digits_ + sizeof(digits_), magnitude);
  text_ = std::string_view(digits_, static_cast<size_t>(end.ptr - digits_));
}

std::string CatPieces(std::initializer_list<std::string_view> pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  std::string out;
  out.reserve(size);
  for (const auto& piece : pieces) out += piece;
  return out;
}

}  // namespace internal
}  // namespace csinative
