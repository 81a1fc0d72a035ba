// SPDX-License-Identifier: Apache-2.0
#include "lib/base/go_float.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace csinative {
namespace {

// A finite number as 0.d1d2d3… * 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;  // without trailing zeros; "0" for zero
  int point = 0;
};

Decimal Shortest(double value) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  Decimal decimal;
  if (text.front() == '-') {
    decimal.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  std::string_view exponent = text.substr(e + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  int number = 0;
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), number);
  decimal.point = value == 0 ? 0 : number + 1;
  return decimal;
}

// Infinities and NaN, which have the same text everywhere.
bool AppendSpecial(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    return false;
  }
  return true;
}

void AppendPlain(std::string& out, const Decimal& decimal) {
  if (decimal.negative) out += '-';
  const int size = static_cast<int>(decimal.digits.size());
  const int whole = decimal.digits == "0" ? 1 : decimal.point;
  if (whole <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-whole), '0');
    out += decimal.digits;
  } else if (whole >= size) {
    out += decimal.digits;
    out.append(static_cast<size_t>(whole - size), '0');
  } else {
    out.append(decimal.digits, 0, static_cast<size_t>(whole));
    out += '.';
    out.append(decimal.digits, static_cast<size_t>(whole));
  }
}

void AppendExponent(std::string& out, const Decimal& decimal, size_t least_digits) {
  if (decimal.negative) out += '-';
  out += decimal.digits[0];
  if (decimal.digits.size() > 1) {
    out += '.';
    out.append(decimal.digits, 1);
  }
  const int exponent = decimal.point - 1;
  out += 'e';
  out += exponent < 0 ? '-' : '+';
  const std::string text = std::to_string(std::abs(exponent));
  if (text.size() < least_digits) out.append(least_digits - text.size(), '0');
  out += text;
}

}  // namespace

void AppendGoFloatG(std::string& out, double value) {
  if (AppendSpecial(out, value)) return;
  const Decimal decimal = Shortest(value);
  const int exponent = decimal.point - 1;
  if (value != 0 && (exponent < -4 || exponent >= 6)) {
    AppendExponent(out, decimal, 2);
  } else {
    AppendPlain(out, decimal);
  }
}

void AppendGoFloatF(std::string& out, double value) {
  if (AppendSpecial(out, value)) return;
  AppendPlain(out, Shortest(value));
}

void AppendGoFloatJson(std::string& out, double value) {
  const double magnitude = std::fabs(value);
  if (value != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    AppendExponent(out, Shortest(value), magnitude < 1 ? 1 : 2);
  } else {
    AppendPlain(out, Shortest(value));
  }
}

}  // namespace csinative
