// SPDX-License-Identifier: Apache-2.0
//
// Texts of HTTP/1.1 that client and server write. Internal to lib/http. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/http/message.h"

namespace csinative::http {

// "Not Found"; empty for an unknown code.
std::string_view ReasonPhrase(int status);

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(WallTime time);

// Appends "Name: value\r\n" for each field; line breaks in values become spaces.
void AppendFields(const Headers& headers, std::string* out);

// True if the comma-separated values of the field contain the token.
bool HasToken(const Headers& headers, std::string_view name, std::string_view token);

// kInvalidArgument if the request cannot be written without changing its meaning: control
// characters in method, target or a field.
Status CheckRequest(const Request& request);

constexpr char kTooLate[] = "http: the time to send the request has passed";
// kUnavailable once send_before has passed.
Status CheckInTime(MonotonicTime send_before, MonotonicTime now);

// Whether a response of that status, to that method, has a body at all.
bool HasBody(std::string_view method, int status);

}  // namespace csinative::http
