// SPDX-License-Identifier: Apache-2.0
//
// Expansion of $word and ${anything} as Go's os.Expand does it (provisioner 8.2). Pure; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace csinative::provisioner {

struct Expansion {
  std::string text;
  std::vector<std::string> unknown;  // tokens without a value, in order of appearance
};

// `lookup` gives the value of a token, or nothing when there is no such token.
Expansion ExpandTemplate(
    std::string_view text,
    const std::function<std::optional<std::string>(std::string_view token)>& lookup);

}  // namespace csinative::provisioner
