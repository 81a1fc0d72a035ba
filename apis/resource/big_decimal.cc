// SPDX-License-Identifier: Apache-2.0
#include "apis/resource/big_decimal.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <limits>

namespace csinative::apis {
namespace {

constexpr uint32_t kBase = 1'000'000'000;
constexpr int kDigitsPerLimb = 9;

constexpr uint32_t kSmallPow10[] = {1,       10,        100,        1'000,      10'000,
                                    100'000, 1'000'000, 10'000'000, 100'000'000};

}  // namespace

BigDecimal::BigDecimal(int64_t unscaled, int32_t exponent)
    : negative_(unscaled < 0), exponent_(exponent) {
  uint64_t magnitude = unscaled < 0 ? 0 - static_cast<uint64_t>(unscaled) : unscaled;
  for (; magnitude != 0; magnitude /= kBase) limbs_.push_back(magnitude % kBase);
}

BigDecimal BigDecimal::FromDigits(bool negative, std::string_view digits, int32_t exponent) {
  BigDecimal out;
  out.exponent_ = exponent;
  while (!digits.empty()) {
    size_t take = std::min<size_t>(digits.size(), kDigitsPerLimb);
    std::string_view part = digits.substr(digits.size() - take);
    uint32_t limb = 0;
    std::from_chars(part.data(), part.data() + part.size(), limb);
    out.limbs_.push_back(limb);
    digits.remove_suffix(take);
  }
  out.Trim();
  out.negative_ = negative && !out.limbs_.empty();
  return out;
}

void BigDecimal::Trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
}

void BigDecimal::MultiplySmall(uint32_t factor) {
  uint64_t carry = 0;
  for (uint32_t& limb : limbs_) {
    uint64_t product = uint64_t{limb} * factor + carry;
    limb = product % kBase;
    carry = product / kBase;
  }
  for (; carry != 0; carry /= kBase) limbs_.push_back(carry % kBase);
  Trim();
}

uint32_t BigDecimal::DivideSmall(uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    uint64_t value = remainder * kBase + limbs_[i];
    limbs_[i] = value / divisor;
    remainder = value % divisor;
  }
  Trim();
  return remainder;
}

void BigDecimal::MultiplyPow10(int32_t power) {
  if (limbs_.empty()) return;
  MultiplySmall(kSmallPow10[power % kDigitsPerLimb]);
  limbs_.insert(limbs_.begin(), power / kDigitsPerLimb, 0);
}

bool BigDecimal::DropDigits(int32_t power) {
  size_t whole = std::min<size_t>(power / kDigitsPerLimb, limbs_.size());
  bool lost =
      std::any_of(limbs_.begin(), limbs_.begin() + whole, [](uint32_t l) { return l != 0; });
  limbs_.erase(limbs_.begin(), limbs_.begin() + whole);
  if (DivideSmall(kSmallPow10[power % kDigitsPerLimb]) != 0) lost = true;
  return lost;
}

bool BigDecimal::DivideBy1024IfExact() {
  assert(!limbs_.empty());
  // 10^9 is 512 * 1953125, so the lowest limb alone rules out most values.
  if (limbs_[0] % 512 != 0) return false;
  std::vector<uint32_t> saved = limbs_;
  if (DivideSmall(1024) == 0) return true;
  limbs_ = std::move(saved);
  return false;
}

int BigDecimal::CompareMagnitude(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

void BigDecimal::AddMagnitude(const std::vector<uint32_t>& other) {
  limbs_.resize(std::max(limbs_.size(), other.size()));
  uint32_t carry = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    uint32_t sum = limbs_[i] + carry + (i < other.size() ? other[i] : 0);
    carry = sum >= kBase;
    limbs_[i] = carry ? sum - kBase : sum;
  }
  if (carry) limbs_.push_back(1);
}

void BigDecimal::SubtractMagnitude(const std::vector<uint32_t>& other) {
  int64_t borrow = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    int64_t value = int64_t{limbs_[i]} - borrow - (i < other.size() ? other[i] : 0);
    borrow = value < 0;
    limbs_[i] = borrow ? value + kBase : value;
  }
  Trim();
}

void BigDecimal::IncrementMagnitude() { AddMagnitude({1}); }

void BigDecimal::Add(const BigDecimal& other) {
  BigDecimal rhs = other;
  if (rhs.exponent_ > exponent_) {
    rhs.MultiplyPow10(rhs.exponent_ - exponent_);
  } else if (rhs.exponent_ < exponent_) {
    MultiplyPow10(exponent_ - rhs.exponent_);
    exponent_ = rhs.exponent_;
  }
  if (rhs.limbs_.empty()) return;
  if (limbs_.empty() || negative_ == rhs.negative_) {
    negative_ = rhs.negative_;
    AddMagnitude(rhs.limbs_);
    return;
  }
  if (CompareMagnitude(limbs_, rhs.limbs_) < 0) {
    std::swap(limbs_, rhs.limbs_);
    negative_ = rhs.negative_;
  }
  SubtractMagnitude(rhs.limbs_);
}

void BigDecimal::MultiplyInt64(int64_t factor) {
  bool negative = negative_ != (factor < 0);
  uint64_t magnitude = factor < 0 ? 0 - static_cast<uint64_t>(factor) : factor;
  BigDecimal high = *this;
  high.MultiplySmall(magnitude >> 32);
  high.MultiplySmall(1u << 16);
  high.MultiplySmall(1u << 16);
  MultiplySmall(magnitude & 0xffffffff);
  AddMagnitude(high.limbs_);
  Trim();
  negative_ = negative && !limbs_.empty();
}

void BigDecimal::ShiftLeft(int bits) {
  bool negative = negative_;
  for (; bits > 0; bits -= 31) MultiplySmall(uint32_t{1} << std::min(bits, 31));
  negative_ = negative && !limbs_.empty();
}

bool BigDecimal::Rescale(int32_t exponent) {
  bool exact = true;
  if (exponent < exponent_) {
    MultiplyPow10(exponent_ - exponent);
  } else if (exponent > exponent_) {
    bool negative = negative_;
    exact = !DropDigits(exponent - exponent_);
    if (!exact) {
      IncrementMagnitude();
      negative_ = negative;
    }
  }
  exponent_ = exponent;
  return exact;
}

int BigDecimal::Compare(const BigDecimal& other) const {
  if (sign() != other.sign()) return sign() < other.sign() ? -1 : 1;
  if (sign() == 0) return 0;
  std::string a = UnscaledDigits();
  std::string b = other.UnscaledDigits();
  // Position of the leading digit, then the digits themselves: exponents may be far apart.
  int64_t a_top = static_cast<int64_t>(a.size()) + exponent_;
  int64_t b_top = static_cast<int64_t>(b.size()) + other.exponent_;
  int magnitude;
  if (a_top != b_top) {
    magnitude = a_top < b_top ? -1 : 1;
  } else {
    a.erase(a.find_last_not_of('0') + 1);
    b.erase(b.find_last_not_of('0') + 1);
    int order = a.compare(b);
    magnitude = order < 0 ? -1 : order > 0;
  }
  return negative_ ? -magnitude : magnitude;
}

int64_t BigDecimal::UnscaledLow64() const {
  uint64_t value = 0;
  for (size_t i = limbs_.size(); i-- > 0;) value = value * kBase + limbs_[i];
  return static_cast<int64_t>(negative_ ? 0 - value : value);
}

bool BigDecimal::UnscaledFitsInt64() const {
  static const BigDecimal kMin(std::numeric_limits<int64_t>::min(), 0);
  int order = CompareMagnitude(limbs_, kMin.limbs_);
  return order < 0 || (order == 0 && negative_);
}

std::string BigDecimal::UnscaledDigits() const {
  if (limbs_.empty()) return "0";
  std::string out = std::to_string(limbs_.back());
  for (size_t i = limbs_.size() - 1; i-- > 0;) {
    std::string part = std::to_string(limbs_[i]);
    out.append(kDigitsPerLimb - part.size(), '0').append(part);
  }
  return out;
}

}  // namespace csinative::apis
