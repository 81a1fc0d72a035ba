// SPDX-License-Identifier: Apache-2.0
//
// Go's literals for numbers and booleans, and strconv's error texts (common 2.3, 2.5). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace csinative::cli {

enum class NumberError { kNone, kSyntax, kRange };

// error decides whether value means anything.
template <typename T>
struct Number {
  T value{};
  NumberError error = NumberError::kNone;
};

// 64 bits, base from the prefix: 0x, 0b, 0o, a leading 0 for octal, else decimal; "_" between
// digits.
Number<int64_t> ParseGoInt(std::string_view text);
Number<uint64_t> ParseGoUint(std::string_view text);
// Decimal or hexadecimal, inf, infinity, nan. Too small is 0, too large kRange.
Number<double> ParseGoDouble(std::string_view text);
Number<float> ParseGoFloat(std::string_view text);
// 1 t T TRUE true True 0 f F FALSE false False; nullopt for anything else.
std::optional<bool> ParseGoBool(std::string_view text);

// strconv.<function>: parsing "<text>": invalid syntax | value out of range
std::string StrconvError(std::string_view function, std::string_view text, NumberError error);

}  // namespace csinative::cli
