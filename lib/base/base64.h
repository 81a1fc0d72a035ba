// SPDX-License-Identifier: Apache-2.0
//
// Standard base64 with padding (RFC 4648 section 4). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative {

std::string Base64Encode(std::string_view bytes);
// Line breaks are skipped; anything else outside the alphabet, missing padding and text after it
// are InvalidArgument.
Result<std::string> Base64Decode(std::string_view text);
// The URL alphabet without padding, as in JSON web tokens.
std::string Base64UrlEncode(std::string_view bytes);
Result<std::string> Base64UrlDecode(std::string_view text);

}  // namespace csinative
