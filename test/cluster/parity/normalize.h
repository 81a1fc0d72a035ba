// SPDX-License-Identifier: Apache-2.0
//
// What two servers may answer differently, taken out of their answers: README.md of this folder
// lists it. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "test/cluster/parity/script.h"

namespace csinative::parity {

// `body` is JSON text, or a stream of JSON values: then the result is an array of them.
// Anything else comes back as a JSON string.
std::string NormalizeBody(std::string_view body, const std::vector<std::string>& ignore);

// Our part of what the real server answers: objects lose the members, and arrays of named elements
// the elements, that `ours` does not have.
std::string Project(std::string_view theirs, std::string_view ours);

// Where two JSON texts differ: "/path: a != b", a line each, at most ten.
std::string Differences(std::string_view ours, std::string_view theirs);

}  // namespace csinative::parity
