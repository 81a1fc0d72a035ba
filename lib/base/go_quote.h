// SPDX-License-Identifier: Apache-2.0
//
// Go's quoted string literals: %q, strconv.Quote and the text log (common 5.5). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace csinative {

// Appends text in double quotes. Printable code points stay as they are, the others become \x, \u
// or \U escapes; each byte of invalid UTF-8 becomes \xNN.
void AppendGoQuoted(std::string& out, std::string_view text);
// The same with every code point beyond ASCII as \u or \U (strconv.QuoteToASCII).
void AppendGoQuotedAscii(std::string& out, std::string_view text);

std::string GoQuote(std::string_view text);
// One character in single quotes (%q of a rune).
std::string GoQuoteRune(char32_t rune);

}  // namespace csinative
