// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/json_scanner.h"

namespace csinative::kube {

size_t JsonScanner::Find(std::string_view text) {
  for (; position_ < text.size(); ++position_) {
    const char c = text[position_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        if (depth_ == 0) return ++position_;
      }
      continue;
    }
    switch (c) {
      case '"':
        if (depth_ == 0 && position_ > 0) return position_;
        in_string_ = true;
        break;
      case '{':
      case '[':
        if (depth_ == 0 && position_ > 0) return position_;
        ++depth_;
        break;
      case '}':
      case ']':
        if (depth_ == 0) return position_;
        if (--depth_ == 0) return ++position_;
        break;
      default:
        if (depth_ == 0 && (IsJsonSpace(c) || c == ',' || c == ':')) return position_;
        break;
    }
  }
  return npos;
}

}  // namespace csinative::kube
