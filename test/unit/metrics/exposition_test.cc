// SPDX-License-Identifier: Apache-2.0
//
// The text format of common 9.8.
#include "lib/metrics/exposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lib/metrics/registry.h"

namespace csinative::metrics {
namespace {

constexpr double kBounds[] = {0.1, 1, 1e7};

TEST(ExpositionTest, FamiliesAndSeriesAreSorted) {
  Registry registry;
  auto& requests = registry.AddCounter({.name = "requests_total",
                                        .help = "Requests.",
                                        .labels = {"verb", "code"},
                                        .const_labels = {{"host", "h"}}});
  requests.With({"PUT", "200"}).Add();
  requests.With({"GET", "500"}).Add(2);
  requests.With({"GET", "200"}).Add(1000000);
  registry.AddGauge({.name = "a_gauge", .help = "Gauge."}).Only().Set(-1.5);
  EXPECT_EQ(ExposeText(registry), R"(# HELP a_gauge Gauge.
# TYPE a_gauge gauge
a_gauge -1.5
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",host="h",verb="GET"} 1e+06
requests_total{code="200",host="h",verb="PUT"} 1
requests_total{code="500",host="h",verb="GET"} 2
)");
}

TEST(ExpositionTest, HistogramsAreCumulative) {
  Registry registry;
  auto& family =
      registry.AddHistogram({.name = "h_seconds", .help = "H.", .labels = {"z"}}, kBounds);
  Histogram& histogram = family.With({"x"});
  histogram.Observe(0.1);  // a bound belongs to its bucket
  histogram.Observe(0.5);
  histogram.Observe(1e8);
  EXPECT_EQ(ExposeText(registry), R"(# HELP h_seconds H.
# TYPE h_seconds histogram
h_seconds_bucket{z="x",le="0.1"} 1
h_seconds_bucket{z="x",le="1"} 2
h_seconds_bucket{z="x",le="1e+07"} 2
h_seconds_bucket{z="x",le="+Inf"} 3
h_seconds_sum{z="x"} 1.000000006e+08
h_seconds_count{z="x"} 3
)");
}

TEST(ExpositionTest, HistogramWithoutLabelsHasTheBoundOnly) {
  Registry registry;
  registry.AddHistogram({.name = "h", .help = "H."}, std::span(kBounds).first(1)).Only();
  EXPECT_EQ(ExposeText(registry), R"(# HELP h H.
# TYPE h histogram
h_bucket{le="0.1"} 0
h_bucket{le="+Inf"} 0
h_sum 0
h_count 0
)");
}

TEST(ExpositionTest, HelpAndLabelsAreEscaped) {
  Registry registry;
  registry.AddGauge({.name = "g", .help = "back\\slash, \"quote\",\nline", .labels = {"l"}})
      .With({"back\\slash, \"quote\",\nline"})
      .Set(0);
  EXPECT_EQ(ExposeText(registry), R"(# HELP g back\\slash, "quote",\nline
# TYPE g gauge
g{l="back\\slash, \"quote\",\nline"} 0
)");
}

TEST(ExpositionTest, NumbersAreGos) {
  const std::pair<double, std::string> rows[] = {
      {0, "0"},           {-0.0, "0"},         {1, "1"},
      {-1, "-1"},         {100000, "100000"},  {1234567, "1.234567e+06"},
      {0.0001, "0.0001"}, {0.00001, "1e-05"},  {1717171717.12, "1.71717171712e+09"},
      {INFINITY, "+Inf"}, {-INFINITY, "-Inf"}, {NAN, "NaN"},
  };
  for (const auto& [value, text] : rows) {
    Registry registry;
    registry.AddGauge({.name = "g", .help = "G."}).Only().Set(value);
    EXPECT_EQ(ExposeText(registry), "# HELP g G.\n# TYPE g gauge\ng " + text + "\n");
  }
}

TEST(ExpositionTest, FamiliesWithoutSeriesAreAbsent) {
  Registry registry;
  registry.AddCounter({.name = "c", .help = "C.", .labels = {"l"}});
  EXPECT_EQ(ExposeText(registry), "");
}

TEST(ExpositionTest, CollectedFamiliesTakeTheirPlace) {
  Registry registry;
  registry.AddGauge({.name = "b", .help = "B."});
  registry.AddCollector([](std::vector<CollectedFamily>& out) {
    out.push_back(
        {"c", "C.", Type::kGauge, {{{{"z", "1"}, {"a", "2"}}, 5}, {{{"a", "1"}, {"z", "9"}}, 4}}});
    out.push_back({"a", "A.", Type::kCounter, {{{}, 7}}});
    out.push_back({"empty", "E.", Type::kGauge, {}});
  });
  EXPECT_EQ(ExposeText(registry), R"(# HELP a A.
# TYPE a counter
a 7
# HELP b B.
# TYPE b gauge
b 0
# HELP c C.
# TYPE c gauge
c{a="1",z="9"} 4
c{a="2",z="1"} 5
)");
}

// common 9.8: of two families with one name the first wins.
TEST(ExpositionTest, FirstOfOneNameWins) {
  Registry registry;
  registry.AddGauge({.name = "a", .help = "registered"});
  registry.AddGauge({.name = "b", .help = "registered but empty", .labels = {"l"}});
  registry.AddCollector([](std::vector<CollectedFamily>& out) {
    out.push_back({"a", "collected", Type::kGauge, {{{}, 1}}});
    out.push_back({"b", "collected", Type::kGauge, {{{}, 2}}});
    out.push_back({"b", "second", Type::kGauge, {{{}, 3}}});
  });
  EXPECT_EQ(ExposeText(registry),
            "# HELP a registered\n# TYPE a gauge\na 0\n# HELP b collected\n# TYPE b gauge\nb 2\n");
}

TEST(ExpositionTest, NamesFilterFamilies) {
  Registry registry;
  for (const char* name : {"a", "b", "c"}) registry.AddGauge({.name = name, .help = "H."});
  registry.AddCollector([](std::vector<CollectedFamily>& out) {
    out.push_back({"d", "H.", Type::kGauge, {{{}, 1}}});
    out.push_back({"e", "H.", Type::kGauge, {{{}, 1}}});
  });
  const std::vector<std::string> only = {"d", "b", "nope"};
  EXPECT_EQ(ExposeText(registry, only),
            "# HELP b H.\n# TYPE b gauge\nb 0\n# HELP d H.\n# TYPE d gauge\nd 1\n");
}

}  // namespace
}  // namespace csinative::metrics
