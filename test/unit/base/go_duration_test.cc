// SPDX-License-Identifier: Apache-2.0
#include "lib/base/go_duration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/oracle_rows.h"

namespace csinative {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct AcceptedRow {
  std::string text;
  Duration value;
  const char* oracle_row;
};

TEST(GoDurationTest, AcceptsWhatGoAccepts) {
  const Duration lowest(INT64_MIN);
  const std::vector<AcceptedRow> rows = {
      {"0", Duration(0), "common/20.1/31"},
      {"-0", Duration(0), "common/20.1/31"},
      {"+0", Duration(0), "common/20.1/31"},
      {"5s", seconds(5), "common/20.1/32"},
      {"+5s", seconds(5), "common/20.1/32"},
      {"-5s", -seconds(5), "common/20.1/32"},
      {"5.0s", seconds(5), "common/20.1/32"},
      {"5.s", seconds(5), "common/20.1/32"},
      {"5.6s", milliseconds(5600), "common/20.1/33"},
      {".5s", milliseconds(500), "common/20.1/33"},
      {"1.004s", milliseconds(1004), "common/20.1/33"},
      {"100.00100s", milliseconds(100001), "common/20.1/33"},
      {"10ns", nanoseconds(10), "common/20.1/34"},
      {"11us", microseconds(11), "common/20.1/34"},
      {"12\u00b5s", microseconds(12), "common/20.1/34"},
      {"12\u03bcs", microseconds(12), "common/20.1/34"},
      {"13ms", milliseconds(13), "common/20.1/34"},
      {"14s", seconds(14), "common/20.1/34"},
      {"15m", minutes(15), "common/20.1/34"},
      {"16h", hours(16), "common/20.1/34"},
      {"3h30m", hours(3) + minutes(30), "common/20.1/35"},
      {"10.5s4m", minutes(4) + milliseconds(10500), "common/20.1/35"},
      {"-2m3.4s", -(minutes(2) + milliseconds(3400)), "common/20.1/35"},
      {"1h2m3s4ms5us6ns",
       hours(1) + minutes(2) + seconds(3) + milliseconds(4) + microseconds(5) + nanoseconds(6),
       "common/20.1/35"},
      {"39h9m14.425s", hours(39) + minutes(9) + milliseconds(14425), "common/20.1/35"},
      {"0.3333333333333333333h", minutes(20), "common/20.1/36"},
      {"0.100000000000000000000h", minutes(6), "common/20.1/37"},
      {"0.830103483285477580700h", minutes(49) + seconds(48) + nanoseconds(372539827),
       "common/20.1/38"},
      {"9007199254740993ns", nanoseconds(9007199254740993), "common/20.1/39"},
      {"9223372036854775807ns", nanoseconds(INT64_MAX), "common/20.1/39"},
      {"9223372036854775.807us", nanoseconds(INT64_MAX), "common/20.1/39"},
      {"9223372036s854ms775us807ns", nanoseconds(INT64_MAX), "common/20.1/39"},
      {"-9223372036854775808ns", lowest, "common/20.1/40"},
      {"-2562047h47m16.854775808s", lowest, "common/20.1/40"},
  };
  for (const AcceptedRow& row : rows) {
    const oracle::Rows oracle_rows(row.oracle_row);
    const Result<Duration> parsed = ParseGoDuration(row.text);
    ASSERT_TRUE(parsed.ok()) << row.text << ": " << parsed.status().message();
    EXPECT_EQ(parsed->count(), row.value.count()) << row.text;
  }
}

struct RefusedRow {
  std::string text;
  std::string error;
  const char* oracle_row = "";
};

TEST(GoDurationTest, RefusesWithGoErrorText) {
  const std::vector<RefusedRow> rows = {
      {"", R"(time: invalid duration "")", "common/20.1/31"},
      {"3", R"(time: missing unit in duration "3")", "common/20.1/31"},
      {"-", R"(time: invalid duration "-")", "common/20.1/31"},
      {"s", R"(time: invalid duration "s")", "common/20.1/31"},
      {".", R"(time: invalid duration ".")", "common/20.1/31"},
      {"-.", R"(time: invalid duration "-.")", "common/20.1/31"},
      {".s", R"(time: invalid duration ".s")", "common/20.1/31"},
      {"+.s", R"(time: invalid duration "+.s")", "common/20.1/31"},
      {"1d", R"(time: unknown unit "d" in duration "1d")", "common/20.1/31"},
      {"9223372036854775810ns", R"(time: invalid duration "9223372036854775810ns")",
       "common/20.1/32"},
      {"9223372036854775808ns", R"(time: invalid duration "9223372036854775808ns")",
       "common/20.1/32"},
      {"-9223372036854775809ns", R"(time: invalid duration "-9223372036854775809ns")",
       "common/20.1/32"},
      {"9223372036854776us", R"(time: invalid duration "9223372036854776us")", "common/20.1/33"},
      {"3000000h", R"(time: invalid duration "3000000h")", "common/20.1/33"},
      {"9223372036854775.808us", R"(time: invalid duration "9223372036854775.808us")",
       "common/20.1/34"},
      {"9223372036854ms775us808ns", R"(time: invalid duration "9223372036854ms775us808ns")",
       "common/20.1/34"},
      {"\x85\x85", R"(time: invalid duration "\x85\x85")", "common/20.1/35"},
      {"\xff\xff", R"(time: invalid duration "\xff\xff")", "common/20.1/35"},
      {"hello \"world\"", R"(time: invalid duration "hello \"world\"")", "common/20.1/35"},
      {"1\u00e9", R"(time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9")", "common/20.1/35"},
      {"5 s", R"(time: unknown unit " s" in duration "5 s")", "common/20.1/35"},
      {"+-1s", R"(time: invalid duration "+-1s")", "common/20.1/35"},
  };
  for (const RefusedRow& row : rows) {
    const oracle::Rows oracle_rows(row.oracle_row);
    const Result<Duration> parsed = ParseGoDuration(row.text);
    ASSERT_FALSE(parsed.ok()) << row.text;
    EXPECT_EQ(parsed.status().message(), row.error);
  }
}

TEST(GoDurationTest, FormatsTheLargestUnitFirst) {
  const std::vector<std::pair<Duration, std::string>> rows = {
      {Duration(0), "0s"},
      {nanoseconds(1), "1ns"},
      {nanoseconds(1100), "1.1µs"},
      {microseconds(2200), "2.2ms"},
      {milliseconds(3300), "3.3s"},
      {minutes(4) + seconds(5), "4m5s"},
      {minutes(4) + milliseconds(5001), "4m5.001s"},
      {hours(5) + minutes(6) + milliseconds(7001), "5h6m7.001s"},
      {hours(1), "1h0m0s"},
      {minutes(1), "1m0s"},
      {minutes(8) + nanoseconds(1), "8m0.000000001s"},
      {nanoseconds(INT64_MAX), "2562047h47m16.854775807s"},
      {nanoseconds(INT64_MIN), "-2562047h47m16.854775808s"},
      {-milliseconds(1500), "-1.5s"},
  };
  for (const auto& [value, text] : rows) EXPECT_EQ(FormatGoDuration(value), text);
}

}  // namespace
}  // namespace csinative
