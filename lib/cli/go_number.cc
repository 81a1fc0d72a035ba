// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/go_number.h"

#include <cmath>
#include <cstdlib>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::cli {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (Lower(c) >= 'a' && Lower(c) <= 'f'); }

// Whether each underscore stands between two digits, or between the base prefix and a digit.
bool UnderscoresAreFine(std::string_view text) {
  enum class Saw { kStart, kDigit, kUnderscore, kOther } saw = Saw::kStart;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  bool hex = false;
  if (text.size() >= 2 && text[0] == '0') {
    const char base = Lower(text[1]);
    if (base == 'b' || base == 'o' || base == 'x') {
      hex = base == 'x';
      saw = Saw::kDigit;
      text.remove_prefix(2);
    }
  }
  for (const char c : text) {
    if (IsDigit(c) || (hex && IsHexDigit(c))) {
      saw = Saw::kDigit;
    } else if (c == '_') {
      if (saw != Saw::kDigit) return false;
      saw = Saw::kUnderscore;
    } else {
      if (saw == Saw::kUnderscore) return false;
      saw = Saw::kOther;
    }
  }
  return saw != Saw::kUnderscore;
}

// The base of the literal; removes its prefix.
unsigned TakeBase(std::string_view& text) {
  if (text.empty() || text[0] != '0') return 10;
  if (text.size() >= 3) {
    const char prefix = Lower(text[1]);
    const unsigned base = prefix == 'b' ? 2 : prefix == 'o' ? 8 : prefix == 'x' ? 16 : 0;
    if (base != 0) {
      text.remove_prefix(2);
      return base;
    }
  }
  text.remove_prefix(1);
  return 8;
}

// The characters of a floating point literal without underscores, or "" when it is malformed.
std::string CleanFloat(std::string_view text) {
  size_t i = 0;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  bool hex = false;
  if (i + 2 < text.size() && text[i] == '0' && Lower(text[i + 1]) == 'x') {
    hex = true;
    i += 2;
  }
  bool digits = false;
  bool point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '_') continue;
    if (c == '.' && !point) {
      point = true;
    } else if (hex ? IsHexDigit(c) : IsDigit(c)) {
      digits = true;
    } else {
      break;
    }
  }
  if (!digits) return {};
  if (i < text.size() && Lower(text[i]) == (hex ? 'p' : 'e')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (i >= text.size() || !IsDigit(text[i])) return {};
    while (i < text.size() && (IsDigit(text[i]) || text[i] == '_')) ++i;
  } else if (hex) {
    return {};
  }
  if (i != text.size() || !UnderscoresAreFine(text)) return {};
  return ReplaceAll(text, "_", "");
}

// inf, infinity and nan in any case; only the infinities take a sign.
std::optional<double> SpecialFloat(std::string_view text) {
  if (EqualsIgnoreCase(text, "nan")) return std::nan("");
  double sign = 1;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  if (EqualsIgnoreCase(text, "inf") || EqualsIgnoreCase(text, "infinity")) return sign * INFINITY;
  return std::nullopt;
}

template <typename T>
Number<T> ParseFloatingPoint(std::string_view text, T (*convert)(const char*, char**)) {
  if (const std::optional<double> special = SpecialFloat(text)) {
    return {static_cast<T>(*special), NumberError::kNone};
  }
  const std::string clean = CleanFloat(text);
  if (clean.empty()) return {T{}, NumberError::kSyntax};
  // The grammar was checked above and the process keeps the C locale, so that strtod reads all.
  const T value = convert(clean.c_str(), nullptr);
  return {value, std::isinf(value) ? NumberError::kRange : NumberError::kNone};
}

}  // namespace

Number<uint64_t> ParseGoUint(std::string_view text) {
  constexpr Number<uint64_t> kSyntax{0, NumberError::kSyntax};
  constexpr Number<uint64_t> kRange{UINT64_MAX, NumberError::kRange};
  if (text.empty()) return kSyntax;
  std::string_view rest = text;
  const unsigned base = TakeBase(rest);
  uint64_t value = 0;
  bool underscores = false;
  for (const char c : rest) {
    if (c == '_') {
      underscores = true;
      continue;
    }
    if (!IsHexDigit(c)) return kSyntax;
    const auto digit = static_cast<unsigned>(IsDigit(c) ? c - '0' : Lower(c) - 'a' + 10);
    if (digit >= base) return kSyntax;
    uint64_t product = 0;
    if (__builtin_mul_overflow(value, base, &product) ||
        __builtin_add_overflow(product, digit, &value)) {
      return kRange;
    }
  }
  if (underscores && !UnderscoresAreFine(text)) return kSyntax;
  return {value, NumberError::kNone};
}

Number<int64_t> ParseGoInt(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  const Number<uint64_t> magnitude = ParseGoUint(rest);
  if (magnitude.error == NumberError::kSyntax) return {0, NumberError::kSyntax};
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (magnitude.error == NumberError::kRange ||
      magnitude.value > (negative ? kLimit : kLimit - 1)) {
    return {negative ? INT64_MIN : INT64_MAX, NumberError::kRange};
  }
  return {static_cast<int64_t>(negative ? ~magnitude.value + 1 : magnitude.value),
          NumberError::kNone};
}

Number<double> ParseGoDouble(std::string_view text) {
  return ParseFloatingPoint<double>(text, &std::strtod);
}
Number<float> ParseGoFloat(std::string_view text) {
  return ParseFloatingPoint<float>(text, &std::strtof);
}

std::optional<bool> ParseGoBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::string StrconvError(std::string_view function, std::string_view text, NumberError error) {
  return StrCat("strconv.", function, ": parsing ", GoQuote(text), ": ",
                error == NumberError::kRange ? "value out of range" : "invalid syntax");
}

}  // namespace csinative::cli
