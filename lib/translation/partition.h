// SPDX-License-Identifier: Apache-2.0
//
// The volume attribute "partition" of drivers whose plugins had such a field. Inside of this folder
// only; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::translation {

// Fails for what is no number.
Result<int32_t> ParsePartition(std::string_view text);

}  // namespace csinative::translation
