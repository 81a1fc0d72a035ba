// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/log_body.h"

#include <algorithm>

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

constexpr size_t kBytesPerLine = 16;

// Lines of offset, two groups of eight bytes and their characters, as Go's hex.Dump writes them.
std::string HexDump(std::string_view bytes) {
  std::string out;
  for (size_t start = 0; start < bytes.size(); start += kBytesPerLine) {
    const std::string_view line = bytes.substr(start, kBytesPerLine);
    for (int shift = 24; shift >= 0; shift -= 8) {
      const char byte = static_cast<char>(start >> shift);
      out += HexEncode(std::string_view(&byte, 1));
    }
    out += "  ";
    for (size_t i = 0; i < kBytesPerLine; ++i) {
      out += i < line.size() ? HexEncode(line.substr(i, 1)) : "  ";
      out += i == kBytesPerLine / 2 - 1 || i == kBytesPerLine - 1 ? "  " : " ";
    }
    out += '|';
    for (char c : line) out += c >= ' ' && c <= '~' ? c : '.';
    out += "|\n";
  }
  return out;
}

size_t Limit(int verbosity) {
  if (verbosity < 8) return 0;
  if (verbosity == 8) return 1024;
  return verbosity == 9 ? 10240 : std::string::npos;
}

}  // namespace

std::string BodyForLog(std::string_view body, int verbosity) {
  const bool binary =
      std::any_of(body.begin(), body.end(), [](char c) { return c >= 0 && c < '\x0a'; });
  std::string text = binary ? HexDump(body) : std::string(body);
  const size_t limit = Limit(verbosity);
  if (text.size() <= limit) return text;
  const size_t cut = text.size() - limit;
  text.resize(limit);
  return StrCat(text, " [truncated ", cut, " chars]");
}

}  // namespace csinative::kube
