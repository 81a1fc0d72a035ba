// SPDX-License-Identifier: Apache-2.0
#include "lib/base/go_duration.h"

#include <cstdint>
#include <optional>

#include "lib/base/strings.h"

namespace csinative {
namespace {

constexpr uint64_t kMaxMagnitude = uint64_t{1} << 63;

struct Unit {
  std::string_view name;
  uint64_t nanoseconds;
};
constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"µs", 1'000},  // U+00B5, micro sign
    {"μs", 1'000},                                           // U+03BC, Greek letter
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Package time quotes in its own way: every byte that is not printable ASCII as \xNN.
std::string TimeQuote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x80) {
      out += "\\x";
      out += HexEncode(std::string_view(&c, 1));
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
  return out;
}

Status Invalid(std::string_view text) {
  return InvalidArgumentError(StrCat("time: invalid duration ", TimeQuote(text)));
}

// Consumes digits into a number of at most 2^63; nullopt when it is larger.
std::optional<uint64_t> TakeInteger(std::string_view& rest) {
  uint64_t value = 0;
  while (!rest.empty() && IsDigit(rest.front())) {
    if (value > kMaxMagnitude / 10) return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(rest.front() - '0');
    if (value > kMaxMagnitude) return std::nullopt;
    rest.remove_prefix(1);
  }
  return value;
}

struct Fraction {
  uint64_t digits = 0;
  double scale = 1;
};

// Consumes the digits after a point. Digits that do not fit any more are read and ignored.
Fraction TakeFraction(std::string_view& rest) {
  Fraction fraction;
  bool full = false;
  while (!rest.empty() && IsDigit(rest.front())) {
    const auto digit = static_cast<uint64_t>(rest.front() - '0');
    rest.remove_prefix(1);
    if (full) continue;
    if (fraction.digits > (kMaxMagnitude - 1) / 10) {
      full = true;
      continue;
    }
    const uint64_t next = fraction.digits * 10 + digit;
    if (next > kMaxMagnitude) {
      full = true;
      continue;
    }
    fraction.digits = next;
    fraction.scale *= 10;
  }
  return fraction;
}

// Consumes up to the next number.
std::string_view TakeUnit(std::string_view& rest) {
  size_t size = 0;
  while (size < rest.size() && rest[size] != '.' && !IsDigit(rest[size])) ++size;
  const std::string_view unit = rest.substr(0, size);
  rest.remove_prefix(size);
  return unit;
}

}  // namespace

Result<Duration> ParseGoDuration(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration(0);
  if (rest.empty()) return Invalid(text);

  uint64_t total = 0;
  while (!rest.empty()) {
    if (rest.front() != '.' && !IsDigit(rest.front())) return Invalid(text);
    const size_t before = rest.size();
    const std::optional<uint64_t> whole = TakeInteger(rest);
    if (!whole) return Invalid(text);
    bool any_digit = rest.size() != before;
    Fraction fraction;
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      const size_t before_fraction = rest.size();
      fraction = TakeFraction(rest);
      any_digit = any_digit || rest.size() != before_fraction;
    }
    if (!any_digit) return Invalid(text);

    const std::string_view unit_name = TakeUnit(rest);
    if (unit_name.empty()) {
      return InvalidArgumentError(StrCat("time: missing unit in duration ", TimeQuote(text)));
    }
    uint64_t unit = 0;
    for (const Unit& candidate : kUnits) {
      if (candidate.name == unit_name) unit = candidate.nanoseconds;
    }
    if (unit == 0) {
      return InvalidArgumentError(
          StrCat("time: unknown unit ", TimeQuote(unit_name), " in duration ", TimeQuote(text)));
    }
    if (*whole > kMaxMagnitude / unit) return Invalid(text);
    uint64_t part = *whole * unit;
    if (fraction.digits > 0) {
      // In floating point, as Go does it: the result decides about the last nanosecond.
      part += static_cast<uint64_t>(static_cast<double>(fraction.digits) *
                                    (static_cast<double>(unit) / fraction.scale));
      if (part > kMaxMagnitude) return Invalid(text);
    }
    total += part;
    if (total > kMaxMagnitude) return Invalid(text);
  }
  if (negative) return Duration(static_cast<int64_t>(~total + 1));
  if (total > kMaxMagnitude - 1) return Invalid(text);
  return Duration(static_cast<int64_t>(total));
}

std::string FormatGoDuration(Duration duration) {
  const int64_t count = duration.count();
  if (count == 0) return "0s";
  uint64_t magnitude = count < 0 ? ~static_cast<uint64_t>(count) + 1 : static_cast<uint64_t>(count);
  std::string out = count < 0 ? "-" : "";

  // A number of units with the fraction that is left, without trailing zeros.
  const auto append = [&out](uint64_t value, uint64_t unit, std::string_view name) {
    out += std::to_string(value / unit);
    if (uint64_t rest = value % unit; rest != 0) {
      out += '.';
      while (rest != 0) {
        unit /= 10;
        out += static_cast<char>('0' + rest / unit);
        rest %= unit;
      }
    }
    out += name;
  };

  constexpr uint64_t kSecond = 1'000'000'000;
  if (magnitude < 1'000) {
    append(magnitude, 1, "ns");
  } else if (magnitude < 1'000'000) {
    append(magnitude, 1'000, "µs");
  } else if (magnitude < kSecond) {
    append(magnitude, 1'000'000, "ms");
  } else {
    const uint64_t minutes = magnitude / (60 * kSecond);
    if (minutes >= 60) out += StrCat(minutes / 60, "h");
    if (minutes > 0) out += StrCat(minutes % 60, "m");
    append(magnitude % (60 * kSecond), kSecond, "s");
  }
  return out;
}

}  // namespace csinative
