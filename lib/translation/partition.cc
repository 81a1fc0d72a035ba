// SPDX-License-Identifier: Apache-2.0
#include "lib/translation/partition.h"

#include <charconv>

#include "lib/base/strings.h"

namespace csinative::translation {

Result<int32_t> ParsePartition(std::string_view text) {
  int32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) {
    return InvalidArgumentError(StrCat("failed to convert partition ", text, " to integer"));
  }
  return number;
}

}  // namespace csinative::translation
