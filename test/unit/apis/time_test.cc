// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace csinative::apis {
namespace {

constexpr int64_t kMay1998 = 894344705;  // 1998-05-05T05:05:05Z

TEST(TimeTest, PrintsUtcInWholeSeconds) {
  EXPECT_EQ(FormatRfc3339({kMay1998, 999'999'999}), "1998-05-05T05:05:05Z");
  EXPECT_EQ(FormatRfc3339({0, 0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatRfc3339({-1, 0}), "1969-12-31T23:59:59Z");
  EXPECT_EQ(FormatRfc3339({951782400, 0}), "2000-02-29T00:00:00Z");
}

TEST(TimeTest, PrintsMicroTimeWithSixDigits) {
  // kube-client 24.14 T7.
  EXPECT_EQ(FormatRfc3339Micro({kMay1998, 50}), "1998-05-05T05:05:05.000000Z");
  EXPECT_EQ(FormatRfc3339Micro({kMay1998, 5050}), "1998-05-05T05:05:05.000005Z");
  EXPECT_EQ(FormatRfc3339Micro({kMay1998, 999'999'999}), "1998-05-05T05:05:05.999999Z");
}

TEST(TimeTest, PrintsHostileMomentsWithinTheCalendar) {
  EXPECT_EQ(FormatRfc3339({std::numeric_limits<int64_t>::max(), 0}), "9999-12-31T23:59:59Z");
  EXPECT_EQ(FormatRfc3339({std::numeric_limits<int64_t>::min(), 0}), "0000-01-01T00:00:00Z");
  EXPECT_EQ(FormatRfc3339Micro({0, -5}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(FormatRfc3339Micro({0, std::numeric_limits<int32_t>::max()}),
            "1970-01-01T00:00:00.999999Z");
}

TEST(TimeTest, ParsesOffsetsAndFractions) {
  struct Row {
    std::string_view text;
    Moment moment;
  };
  const Row rows[] = {
      {"1998-05-05T05:05:05Z", {kMay1998, 0}},
      {"1998-05-05T01:05:05.00000005-04:00", {kMay1998, 50}},  // 24.14 T6
      {"1998-05-05T06:35:05+01:30", {kMay1998, 0}},
      {"1998-05-05T05:05:05.5Z", {kMay1998, 500'000'000}},
      {"1998-05-05T05:05:05,25Z", {kMay1998, 250'000'000}},
      {"1998-05-05T05:05:05.1234567891Z", {kMay1998, 123'456'789}},
      {"1998-05-05T5:05:05Z", {kMay1998, 0}},
      {"2000-02-29T00:00:00Z", {951782400, 0}},
      {"0000-01-01T00:00:00Z", {-62167219200, 0}},
      {"9999-12-31T23:59:59Z", {253402300799, 0}},
  };
  for (const Row& row : rows) {
    Result<Moment> moment = ParseRfc3339(row.text);
    ASSERT_TRUE(moment.ok()) << row.text;
    EXPECT_EQ(*moment, row.moment) << row.text;
  }
}

TEST(TimeTest, RejectsWhatIsNoTime) {
  for (std::string_view text : {"",
                                "null",
                                "1998-05-05",
                                "1998-05-05T05:05:05",
                                "1998-05-05 05:05:05Z",
                                "1998-05-05t05:05:05Z",
                                "1998-05-05T05:05:05z",
                                "1998-13-05T05:05:05Z",
                                "1998-00-05T05:05:05Z",
                                "1998-02-29T05:05:05Z",
                                "1998-05-05T24:00:00Z",
                                "1998-05-05T05:60:05Z",
                                "1998-05-05T05:05:60Z",
                                "1998-05-05T05:05:05.Z",
                                "1998-05-05T05:05:05+0100",
                                "1998-05-05T05:05:05+25:00",
                                "1998-05-05T05:05:05Z ",
                                "98-05-05T05:05:05Z",
                                "11998-05-05T05:05:05Z",
                                "1998-5-05T05:05:05Z",
                                "1998-05-05T05:05:05Zgarbage",
                                "-998-05-05T05:05:05Z"}) {
    EXPECT_FALSE(ParseRfc3339(text).ok()) << text;
  }
}

TEST(TimeTest, MicroTimeNeedsExactlySixDigits) {
  EXPECT_TRUE(ParseRfc3339Micro("1998-05-05T05:05:05.000005Z").ok());
  EXPECT_EQ(ParseRfc3339Micro("1998-05-05T07:05:05.000005+02:00")->nanos, 5000);
  EXPECT_FALSE(ParseRfc3339Micro("1998-05-05T05:05:05Z").ok());
  EXPECT_FALSE(ParseRfc3339Micro("1998-05-05T05:05:05.00000Z").ok());
  EXPECT_FALSE(ParseRfc3339Micro("1998-05-05T05:05:05.0000000Z").ok());
}

TEST(TimeTest, MessagesHaveTheApisPrecision) {
  // kube-client 20.
  EXPECT_EQ(MakeMicroTime(Moment{123, 123'123'123}).SerializeAsString(),
            "\x08\x7b\x10\xb8\xea\xda\x3a");
  meta::MicroTime read;
  ASSERT_TRUE(read.ParseFromString("\x08\x7b\x10\xb3\xeb\xda\x3a"));
  EXPECT_EQ(ToWallTime(read)->time_since_epoch().count(), 123'123'123'000);
  EXPECT_EQ(MakeTime(Moment{1, 999}).SerializeAsString(), std::string("\x08\x01\x10\x00", 4));
}

TEST(TimeTest, ReaderIgnoresNanosOfATime) {
  meta::Time time;
  time.set_seconds(5);
  time.set_nanos(7);
  EXPECT_EQ(ToWallTime(time)->time_since_epoch(), std::chrono::seconds(5));
}

TEST(TimeTest, UnsetAndYearOneAreTheZeroTime) {
  EXPECT_TRUE(IsZero(meta::Time()));
  EXPECT_TRUE(IsZero(MakeTime(*ParseRfc3339("0001-01-01T00:00:00Z"))));
  EXPECT_EQ(MakeTime(*ParseRfc3339("0001-01-01T00:00:00Z")).ByteSizeLong(), 0u);
  EXPECT_FALSE(IsZero(MakeTime(Moment{0, 0})));
  EXPECT_EQ(ToWallTime(meta::Time()), std::nullopt);
  EXPECT_EQ(ToWallTime(meta::MicroTime()), std::nullopt);
}

TEST(TimeTest, WallTimeRoundTripsAndSaysWhatItCannotHold) {
  WallTime time{std::chrono::nanoseconds(1'700'000'000'123'456'789)};
  EXPECT_EQ(ToWallTime(MakeMicroTime(time))->time_since_epoch().count(), 1'700'000'000'123'456'000);
  EXPECT_EQ(ToWallTime(MakeTime(time))->time_since_epoch().count(), 1'700'000'000'000'000'000);
  WallTime before_epoch{std::chrono::nanoseconds(-1)};
  EXPECT_EQ(ToMoment(before_epoch), (Moment{-1, 999'999'999}));
  EXPECT_EQ(ToWallTime(MakeTime(Moment{253402300799, 0})), std::nullopt);
}

TEST(TimeTest, ComparesToTheSecond) {
  // 24.14 T8.
  meta::Time none;
  meta::Time one = MakeTime(Moment{1, 0});
  meta::Time also_one = one;
  also_one.set_nanos(5);
  EXPECT_TRUE(SameTime(none, none));
  EXPECT_FALSE(SameTime(none, one));
  EXPECT_TRUE(SameTime(one, also_one));
  EXPECT_FALSE(Before(one, none));
  EXPECT_FALSE(Before(one, also_one));
  EXPECT_TRUE(Before(none, one));
}

}  // namespace
}  // namespace csinative::apis
