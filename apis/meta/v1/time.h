// SPDX-License-Identifier: Apache-2.0
//
// Times as the Kubernetes API writes them (kube-client 20). Time has whole seconds, MicroTime six
// digits; both are UTC. An unset message is the zero time, which JSON writes as null. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative::apis {

// A moment with the range of RFC 3339, which is wider than WallTime's.
struct Moment {
  int64_t seconds = 0;  // since 1970
  int32_t nanos = 0;    // 0 to 999,999,999
  bool operator==(const Moment&) const = default;
};

// "1998-05-05T05:05:05Z". Moments outside the years 0 to 9999 print as the nearest inside.
std::string FormatRfc3339(Moment moment);
// "1998-05-05T05:05:05.000001Z": always six digits, the rest is cut.
std::string FormatRfc3339Micro(Moment moment);

// Any offset; a fraction of any length. InvalidArgument otherwise.
Result<Moment> ParseRfc3339(std::string_view text);
// The same with exactly six digits of fraction.
Result<Moment> ParseRfc3339Micro(std::string_view text);

Moment ToMoment(WallTime time);

// The messages. Making one cuts to its precision, as the API does.
meta::Time MakeTime(Moment moment);
meta::Time MakeTime(WallTime time);
meta::MicroTime MakeMicroTime(Moment moment);
meta::MicroTime MakeMicroTime(WallTime time);

// Unset, or Go's zero time (year 1).
bool IsZero(const meta::Time& time);
bool IsZero(const meta::MicroTime& time);

// Nothing for the zero time and for what WallTime cannot hold (years 1678 to 2261). A sender's
// fraction is ignored in a Time and cut to microseconds in a MicroTime.
std::optional<WallTime> ToWallTime(const meta::Time& time);
std::optional<WallTime> ToWallTime(const meta::MicroTime& time);

// The API's text. REQUIRES: !IsZero(time), else the text of 1970 or year 1.
std::string FormatTime(const meta::Time& time);
std::string FormatTime(const meta::MicroTime& time);

// Equal to the second, the precision that survives the API. Two zero times are equal.
bool SameTime(const meta::Time& a, const meta::Time& b);
// Upstream: nothing is before the zero time, and the zero time is before everything else.
bool Before(const meta::Time& a, const meta::Time& b);

}  // namespace csinative::apis
