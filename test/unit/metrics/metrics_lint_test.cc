// SPDX-License-Identifier: Apache-2.0
//
// The lint that the integration tests put /metrics through must see what it is for.
#include "test/support/metrics_lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace csinative::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kGood[] = R"(# HELP a_total [ALPHA] Words.
# TYPE a_total counter
a_total{code="200",verb="GET \"x\"\\\n"} 1
a_total{code="500",verb="GET"} 1e+06
# HELP b_seconds Words.
# TYPE b_seconds histogram
b_seconds_bucket{method="x",le="0.1"} 1
b_seconds_bucket{method="x",le="+Inf"} 2
b_seconds_sum{method="x"} 0.5
b_seconds_count{method="x"} 2
# HELP c Words.
# TYPE c gauge
c -Inf
)";

TEST(MetricsLintTest, GoodTextHasNothingWrong) { EXPECT_THAT(LintMetrics(kGood), IsEmpty()); }

struct Row {
  const char* name;
  const char* text;
  const char* wrong;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class MetricsLintTableTest : public ::testing::TestWithParam<Row> {};

TEST_P(MetricsLintTableTest, SaysWhatIsWrong) {
  EXPECT_THAT(LintMetrics(GetParam().text), ElementsAre(GetParam().wrong));
}

#define HEAD(name, type) "# HELP " name " Words.\n# TYPE " name " " type "\n"
#define BUCKETS(inf, count) \
  HEAD("h", "histogram")    \
  "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} " inf "\nh_sum 1\nh_count " count "\n"

INSTANTIATE_TEST_SUITE_P(
    Rows, MetricsLintTableTest,
    ::testing::Values(
        Row{"last_line", HEAD("a", "gauge") "a 1\na{b=\"c\"} 1", "the last line has no end"},
        Row{"no_line", HEAD("a", "gauge") "a 1\n\n", "no line of the format: "},
        Row{"no_number", HEAD("a", "gauge") "a 1\na{b=\"c\"} one\n",
            "no line of the format: a{b=\"c\"} one"},
        Row{"open_quote", HEAD("a", "gauge") "a 1\na{b=\"c} 1\n",
            "no line of the format: a{b=\"c} 1"},
        Row{"empty_help", "# HELP a \n# TYPE a gauge\na 1\n", "a: HELP is empty"},
        Row{"no_type", "# HELP a Words.\na 1\n", "a: no TYPE"},
        Row{"unknown_type", HEAD("a", "number") "a 1\n", "a: no type: number"},
        Row{"no_samples", HEAD("a", "gauge"), "a: no samples"},
        Row{"two_places", HEAD("a", "gauge") "a 1\n" HEAD("a", "gauge") "a{b=\"c\"} 1\n",
            "a: in two places"},
        Row{"unsorted", HEAD("b", "gauge") "b 1\n" HEAD("a", "gauge") "a 1\n", "a: not sorted"},
        Row{"series_twice", HEAD("a", "gauge") "a{b=\"c\"} 1\na{b=\"c\"} 2\n", "a{b=c,}: twice"},
        Row{"labels_unsorted", HEAD("a", "gauge") "a{c=\"1\",b=\"1\"} 1\n",
            "a: label b is not in order"},
        Row{"label_twice", HEAD("a", "gauge") "a{b=\"1\",b=\"2\"} 1\n",
            "a: label b is not in order"},
        Row{"label_reserved", HEAD("a", "gauge") "a{__b=\"1\"} 1\n", "a: label __b is reserved"},
        Row{"bound_of_gauge", HEAD("a", "gauge") "a{le=\"1\"} 1\n",
            "a: label le is not the last one of a bucket"},
        Row{"negative_counter", HEAD("a_total", "counter") "a_total -1\n", "a_total{}: no count"},
        Row{"endless_counter", HEAD("a_total", "counter") "a_total +Inf\n", "a_total{}: no count"},
        Row{"other_family", HEAD("a", "gauge") "a 1\nb 1\n", "b: a sample outside of its family"},
        Row{"bare_histogram", BUCKETS("2", "2") "h 1\n", "h: a sample outside of its family"},
        Row{"falling", BUCKETS("1", "1"), "h{}: counts of buckets fall"},
        Row{"infinite_is_not_count", BUCKETS("3", "2"), "h{}: bucket +Inf is not _count"},
        Row{"no_infinite", HEAD("h", "histogram") "h_bucket{le=\"1\"} 2\nh_sum 1\nh_count 2\n",
            "h{}: no bucket +Inf"},
        Row{"no_sum", HEAD("h", "histogram") "h_bucket{le=\"+Inf\"} 2\nh_count 2\n",
            "h{}: no _sum"},
        Row{"bounds_unsorted",
            HEAD("h", "histogram") "h_bucket{le=\"2\"} 2\nh_bucket{le=\"1\"} "
                                   "2\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\n"
                                   "h_count 2\n",
            "h{}: bounds do not ascend"},
        Row{"other_bounds",
            HEAD("h", "histogram") "h_bucket{a=\"1\",le=\"1\"} 2\nh_bucket{a=\"1\",le=\"+Inf\"} "
                                   "2\nh_sum{a=\"1\"} 1\n"
                                   "h_count{a=\"1\"} 2\nh_bucket{a=\"2\",le=\"+Inf\"} "
                                   "2\nh_sum{a=\"2\"} 1\n"
                                   "h_count{a=\"2\"} 2\n",
            "h{a=2,}: other bounds"},
        Row{"bound_without_value",
            HEAD("h", "histogram") "h_bucket{a=\"1\"} 2\n"
                                   "h_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n",
            "h_bucket{a=1,}: no bound"},
        Row{"counter_without_total", HEAD("a", "counter") "a 1\n", "a: a counter without _total"},
        Row{"total_gauge", HEAD("a_total", "gauge") "a_total 1\n",
            "a_total: _total, but no counter"},
        Row{"reserved_suffix", HEAD("a_count", "gauge") "a_count 1\n",
            "a_count: reserved suffix _count"},
        Row{"type_in_name", HEAD("a_histogram", "gauge") "a_histogram 1\n",
            "a_histogram: the type histogram in the name"},
        Row{"unit", HEAD("a_milliseconds", "gauge") "a_milliseconds 1\n",
            "a_milliseconds: milliseconds is no base unit"},
        Row{"capitals", HEAD("aB", "gauge") "aB 1\n", "aB: capital letters"},
        Row{"colon", HEAD("a:b", "gauge") "a:b 1\n", "a:b: colons are for recording rules"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(MetricsLintTest, UpstreamsNamesWinWhereTheyAreNeeded) {
  constexpr char kText[] = HEAD("a", "counter") "a 1\n" HEAD("b_total", "counter") "b_total 1\n";
  EXPECT_THAT(LintMetrics(kText, {"a"}), IsEmpty());
  EXPECT_THAT(LintMetrics(kText, {"a", "b_total", "c"}),
              ElementsAre("b_total: needs no allowance", "c: needs no allowance"));
}

}  // namespace
}  // namespace csinative::test
