// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json_string.h"

#include "lib/base/utf8.h"

namespace csinative {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool IsHtml(unsigned char c) { return c == '<' || c == '>' || c == '&'; }

bool IsPlain(unsigned char c, JsonEscaping escaping) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' &&
         (escaping != JsonEscaping::kHtml || !IsHtml(c));
}

void AppendAscii(std::string& out, unsigned char c, JsonEscaping escaping) {
  char letter = 0;
  switch (c) {
    case '"':
    case '\\':
      letter = static_cast<char>(c);
      break;
    case '\n':
      letter = 'n';
      break;
    case '\r':
      letter = 'r';
      break;
    case '\t':
      letter = 't';
      break;
    case '\b':
      if (escaping != JsonEscaping::kZap) letter = 'b';
      break;
    case '\f':
      if (escaping != JsonEscaping::kZap) letter = 'f';
      break;
    default:
      break;
  }
  if (letter != 0) {
    out += '\\';
    out += letter;
  } else if (c < 0x20 || (escaping == JsonEscaping::kHtml && IsHtml(c))) {
    out += "\\u00";
    out += kHex[c >> 4];
    out += kHex[c & 15];
  } else {
    out += static_cast<char>(c);
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text, JsonEscaping escaping) {
  out += '"';
  while (true) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(static_cast<unsigned char>(text[plain]), escaping)) {
      ++plain;
    }
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) {
      AppendAscii(out, first, escaping);
      text.remove_prefix(1);
      continue;
    }
    const Rune rune = DecodeRune(text);
    const bool line_separator = rune.value == 0x2028 || rune.value == 0x2029;
    if (!rune.valid) {
      out += "\\ufffd";
    } else if (line_separator && escaping != JsonEscaping::kZap) {
      out += rune.value == 0x2028 ? "\\u2028" : "\\u2029";
    } else {
      out += text.substr(0, rune.width);
    }
    text.remove_prefix(rune.width);
  }
  out += '"';
}

std::string JsonString(std::string_view text, JsonEscaping escaping) {
  std::string out;
  out.reserve(text.size() + 2);
  AppendJsonString(out, text, escaping);
  return out;
}

}  // namespace csinative
