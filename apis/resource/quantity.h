// SPDX-License-Identifier: Apache-2.0
//
// Quantity calculates with the texts that Kubernetes uses for sizes and amounts ("10Gi", "500m",
// "1e3"): exact decimal arithmetic and the API's canonical text (kube-client 19). The protobuf
// message resource::Quantity holds only the text. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apis/namespaces.h"
#include "apis/resource/big_decimal.h"
#include "apis/resource/quantity.pb.h"
#include "lib/base/result.h"

namespace csinative::apis {

class Quantity {
 public:
  enum class Format {
    kDecimalSi,        // 12M, 500m
    kBinarySi,         // 12Mi
    kDecimalExponent,  // 12e6
  };

  // Powers of ten for ScaledValue, RoundUp and FromScaled.
  static constexpr int32_t kNano = -9;
  static constexpr int32_t kMicro = -6;
  static constexpr int32_t kMilli = -3;

  // Zero in decimal SI.
  Quantity() = default;
  explicit Quantity(int64_t value, Format format = Format::kBinarySi)
      : value_(value), format_(format) {}
  // value * 10^scale.
  static Quantity FromScaled(int64_t value, int32_t scale, Format format);

  // InvalidArgument with upstream's text when `text` is not a quantity; no white space is
  // allowed. Text that is already canonical enough is kept and comes back from ToString as it
  // was (kube-client 19.1, rule 5).
  // Differs: an exponent beyond +-10000 is refused; upstream spends minutes on such numbers.
  static Result<Quantity> Parse(std::string_view text);
  // An unset text is zero.
  static Result<Quantity> FromProto(const resource::Quantity& message);

  // The text for JSON, protobuf and logs: what was parsed, or the canonical text once changed.
  std::string ToString() const;
  resource::Quantity ToProto() const;

  Format format() const { return format_; }
  bool IsZero() const { return Sign() == 0; }
  int Sign() const;

  // -1, 0 or 1 by value; the formats do not matter.
  int Compare(const Quantity& other) const;
  int CompareInt64(int64_t other) const { return Compare(Quantity(other)); }
  bool operator==(const Quantity& other) const { return Compare(other) == 0; }
  bool operator<(const Quantity& other) const { return Compare(other) < 0; }
  bool operator>(const Quantity& other) const { return Compare(other) > 0; }
  bool operator<=(const Quantity& other) const { return Compare(other) <= 0; }
  bool operator>=(const Quantity& other) const { return Compare(other) >= 0; }

  // The value in units of 10^scale, rounded away from zero.
  // Upstream: what does not fit 64 bits gives 0 or wraps around, and a negative value that was
  // parsed beyond 64 bits is cut and increased by one instead of rounded.
  int64_t ScaledValue(int32_t scale) const;
  int64_t Value() const { return ScaledValue(0); }
  int64_t MilliValue() const { return ScaledValue(kMilli); }
  // The value when it is an integer held in 64 bits without a fractional scale, else nothing.
  std::optional<int64_t> AsInt64() const;

  // Adding to zero takes the other's format. Exact.
  void Add(const Quantity& other);
  void Subtract(const Quantity& other);
  // Exact; false when the unscaled result does not fit 64 bits.
  bool Multiply(int64_t factor);
  void Negate();
  // Rounds away from zero to a multiple of 10^scale; true when nothing was lost.
  bool RoundUp(int32_t scale);

 private:
  static Quantity FromBig(BigDecimal value, Format format);
  BigDecimal AsBig() const;
  // Makes big_ hold the value.
  BigDecimal& Promote();
  // Adds in 64 bits; false and unchanged on overflow.
  bool AddSmall(int64_t value, int32_t scale);
  std::string CanonicalText() const;

  // The value is *big_ if set, else value_ * 10^scale_.
  int64_t value_ = 0;
  int32_t scale_ = 0;
  std::optional<BigDecimal> big_;
  Format format_ = Format::kDecimalSi;
  std::string text_;  // as parsed; empty once the value changed or when not worth keeping
};

}  // namespace csinative::apis
