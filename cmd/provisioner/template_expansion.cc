// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/template_expansion.h"

namespace csinative::provisioner {
namespace {

bool IsSpecial(char c) {
  return std::string_view("*#$@!?-0123456789").find(c) != std::string::npos;
}

bool IsWord(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What follows a '$': the token, and how many characters it takes up. An empty token with a size
// is dropped; without a size the '$' is literal.
struct Token {
  std::string_view name;
  size_t size = 0;
};

Token ReadToken(std::string_view rest) {
  if (rest.empty()) return {};
  if (rest[0] == '{') {
    if (rest.size() > 2 && IsSpecial(rest[1]) && rest[2] == '}') return {rest.substr(1, 1), 3};
    const size_t close = rest.find('}', 1);
    // "${" without an end: only these two characters go.
    if (close == std::string_view::npos) return {{}, 1};
    return {rest.substr(1, close - 1), close + 1};
  }
  if (IsSpecial(rest[0])) return {rest.substr(0, 1), 1};
  size_t end = 0;
  while (end < rest.size() && IsWord(rest[end])) ++end;
  return {rest.substr(0, end), end};
}

}  // namespace

Expansion ExpandTemplate(
    std::string_view text,
    const std::function<std::optional<std::string>(std::string_view token)>& lookup) {
  Expansion out;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '$' || at + 1 == text.size()) {
      out.text += text[at++];
      continue;
    }
    const Token token = ReadToken(text.substr(at + 1));
    if (token.size == 0) {
      out.text += text[at++];
      continue;
    }
    at += 1 + token.size;
    if (token.name.empty()) continue;
    if (std::optional<std::string> value = lookup(token.name)) {
      out.text += *value;
    } else {
      out.unknown.emplace_back(token.name);
    }
  }
  return out;
}

}  // namespace csinative::provisioner
