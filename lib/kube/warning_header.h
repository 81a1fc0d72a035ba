// SPDX-License-Identifier: Apache-2.0
//
// Warning header fields of HTTP answers (kube-client 6). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace csinative::kube {

// The texts of all warnings of code 299 in one header value: `299 - "text"`, several separated by
// commas. A value that is not well-formed gives none.
std::vector<std::string> ParseWarnings(std::string_view value);

}  // namespace csinative::kube
