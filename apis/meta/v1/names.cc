// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/names.h"

#include <algorithm>

namespace csinative::apis {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

// Not empty, ends satisfy `end`, everything between `end` or one of `inner`.
template <typename End>
bool Shaped(std::string_view text, End end, std::string_view inner) {
  return !text.empty() && end(text.front()) && end(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return end(c) || inner.find(c) != std::string_view::npos; });
}

bool IsLabelName(std::string_view text) {
  return text.size() <= 63 && Shaped(text, IsAlphanumeric, "-_.");
}

}  // namespace

bool IsDns1123Label(std::string_view text) {
  return text.size() <= 63 && Shaped(text, IsLowerOrDigit, "-");
}

bool IsDns1123Subdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    size_t dot = text.find('.');
    if (!Shaped(text.substr(0, dot), IsLowerOrDigit, "-")) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsLabelKey(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelName(text);
  return IsDns1123Subdomain(text.substr(0, slash)) && IsLabelName(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsLabelName(text); }

}  // namespace csinative::apis
