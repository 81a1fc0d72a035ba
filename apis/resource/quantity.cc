// SPDX-License-Identifier: Apache-2.0
#include "apis/resource/quantity.h"

#include <charconv>
#include <limits>
#include <utility>

namespace csinative::apis {
namespace {

using Format = Quantity::Format;

// More digits than this do not fit 64 bits for sure (kube-client 19.1, rule 5).
constexpr int kMaxSmallDigits = 18;
// Upstream has no limit and can be made to fill its memory. Also of the integer's digits and the
// exponent together, so that the canonical text, which moves zeros into the exponent, stays within.
constexpr int32_t kMaxExponent = 10'000;
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

constexpr char kErrFormat[] =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr char kErrNumeric[] = "unable to parse numeric part of quantity";
constexpr char kErrSuffix[] = "unable to parse quantity's suffix";

struct Suffix {
  std::string_view text;
  int32_t exponent;
};
constexpr Suffix kDecimalSuffixes[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0},   {"k", 3},
                                       {"M", 6},  {"G", 9},  {"T", 12}, {"P", 15}, {"E", 18}};
constexpr Suffix kBinarySuffixes[] = {{"Ki", 10}, {"Mi", 20}, {"Gi", 30},
                                      {"Ti", 40}, {"Pi", 50}, {"Ei", 60}};

template <size_t N>
std::string_view SuffixText(const Suffix (&table)[N], int32_t exponent) {
  for (const Suffix& s : table) {
    if (s.exponent == exponent) return s.text;
  }
  return "";  // Upstream: beyond exa the suffix is lost.
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A quantity's text cut into its parts. Views into the text.
struct Parts {
  bool negative = false;
  std::string_view whole;     // integer digits without leading zeros; "0" when there are none
  std::string_view fraction;  // digits after the point
  std::string_view suffix;
  bool has_digits = false;
};

// Takes the longest prefix of *rest whose characters satisfy `accept`.
template <typename Accept>
std::string_view Take(std::string_view* rest, Accept accept) {
  size_t n = 0;
  while (n < rest->size() && accept((*rest)[n])) ++n;
  std::string_view taken = rest->substr(0, n);
  rest->remove_prefix(n);
  return taken;
}

std::optional<Parts> Split(std::string_view text) {
  Parts parts;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  parts.has_digits = !Take(&text, [](char c) { return c == '0'; }).empty();
  parts.whole = Take(&text, IsDigit);
  if (parts.whole.empty()) parts.whole = "0";
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    parts.fraction = Take(&text, IsDigit);
  }
  if (parts.whole != "0" || !parts.fraction.empty()) parts.has_digits = true;
  parts.suffix = text;
  Take(&text, [](char c) { return std::string_view("eEinumkKMGTP").find(c) != std::string::npos; });
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  Take(&text, IsDigit);
  if (!text.empty()) return std::nullopt;
  return parts;
}

struct Unit {
  Format format;
  int32_t exponent;  // of ten, or of two for kBinarySi
};

std::optional<Unit> ParseSuffix(std::string_view text) {
  for (const Suffix& s : kDecimalSuffixes) {
    if (s.text == text) return Unit{Format::kDecimalSi, s.exponent};
  }
  for (const Suffix& s : kBinarySuffixes) {
    if (s.text == text) return Unit{Format::kBinarySi, s.exponent};
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  if (text[0] == '+') {
    text.remove_prefix(1);
    if (text.empty() || text[0] == '-') return std::nullopt;
  }
  int32_t exponent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
  return Unit{Format::kDecimalExponent, exponent};
}

std::optional<int64_t> MultiplyPow10(int64_t value, int64_t power) {
  if (value == 0) return 0;
  for (; power > 0; --power) {
    if (__builtin_mul_overflow(value, int64_t{10}, &value)) return std::nullopt;
  }
  return value;
}

// value * 10^power; when that does not fit, what upstream makes of it: factors that it multiplies
// with in one step wrap around, the others give 0.
int64_t MultiplyPow10OrWrap(int64_t value, int64_t power) {
  if (std::optional<int64_t> product = MultiplyPow10(value, power)) return *product;
  if (value == kInt64Min || (power > 3 && power != 6 && power != 9)) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(value) *
                              static_cast<uint64_t>(*MultiplyPow10(1, power)));
}

// value / 10^power away from zero.
int64_t DivideAwayFromZero(int64_t value, int64_t power, bool* exact) {
  bool negative = value < 0;
  bool lost = false;
  for (; power > 0 && value != 0; --power) {
    lost = lost || value % 10 != 0;
    value /= 10;
  }
  *exact = !lost;
  if (lost) value += negative ? -1 : 1;
  return value;
}

// The shortest mantissa whose exponent is a multiple of three.
std::string DecimalText(bool negative, std::string digits, int32_t exponent, Format format) {
  size_t kept = digits.find_last_not_of('0') + 1;
  exponent += static_cast<int32_t>(digits.size() - kept);
  digits.resize(kept);
  for (; exponent % 3 != 0; --exponent) digits.push_back('0');
  if (negative) digits.insert(digits.begin(), '-');
  if (format == Format::kDecimalSi) {
    digits.append(SuffixText(kDecimalSuffixes, exponent));
  } else if (exponent != 0) {
    digits.append("e").append(std::to_string(exponent));
  }
  return digits;
}

}  // namespace

Quantity Quantity::FromScaled(int64_t value, int32_t scale, Format format) {
  Quantity q(value, format);
  q.scale_ = scale;
  return q;
}

Quantity Quantity::FromBig(BigDecimal value, Format format) {
  Quantity q;
  q.big_ = std::move(value);
  q.format_ = format;
  return q;
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  if (text.empty()) return InvalidArgumentError(kErrFormat);
  std::optional<Parts> parts = Split(text);
  if (!parts) return InvalidArgumentError(kErrFormat);
  std::optional<Unit> unit = ParseSuffix(parts->suffix);
  if (!unit) return InvalidArgumentError(kErrSuffix);
  if (unit->format == Format::kDecimalExponent &&
      static_cast<int64_t>(parts->whole.size()) + unit->exponent > kMaxExponent) {
    return InvalidArgumentError(kErrSuffix);
  }

  std::string digits = std::string(parts->whole) + std::string(parts->fraction);
  bool binary = unit->format == Format::kBinarySi;
  int32_t scale = (binary ? 0 : unit->exponent) - static_cast<int32_t>(parts->fraction.size());

  // 64 bits, when the number of digits promises that it fits.
  int room = kMaxSmallDigits - static_cast<int>(std::min<size_t>(digits.size(), 1000));
  if (binary) {
    room = parts->fraction.empty() ? 14 - static_cast<int>(std::min<size_t>(digits.size(), 1000)) -
                                         unit->exponent * 3 / 10
                                   : -1;
  }
  if (room >= 0 && scale >= kNano) {
    int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    int64_t value = 0;
    if (!__builtin_mul_overflow(number, int64_t{1} << (binary ? unit->exponent : 0), &value)) {
      Quantity q = FromScaled(parts->negative ? -value : value, scale, unit->format);
      bool keep = binary ? (number & 7) != 0
                         : scale % 3 == 0 && !digits.ends_with("000") && digits[0] != '0';
      if (keep) q.text_ = text;
      return q;
    }
  }

  // Upstream: "." is zero above, but not here.
  if (!parts->has_digits) return InvalidArgumentError(kErrNumeric);
  BigDecimal value = BigDecimal::FromDigits(false, digits, scale);
  if (binary) value.ShiftLeft(unit->exponent);
  if (value.sign() != 0) value.Rescale(kNano);
  Format format = unit->format;
  if (binary) {
    // Upstream: binary sizes are capped, decimal ones are not.
    const BigDecimal cap(kInt64Max, 0);
    if (value.Compare(cap) > 0) value = cap;
    if (value.sign() != 0 && value.Compare(BigDecimal(1, 0)) < 0) format = Format::kDecimalSi;
  }
  if (parts->negative) value.Negate();
  return FromBig(std::move(value), format);
}

Result<Quantity> Quantity::FromProto(const resource::Quantity& message) {
  if (!message.has_string()) return Quantity();
  return Parse(message.string());
}

resource::Quantity Quantity::ToProto() const {
  resource::Quantity message;
  message.set_string(ToString());
  return message;
}

std::string Quantity::ToString() const { return text_.empty() ? CanonicalText() : text_; }

std::string Quantity::CanonicalText() const {
  if (IsZero()) return "0";
  Format format = format_;
  if (format == Format::kBinarySi) {
    if (CompareInt64(-1024) > 0 && CompareInt64(1024) < 0) {
      format = Format::kDecimalSi;
    } else {
      BigDecimal rounded = AsBig();
      if (!rounded.Rescale(0)) {
        format = Format::kDecimalSi;
      } else {
        bool negative = rounded.sign() < 0;
        int32_t times = 0;
        // Upstream: the smallest 64-bit number keeps all its digits.
        if (big_ || value_ != kInt64Min) {
          while (rounded.DivideBy1024IfExact()) ++times;
        }
        std::string out = negative ? "-" : "";
        out.append(rounded.UnscaledDigits()).append(SuffixText(kBinarySuffixes, times * 10));
        return out;
      }
    }
  }
  BigDecimal value = AsBig();
  return DecimalText(value.sign() < 0, value.UnscaledDigits(), value.exponent(), format);
}

BigDecimal Quantity::AsBig() const { return big_ ? *big_ : BigDecimal(value_, scale_); }

BigDecimal& Quantity::Promote() {
  if (!big_) {
    big_.emplace(value_, scale_);
    value_ = 0;
    scale_ = 0;
  }
  return *big_;
}

int Quantity::Sign() const {
  if (big_) return big_->sign();
  return value_ == 0 ? 0 : (value_ < 0 ? -1 : 1);
}

int Quantity::Compare(const Quantity& other) const {
  if (!big_ && !other.big_ && scale_ == other.scale_) {
    return value_ == other.value_ ? 0 : (value_ < other.value_ ? -1 : 1);
  }
  return AsBig().Compare(other.AsBig());
}

std::optional<int64_t> Quantity::AsInt64() const {
  if (big_ || scale_ < 0) return std::nullopt;
  return MultiplyPow10(value_, scale_);
}

int64_t Quantity::ScaledValue(int32_t scale) const {
  if (!big_) {
    bool exact = false;
    int64_t distance = int64_t{scale_} - scale;
    if (distance < 0) return DivideAwayFromZero(value_, -distance, &exact);
    return MultiplyPow10OrWrap(value_, distance);
  }
  int64_t drop = int64_t{scale} - big_->exponent();
  int64_t low = big_->UnscaledLow64();
  if (drop <= 0) {
    // A power that does not fit converts to the smallest number upstream (amd64).
    int64_t factor = MultiplyPow10(1, -drop).value_or(kInt64Min);
    return static_cast<int64_t>(static_cast<uint64_t>(low) * static_cast<uint64_t>(factor));
  }
  if (big_->Compare(BigDecimal(kInt64Max, big_->exponent())) < 0 && drop < 19) {
    int64_t divisor = *MultiplyPow10(1, drop);
    return low / divisor + (low % divisor != 0 ? 1 : 0);
  }
  BigDecimal quotient = *big_;
  bool negative = quotient.sign() < 0;
  bool lost = quotient.DropDigits(static_cast<int32_t>(std::min<int64_t>(drop, INT32_MAX)));
  auto result = static_cast<uint64_t>(quotient.UnscaledLow64());
  if (lost && !negative) ++result;
  return static_cast<int64_t>(result);
}

bool Quantity::AddSmall(int64_t value, int32_t scale) {
  if (value == 0) return true;
  if (value_ == 0) {
    value_ = value;
    scale_ = scale;
    return true;
  }
  int32_t target = std::min(scale_, scale);
  std::optional<int64_t> a = MultiplyPow10(value_, int64_t{scale_} - target);
  std::optional<int64_t> b = MultiplyPow10(value, int64_t{scale} - target);
  int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return false;
  value_ = sum;
  scale_ = target;
  return true;
}

void Quantity::Add(const Quantity& other) {
  if (&other == this) return Add(Quantity(other));
  text_.clear();
  if (IsZero()) format_ = other.format_;
  if (!big_ && !other.big_ && AddSmall(other.value_, other.scale_)) return;
  Promote().Add(other.AsBig());
}

void Quantity::Subtract(const Quantity& other) {
  Quantity negated = other;
  negated.Negate();
  Add(negated);
}

bool Quantity::Multiply(int64_t factor) {
  text_.clear();
  if (!big_) {
    if (value_ == 0) return true;
    if (factor == 0) {
      value_ = 0;
      scale_ = 0;
      return true;
    }
    int64_t product = 0;
    if (!__builtin_mul_overflow(value_, factor, &product)) {
      bool fits = true;
      if (scale_ > 0) {
        fits = MultiplyPow10(product, scale_).has_value();
      } else if (scale_ < 0) {
        DivideAwayFromZero(product, -int64_t{scale_}, &fits);
      }
      if (fits) {
        value_ = product;
        return true;
      }
    }
  }
  Promote().MultiplyInt64(factor);
  return big_->UnscaledFitsInt64();
}

void Quantity::Negate() {
  text_.clear();
  if (!big_ && value_ != kInt64Min) {
    value_ = -value_;
    return;
  }
  Promote().Negate();
}

bool Quantity::RoundUp(int32_t scale) {
  if (big_) {
    text_.clear();
    return big_->Rescale(scale);
  }
  if (scale_ >= scale) return true;
  text_.clear();
  bool exact = false;
  value_ = DivideAwayFromZero(value_, int64_t{scale} - scale_, &exact);
  scale_ = scale;
  return exact;
}

}  // namespace csinative::apis
