// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>

namespace csinative::apis {
namespace {

constexpr int64_t kYear0 = -62167219200;
constexpr int64_t kEndOf9999 = 253402300799;
constexpr int64_t kGoZero = -62135596800;  // 0001-01-01T00:00:00Z
constexpr int32_t kNanosPerMicro = 1000;

void AppendPadded(std::string* out, int64_t value, int width) {
  std::string digits = std::to_string(value);
  out->append(width - std::min<size_t>(width, digits.size()), '0').append(digits);
}

std::string FormatSeconds(int64_t seconds) {
  namespace chrono = std::chrono;
  chrono::sys_seconds time{chrono::seconds(std::clamp(seconds, kYear0, kEndOf9999))};
  auto day = chrono::floor<chrono::days>(time);
  chrono::year_month_day date(day);
  chrono::hh_mm_ss clock(time - day);
  std::string out;
  out.reserve(sizeof("1998-05-05T05:05:05.000000Z"));
  AppendPadded(&out, static_cast<int>(date.year()), 4);
  out.push_back('-');
  AppendPadded(&out, static_cast<unsigned>(date.month()), 2);
  out.push_back('-');
  AppendPadded(&out, static_cast<unsigned>(date.day()), 2);
  out.push_back('T');
  AppendPadded(&out, clock.hours().count(), 2);
  out.push_back(':');
  AppendPadded(&out, clock.minutes().count(), 2);
  out.push_back(':');
  AppendPadded(&out, clock.seconds().count(), 2);
  return out;
}

// Reads the fixed shapes of RFC 3339 from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Literal(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  // `min_digits` to `max_digits` digits, as many as there are.
  std::optional<int> Number(int min_digits, int max_digits) {
    int value = 0;
    int count = 0;
    while (count < max_digits && NextIsDigit()) {
      value = value * 10 + (text_[0] - '0');
      text_.remove_prefix(1);
      ++count;
    }
    if (count < min_digits) return std::nullopt;
    return value;
  }

  // The digits after '.' or ',', or nothing when there is no fraction.
  std::optional<std::string_view> Fraction() {
    if (text_.size() < 2 || (text_[0] != '.' && text_[0] != ',') || !IsDigit(text_[1])) {
      return std::nullopt;
    }
    text_.remove_prefix(1);
    size_t n = 0;
    while (n < text_.size() && IsDigit(text_[n])) ++n;
    std::string_view digits = text_.substr(0, n);
    text_.remove_prefix(n);
    return digits;
  }

  // Seconds east of UTC.
  std::optional<int> Offset() {
    if (Literal('Z')) return 0;
    int sign = Literal('-') ? -1 : 1;
    if (sign == 1 && !Literal('+')) return std::nullopt;
    auto hours = Number(2, 2);
    if (!hours || !Literal(':')) return std::nullopt;
    auto minutes = Number(2, 2);
    // Upstream: 24 hours and 60 minutes are let through.
    if (!minutes || *hours > 24 || *minutes > 60) return std::nullopt;
    return sign * (*hours * 3600 + *minutes * 60);
  }

  bool AtEnd() const { return text_.empty(); }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  bool NextIsDigit() const { return !text_.empty() && IsDigit(text_[0]); }

  std::string_view text_;
};

int32_t FractionNanos(std::string_view digits) {
  int32_t nanos = 0;
  for (int i = 0; i < 9; ++i) {
    nanos = nanos * 10 + (static_cast<size_t>(i) < digits.size() ? digits[i] - '0' : 0);
  }
  return nanos;
}

struct Parsed {
  Moment moment;
  size_t fraction_digits = 0;
};

std::optional<Parsed> Parse(std::string_view text) {
  namespace chrono = std::chrono;
  Scanner in(text);
  auto year = in.Number(4, 4);
  if (!year || !in.Literal('-')) return std::nullopt;
  auto month = in.Number(2, 2);
  if (!month || !in.Literal('-')) return std::nullopt;
  auto day = in.Number(2, 2);
  if (!day || !in.Literal('T')) return std::nullopt;
  auto hour = in.Number(1, 2);  // Upstream: one digit is enough for the hour.
  if (!hour || !in.Literal(':')) return std::nullopt;
  auto minute = in.Number(2, 2);
  if (!minute || !in.Literal(':')) return std::nullopt;
  auto second = in.Number(2, 2);
  if (!second) return std::nullopt;
  auto fraction = in.Fraction();
  auto offset = in.Offset();
  if (!offset || !in.AtEnd()) return std::nullopt;

  chrono::year_month_day date{chrono::year(*year), chrono::month(*month), chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  int64_t days = chrono::sys_days(date).time_since_epoch().count();
  Parsed out;
  out.moment.seconds =
      days * 86400 + *hour * 3600 + *minute * 60 + *second - static_cast<int64_t>(*offset);
  out.moment.nanos = FractionNanos(fraction.value_or(""));
  out.fraction_digits = fraction.value_or("").size();
  return out;
}

Status CannotParse(std::string_view text, std::string_view layout) {
  return InvalidArgumentError("parsing time \"" + std::string(text) + "\" as \"" +
                              std::string(layout) + "\" failed");
}

std::optional<WallTime> MakeWallTime(int64_t seconds, int32_t nanos) {
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 1'000'000'000 - 1;
  if (seconds > kLimit || seconds < -kLimit) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos));
}

int32_t CutToMicros(int32_t nanos) {
  return std::clamp(nanos, 0, 999'999'999) / kNanosPerMicro * kNanosPerMicro;
}

}  // namespace

std::string FormatRfc3339(Moment moment) { return FormatSeconds(moment.seconds) + "Z"; }

std::string FormatRfc3339Micro(Moment moment) {
  std::string out = FormatSeconds(moment.seconds);
  out.push_back('.');
  AppendPadded(&out, std::clamp(moment.nanos, 0, 999'999'999) / kNanosPerMicro, 6);
  out.push_back('Z');
  return out;
}

Result<Moment> ParseRfc3339(std::string_view text) {
  auto parsed = Parse(text);
  if (!parsed) return CannotParse(text, "2006-01-02T15:04:05Z07:00");
  return parsed->moment;
}

Result<Moment> ParseRfc3339Micro(std::string_view text) {
  auto parsed = Parse(text);
  if (!parsed || parsed->fraction_digits != 6) {
    return CannotParse(text, "2006-01-02T15:04:05.000000Z07:00");
  }
  return parsed->moment;
}

Moment ToMoment(WallTime time) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {seconds.time_since_epoch().count(), static_cast<int32_t>((time - seconds).count())};
}

meta::Time MakeTime(Moment moment) {
  meta::Time out;
  if (moment.seconds == kGoZero) return out;
  out.set_seconds(moment.seconds);
  out.set_nanos(0);
  return out;
}

meta::Time MakeTime(WallTime time) { return MakeTime(ToMoment(time)); }

meta::MicroTime MakeMicroTime(Moment moment) {
  meta::MicroTime out;
  if (moment.seconds == kGoZero && moment.nanos == 0) return out;
  out.set_seconds(moment.seconds);
  out.set_nanos(CutToMicros(moment.nanos));
  return out;
}

meta::MicroTime MakeMicroTime(WallTime time) { return MakeMicroTime(ToMoment(time)); }

bool IsZero(const meta::Time& time) {
  return (!time.has_seconds() && !time.has_nanos()) || time.seconds() == kGoZero;
}

bool IsZero(const meta::MicroTime& time) {
  return (!time.has_seconds() && !time.has_nanos()) ||
         (time.seconds() == kGoZero && CutToMicros(time.nanos()) == 0);
}

std::optional<WallTime> ToWallTime(const meta::Time& time) {
  if (IsZero(time)) return std::nullopt;
  return MakeWallTime(time.seconds(), 0);
}

std::optional<WallTime> ToWallTime(const meta::MicroTime& time) {
  if (IsZero(time)) return std::nullopt;
  return MakeWallTime(time.seconds(), CutToMicros(time.nanos()));
}

std::string FormatTime(const meta::Time& time) { return FormatRfc3339({time.seconds(), 0}); }

std::string FormatTime(const meta::MicroTime& time) {
  return FormatRfc3339Micro({time.seconds(), time.nanos()});
}

bool SameTime(const meta::Time& a, const meta::Time& b) {
  if (IsZero(a) || IsZero(b)) return IsZero(a) == IsZero(b);
  return a.seconds() == b.seconds();
}

bool Before(const meta::Time& a, const meta::Time& b) {
  if (IsZero(b)) return false;
  return IsZero(a) || a.seconds() < b.seconds();
}

}  // namespace csinative::apis
