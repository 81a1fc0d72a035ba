// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/url.h"

#include <algorithm>

namespace csinative::kube {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

void AppendEscaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

}  // namespace

std::string EscapePath(std::string_view path) {
  constexpr std::string_view kAllowed = "$&+,/:;=@";
  std::string out;
  out.reserve(path.size());
  for (char c : path) {
    if (IsUnreserved(c) || kAllowed.find(c) != std::string_view::npos) {
      out += c;
    } else {
      AppendEscaped(out, c);
    }
  }
  return out;
}

std::string EscapeQuery(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (IsUnreserved(c)) {
      out += c;
    } else if (c == ' ') {
      out += '+';
    } else {
      AppendEscaped(out, c);
    }
  }
  return out;
}

std::string EncodeQuery(const QueryParameters& query) {
  std::string out;
  for (const auto& [key, value] : query) {
    if (!out.empty()) out += '&';
    out += EscapeQuery(key);
    out += '=';
    out += EscapeQuery(value);
  }
  return out;
}

void SortQuery(QueryParameters& query) {
  // Insertion sort: stable, and queries have a handful of parameters.
  for (auto it = query.begin(); it != query.end(); ++it) {
    const auto place = std::upper_bound(
        query.begin(), it, *it, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::rotate(place, it, it + 1);
  }
}

}  // namespace csinative::kube
