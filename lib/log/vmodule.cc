// SPDX-License-Identifier: Apache-2.0
#include "lib/log/vmodule.h"

#include <charconv>
#include <optional>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/base/utf8.h"

namespace csinative::log {
namespace {

constexpr std::string_view kGlobCharacters = "\\*?[]";

// One code point of a class or a literal, with \ taking the next one as it is. nullopt: malformed.
std::optional<char32_t> TakeEscaped(std::string_view& pattern) {
  if (!pattern.empty() && pattern.front() == '\\') pattern.remove_prefix(1);
  if (pattern.empty()) return std::nullopt;
  const Rune rune = DecodeRune(pattern);
  if (!rune.valid) return std::nullopt;
  pattern.remove_prefix(rune.width);
  return rune.value;
}

// Consumes a class behind its '[' and says whether it contains rune. nullopt: malformed.
std::optional<bool> TakeClass(std::string_view& pattern, char32_t rune) {
  bool negated = false;
  if (!pattern.empty() && pattern.front() == '^') {
    negated = true;
    pattern.remove_prefix(1);
  }
  bool contained = false;
  for (bool first = true;; first = false) {
    if (pattern.empty()) return std::nullopt;
    if (pattern.front() == ']' && !first) {
      pattern.remove_prefix(1);
      return contained != negated;
    }
    // A bare '-' or ']' cannot start a range.
    if (pattern.front() == '-' || pattern.front() == ']') return std::nullopt;
    const std::optional<char32_t> low = TakeEscaped(pattern);
    if (!low) return std::nullopt;
    char32_t high = *low;
    if (!pattern.empty() && pattern.front() == '-') {
      pattern.remove_prefix(1);
      if (pattern.empty() || pattern.front() == '-' || pattern.front() == ']') return std::nullopt;
      const std::optional<char32_t> end = TakeEscaped(pattern);
      if (!end) return std::nullopt;
      high = *end;
    }
    contained = contained || (*low <= rune && rune <= high);
  }
}

// Whether every class and escape of pattern is complete.
bool IsWellFormed(std::string_view pattern) {
  while (!pattern.empty()) {
    const char c = pattern.front();
    if (c == '[') {
      pattern.remove_prefix(1);
      if (!TakeClass(pattern, 0)) return false;
    } else if (c == '\\') {
      if (!TakeEscaped(pattern)) return false;
    } else {
      pattern.remove_prefix(1);
    }
  }
  return true;
}

// REQUIRES: IsWellFormed(pattern).
bool Matches(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      for (size_t skip = 0; skip <= name.size(); ++skip) {
        if (skip > 0 && name[skip - 1] == '/') return false;
        if (Matches(pattern, name.substr(skip))) return true;
      }
      return false;
    }
    if (name.empty()) return false;
    const Rune rune = DecodeRune(name);
    if (pattern.front() == '?') {
      if (rune.value == '/') return false;
      pattern.remove_prefix(1);
    } else if (pattern.front() == '[') {
      pattern.remove_prefix(1);
      if (!TakeClass(pattern, rune.value).value_or(false)) return false;
    } else {
      if (TakeEscaped(pattern) != rune.value) return false;
    }
    name.remove_prefix(rune.width);
  }
  return name.empty();
}

}  // namespace

Result<int> ParseLevel(std::string_view text) {
  const auto fail = [&](std::string_view reason) {
    return InvalidArgumentError(StrCat("strconv.ParseUint: parsing ", GoQuote(text), ": ", reason));
  };
  if (text.empty()) return fail("invalid syntax");
  int64_t level = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return fail("invalid syntax");
    level = level * 10 + (c - '0');
    if (level > 2147483647) return fail("value out of range");
  }
  return static_cast<int>(level);
}

Result<std::vector<VmoduleRule>> ParseVmodule(std::string_view text) {
  std::vector<VmoduleRule> rules;
  for (const std::string_view element : Split(text, ',')) {
    if (element.empty()) continue;
    const auto parts = Split(element, '=');
    if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
      return InvalidArgumentError(StrCat(GoQuote(element), " does not have the pattern=N format"));
    }
    const Result<int> level = ParseLevel(parts[1]);
    if (!level.ok()) {
      return InvalidArgumentError(
          StrCat("parsing verbosity in ", GoQuote(element), ": ", level.status().message()));
    }
    rules.push_back({std::string(parts[0]), *level});
  }
  return rules;
}

std::string FormatVmodule(const std::vector<VmoduleRule>& rules) {
  std::vector<std::string> parts;
  for (const VmoduleRule& rule : rules) parts.push_back(StrCat(rule.pattern, "=", rule.level));
  return Join(parts, ",");
}

int VmoduleLevel(const std::vector<VmoduleRule>& rules, std::string_view module) {
  for (const VmoduleRule& rule : rules) {
    if (rule.level == 0) continue;
    const bool literal = rule.pattern.find_first_of(kGlobCharacters) == std::string::npos;
    if (literal ? rule.pattern == module : MatchGlob(rule.pattern, module)) return rule.level;
  }
  return -1;
}

bool MatchGlob(std::string_view pattern, std::string_view name) {
  return IsWellFormed(pattern) && Matches(pattern, name);
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view ModuleName(std::string_view path) {
  std::string_view base = BaseName(path);
  for (const std::string_view extension : {".cc", ".cpp", ".h"}) {
    if (base.ends_with(extension)) return base.substr(0, base.size() - extension.size());
  }
  return base;
}

}  // namespace csinative::log
