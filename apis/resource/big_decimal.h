// SPDX-License-Identifier: Apache-2.0
//
// An exact decimal number: an integer of any size times a power of ten. Quantity falls back to it
// where 64 bits are not enough. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace csinative::apis {

class BigDecimal {
 public:
  // Zero, exponent 0.
  BigDecimal() = default;
  // unscaled * 10^exponent.
  BigDecimal(int64_t unscaled, int32_t exponent);
  // REQUIRES: digits holds only '0' to '9'; empty means zero.
  static BigDecimal FromDigits(bool negative, std::string_view digits, int32_t exponent);

  // -1, 0 or 1.
  int sign() const { return limbs_.empty() ? 0 : (negative_ ? -1 : 1); }
  int32_t exponent() const { return exponent_; }

  void Negate() { negative_ = !negative_ && !limbs_.empty(); }
  // The exponent becomes the smaller of the two. Cost grows with the distance of the exponents.
  void Add(const BigDecimal& other);
  void MultiplyInt64(int64_t factor);
  // REQUIRES: 0 <= bits < 512.
  void ShiftLeft(int bits);
  // Makes the exponent `exponent`, rounding away from zero. True when nothing was lost.
  bool Rescale(int32_t exponent);

  // -1, 0 or 1, by value; the exponents may be far apart.
  int Compare(const BigDecimal& other) const;

  // The integer without its power of ten.
  bool UnscaledFitsInt64() const;
  // Its low 64 bits in two's complement.
  int64_t UnscaledLow64() const;
  // Its decimal digits without sign; "0" for zero.
  std::string UnscaledDigits() const;
  // Divides the integer by 10^power towards zero; true when a remainder was lost.
  bool DropDigits(int32_t power);
  // Divides the integer by 1024 when that leaves no remainder, else changes nothing.
  // REQUIRES: sign() != 0.
  bool DivideBy1024IfExact();

 private:
  void Trim();
  void MultiplySmall(uint32_t factor);
  // Returns the remainder.
  uint32_t DivideSmall(uint32_t divisor);
  void MultiplyPow10(int32_t power);
  void AddMagnitude(const std::vector<uint32_t>& other);
  // REQUIRES: *this >= other by magnitude.
  void SubtractMagnitude(const std::vector<uint32_t>& other);
  void IncrementMagnitude();
  static int CompareMagnitude(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

  // Magnitude in base 10^9, least significant first, no leading zero limb; empty is zero.
  std::vector<uint32_t> limbs_;
  bool negative_ = false;  // false when zero
  int32_t exponent_ = 0;
};

}  // namespace csinative::apis
