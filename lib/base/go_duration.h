// SPDX-License-Identifier: Apache-2.0
//
// Durations in Go's text form (common 2.3): "1h2m3.5s", "300ms", "0". Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative {

// On failure InvalidArgument with Go's message, e.g. time: missing unit in duration "5".
Result<Duration> ParseGoDuration(std::string_view text);

// The shortest form Go prints: "1m0s", "1.5s", "12µs", "0s".
std::string FormatGoDuration(Duration duration);

}  // namespace csinative
