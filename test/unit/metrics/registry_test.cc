// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "lib/metrics/exposition.h"

namespace csinative::metrics {
namespace {

constexpr double kBounds[] = {1, 2};

TEST(RegistryTest, SecondProviderSharesTheFamily) {
  Registry registry;
  auto& first = registry.AddCounter({.name = "c", .help = "C.", .labels = {"l"}});
  auto& second = registry.AddCounter({.name = "c", .help = "C.", .labels = {"l"}});
  EXPECT_EQ(&first, &second);
  first.With({"x"}).Add();
  second.With({"x"}).Add();
  EXPECT_EQ(first.With({"x"}).value(), 2);
}

TEST(RegistryTest, SeriesKeepTheirAddress) {
  Registry registry;
  auto& family = registry.AddGauge({.name = "g", .help = "G.", .labels = {"b", "a"}});
  Gauge& gauge = family.With({"1", "2"});
  for (int i = 0; i < 100; ++i) family.With({std::to_string(i), "x"});
  EXPECT_EQ(&family.With({"1", "2"}), &gauge);
  EXPECT_NE(&family.With({"2", "1"}), &gauge);
}

TEST(RegistryTest, SeriesAndFamiliesCanBeRemoved) {
  Registry registry;
  auto& family = registry.AddGauge({.name = "g", .help = "G.", .labels = {"b", "a"}});
  family.With({"1", "2"}).Set(1);
  family.With({"2", "1"}).Set(2);
  family.Remove({"1", "2"});
  EXPECT_EQ(ExposeText(registry), "# HELP g G.\n# TYPE g gauge\ng{a=\"1\",b=\"2\"} 2\n");
  family.Clear();
  EXPECT_EQ(ExposeText(registry), "");
  registry.RemoveFamily("g");
  registry.AddGauge({.name = "g", .help = "Other."});
  EXPECT_EQ(ExposeText(registry), "# HELP g Other.\n# TYPE g gauge\ng 0\n");
}

TEST(HistogramTest, ValuesFallIntoTheFirstBucketThatHoldsThem) {
  Histogram histogram{kBounds};
  for (const double value : {-5.0, 1.0, 1.5, 2.0, 2.5, HUGE_VAL}) histogram.Observe(value);
  histogram.Observe(std::chrono::milliseconds(1500));
  EXPECT_EQ(histogram.bucket(0), 2u);
  EXPECT_EQ(histogram.bucket(1), 3u);
  EXPECT_EQ(histogram.bucket(2), 2u);
  EXPECT_EQ(histogram.count(), 7u);
}

TEST(HistogramTest, NanIsInTheLastBucket) {
  Histogram histogram{kBounds};
  histogram.Observe(NAN);
  EXPECT_EQ(histogram.bucket(2), 1u);
  EXPECT_TRUE(std::isnan(histogram.sum()));
}

}  // namespace
}  // namespace csinative::metrics
