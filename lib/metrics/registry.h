// SPDX-License-Identifier: Apache-2.0
//
// Counters, gauges and histograms of one process, exposed by exposition.h. One registry for each
// Process object; it has no global and no lock.
//
// Loop only: metrics are recorded and exposed on the loop thread. Other threads (gRPC completions,
// the blocking pool) post to the loop and record there.
//
//   auto& requests = registry.AddCounter({.name = "requests_total", .help = "…", .labels =
//   {"code"}}); requests.With({"200"}).Add();
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/metrics/metric.h"

namespace csinative::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct FamilyOptions {
  std::string name;
  std::string help;
  std::vector<std::string> labels;  // names, in the order With takes the values
  Labels const_labels = {};         // on every series
};

enum class Type { kCounter, kGauge, kHistogram };

// All series of one name. Series appear in the exposition from their creation on; a family without
// labels has its one series from the start.
template <typename Metric>
class Family {
 public:
  // make creates the metric of a new series.
  Family(FamilyOptions options, std::function<Metric()> make);
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  // The series with these label values, created on first use; the reference stays valid until it
  // is removed. REQUIRES: one value for each label name.
  Metric& With(std::span<const std::string_view> values);
  Metric& With(std::initializer_list<std::string_view> values) {
    return With(std::span<const std::string_view>(values.begin(), values.size()));
  }
  // The series of a family without labels.
  Metric& Only() { return With({}); }
  void Remove(std::initializer_list<std::string_view> values);
  void Clear() { series_.clear(); }

  const FamilyOptions& options() const { return options_; }
  // Names and constant values in exposition order: sorted by name. A label that varies has its
  // index into the key of series() instead of a value.
  struct Column {
    std::string name;
    std::string constant;
    int index = -1;
  };
  const std::vector<Column>& columns() const { return columns_; }
  // Keys are the varying values, sorted by label name.
  using Key = std::vector<std::string>;
  const std::map<Key, Metric>& series() const { return series_; }

 private:
  Key MakeKey(std::span<const std::string_view> values) const;

  const FamilyOptions options_;
  const std::function<Metric()> make_;
  std::vector<Column> columns_;
  std::vector<size_t> order_;  // position in the key -> position in With's values
  std::map<Key, Metric> series_;
};

using CounterFamily = Family<Counter>;
using GaugeFamily = Family<Gauge>;
using HistogramFamily = Family<Histogram>;

// A counter or gauge family that a collector computes when it is asked.
struct CollectedFamily {
  std::string name;
  std::string help;
  Type type = Type::kGauge;
  struct Sample {
    Labels labels;
    double value = 0;
  };
  std::vector<Sample> samples;  // none: the family is left out
};

class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Adds a family, or returns the one that was added with the same name before. The reference
  // lives as long as the registry. REQUIRES: the same type and labels as before.
  CounterFamily& AddCounter(FamilyOptions options);
  GaugeFamily& AddGauge(FamilyOptions options);
  // bounds: upper bounds in ascending order, without +Inf; static storage, shared by all series.
  HistogramFamily& AddHistogram(FamilyOptions options, std::span<const double> bounds);

  // Forgets a family, so that one with other labels can take its name. REQUIRES: nothing records to
  // it any more.
  void RemoveFamily(const std::string& name) { families_.erase(name); }

  // Called for every exposition. Whatever it refers to outlives the registry's last exposition.
  // A collected family whose name is taken is dropped: the first one wins (common 9.8).
  using Collector = std::function<void(std::vector<CollectedFamily>& out)>;
  void AddCollector(Collector collector) { collectors_.push_back(std::move(collector)); }

  using AnyFamily = std::variant<CounterFamily, GaugeFamily, HistogramFamily>;
  const std::map<std::string, std::unique_ptr<AnyFamily>>& families() const { return families_; }
  std::vector<CollectedFamily> Collect() const;

 private:
  template <typename Metric>
  Family<Metric>& Add(FamilyOptions options, std::function<Metric()> make);

  std::map<std::string, std::unique_ptr<AnyFamily>> families_;
  std::vector<Collector> collectors_;
};

}  // namespace csinative::metrics
