// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/registry.h"

#include <algorithm>
#include <cassert>

namespace csinative::metrics {

template <typename Metric>
Family<Metric>::Family(FamilyOptions options, std::function<Metric()> make)
    : options_(std::move(options)), make_(std::move(make)) {
  for (size_t i = 0; i < options_.labels.size(); ++i) {
    columns_.push_back({options_.labels[i], {}, static_cast<int>(i)});
  }
  for (const auto& [name, value] : options_.const_labels) columns_.push_back({name, value, -1});
  std::sort(columns_.begin(), columns_.end(),
            [](const Column& a, const Column& b) { return a.name < b.name; });
  // Until here an index counts in With's order; from now on in the key's.
  for (Column& column : columns_) {
    if (column.index < 0) continue;
    order_.push_back(static_cast<size_t>(column.index));
    column.index = static_cast<int>(order_.size()) - 1;
  }
  if (options_.labels.empty()) Only();
}

template <typename Metric>
auto Family<Metric>::MakeKey(std::span<const std::string_view> values) const -> Key {
  assert(values.size() == order_.size());
  Key key;
  key.reserve(order_.size());
  for (const size_t position : order_) key.emplace_back(values[position]);
  return key;
}

template <typename Metric>
Metric& Family<Metric>::With(std::span<const std::string_view> values) {
  Key key = MakeKey(values);
  auto it = series_.lower_bound(key);
  if (it == series_.end() || it->first != key) {
    it = series_.emplace_hint(it, std::move(key), make_());
  }
  return it->second;
}

template <typename Metric>
void Family<Metric>::Remove(std::initializer_list<std::string_view> values) {
  series_.erase(MakeKey(std::span<const std::string_view>(values.begin(), values.size())));
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

template <typename Metric>
Family<Metric>& Registry::Add(FamilyOptions options, std::function<Metric()> make) {
  std::unique_ptr<AnyFamily>& slot = families_[options.name];
  if (slot == nullptr) {
    slot = std::make_unique<AnyFamily>(std::in_place_type<Family<Metric>>, std::move(options),
                                       std::move(make));
  } else {
    // A second provider of the same family shares it.
    assert(std::holds_alternative<Family<Metric>>(*slot));
    assert(std::get<Family<Metric>>(*slot).options().labels == options.labels);
  }
  return std::get<Family<Metric>>(*slot);
}

CounterFamily& Registry::AddCounter(FamilyOptions options) {
  return Add<Counter>(std::move(options), [] { return Counter(); });
}

GaugeFamily& Registry::AddGauge(FamilyOptions options) {
  return Add<Gauge>(std::move(options), [] { return Gauge(); });
}

HistogramFamily& Registry::AddHistogram(FamilyOptions options, std::span<const double> bounds) {
  return Add<Histogram>(std::move(options), [bounds] { return Histogram(bounds); });
}

std::vector<CollectedFamily> Registry::Collect() const {
  std::vector<CollectedFamily> collected;
  for (const Collector& collector : collectors_) collector(collected);
  return collected;
}

}  // namespace csinative::metrics
