// SPDX-License-Identifier: Apache-2.0
//
// JSON string literals as the Go writers we stand in for write them. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace csinative {

enum class JsonEscaping {
  kHtml,   // encoding/json's default: also \u003c, \u003e, \u0026
  kPlain,  // encoding/json with HTML escaping off
  kZap,    // the JSON log: only \" \\ \n \r \t and \u00NN (common 5.11)
};

// Appends text with the quotes. Invalid UTF-8 becomes \ufffd, one for each byte.
void AppendJsonString(std::string& out, std::string_view text,
                      JsonEscaping escaping = JsonEscaping::kPlain);
std::string JsonString(std::string_view text, JsonEscaping escaping = JsonEscaping::kPlain);

}  // namespace csinative
