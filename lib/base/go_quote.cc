// SPDX-License-Identifier: Apache-2.0
#include "lib/base/go_quote.h"

#include "lib/base/utf8.h"

namespace csinative {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendHex(std::string& out, char32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kHex[(value >> shift) & 15];
}

// The letter after the backslash of a short escape, or 0.
char ShortEscape(char32_t rune) {
  switch (rune) {
    case '\a':
      return 'a';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    default:
      return 0;
  }
}

void AppendEscaped(std::string& out, char32_t rune, char quote, bool ascii_only) {
  if (rune == static_cast<unsigned char>(quote) || rune == '\\') {
    out += '\\';
    out += static_cast<char>(rune);
  } else if (rune < 0x80 ? rune >= 0x20 && rune != 0x7f : !ascii_only && IsPrintRune(rune)) {
    AppendRune(out, rune);
  } else if (const char letter = ShortEscape(rune)) {
    out += '\\';
    out += letter;
  } else if (rune < 0x80) {
    out += "\\x";
    AppendHex(out, rune, 2);
  } else if (rune < 0x10000) {
    out += "\\u";
    AppendHex(out, rune, 4);
  } else {
    out += "\\U";
    AppendHex(out, rune, 8);
  }
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void AppendQuoted(std::string& out, std::string_view text, bool ascii_only) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Rune rune = DecodeRune(text);
    if (rune.valid) {
      AppendEscaped(out, rune.value, '"', ascii_only);
    } else {
      out += "\\x";
      AppendHex(out, static_cast<unsigned char>(text[0]), 2);
    }
    text.remove_prefix(rune.width);
  }
  out += '"';
}

}  // namespace

void AppendGoQuoted(std::string& out, std::string_view text) { AppendQuoted(out, text, false); }
void AppendGoQuotedAscii(std::string& out, std::string_view text) { AppendQuoted(out, text, true); }

std::string GoQuote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  AppendGoQuoted(out, text);
  return out;
}

std::string GoQuoteRune(char32_t rune) {
  std::string out = "'";
  AppendEscaped(out, rune, '\'', false);
  out += '\'';
  return out;
}

}  // namespace csinative
