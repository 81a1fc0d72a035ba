// SPDX-License-Identifier: Apache-2.0
//
// JSON text to a RapidJSON document, safe for text from anybody. Any thread.
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::apis {

// Deeper nesting is refused, so that nobody's recursion over a parsed document overflows a stack.
// API objects stay below 20.
inline constexpr int kMaxJsonDepth = 200;

// Replaces *out. InvalidArgument: not one JSON value, or nested too deeply. *out is then null.
Status ParseJson(std::string_view text, rapidjson::Document* out);

// The compact text of a value. REQUIRES: nested at most kMaxJsonDepth deep.
std::string JsonText(const rapidjson::Value& value);

// Valid UTF-8 for sure: every byte that is not part of a valid sequence becomes U+FFFD, as in Go.
std::string CleanUtf8(std::string_view text);

inline std::string_view JsonString(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

}  // namespace csinative::apis
