// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/warning_header.h"

#include <optional>

#include "lib/base/utf8.h"

namespace csinative::kube {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view SkipSpace(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

// Takes a quoted string with backslash escapes off the front of *rest.
std::optional<std::string> TakeQuoted(std::string_view* rest) {
  if (rest->empty() || rest->front() != '"') return std::nullopt;
  std::string out;
  for (size_t i = 1; i < rest->size(); ++i) {
    char c = (*rest)[i];
    if (c == '"') {
      rest->remove_prefix(i + 1);
      return out;
    }
    if (c == '\\') {
      if (++i == rest->size()) return std::nullopt;
      c = (*rest)[i];
    }
    out += c;
  }
  return std::nullopt;
}

// Takes one warning off the front: code, agent, quoted text and an optional quoted date. The text
// is empty for a code other than 299.
std::optional<std::string> TakeWarning(std::string_view* rest) {
  *rest = SkipSpace(*rest);
  if (rest->size() < 4 || !IsDigit((*rest)[0]) || !IsDigit((*rest)[1]) || !IsDigit((*rest)[2]) ||
      (*rest)[3] != ' ') {
    return std::nullopt;
  }
  const std::string_view code = rest->substr(0, 3);
  if (code < "100" || code > "299") return std::nullopt;
  rest->remove_prefix(4);
  const size_t agent_end = rest->find(' ');
  if (agent_end == 0 || agent_end == std::string_view::npos) return std::nullopt;
  if (!IsValidUtf8(rest->substr(0, agent_end))) return std::nullopt;
  *rest = SkipSpace(rest->substr(agent_end));
  std::optional<std::string> text = TakeQuoted(rest);
  if (!text || text->empty()) return std::nullopt;
  *rest = SkipSpace(*rest);
  if (!rest->empty() && rest->front() == '"') {
    if (!TakeQuoted(rest)) return std::nullopt;
    *rest = SkipSpace(*rest);
  }
  if (!rest->empty()) {
    if (rest->front() != ',') return std::nullopt;
    rest->remove_prefix(1);
  }
  return code == "299" ? *text : "";
}

}  // namespace

std::vector<std::string> ParseWarnings(std::string_view value) {
  std::vector<std::string> texts;
  while (!SkipSpace(value).empty()) {
    std::optional<std::string> text = TakeWarning(&value);
    if (!text) return {};
    if (!text->empty()) texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace csinative::kube
