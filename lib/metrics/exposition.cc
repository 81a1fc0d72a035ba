// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/exposition.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/go_float.h"

namespace csinative::metrics {
namespace {

void AppendNumber(std::string& out, double value) {
  // Go's writer has no negative zero.
  AppendGoFloatG(out, value == 0 ? 0 : value);
}

void AppendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

void AppendHead(std::string& out, std::string_view name, std::string_view help, Type type) {
  if (!help.empty()) {
    out += "# HELP ";
    out += name;
    out += ' ';
    AppendEscaped(out, help, /*quotes=*/false);
    out += '\n';
  }
  out += "# TYPE ";
  out += name;
  out += ' ';
  out += TypeName(type);
  out += '\n';
}

// a="1",b="2" without braces.
void AppendLabel(std::string& out, std::string_view name, std::string_view value) {
  if (!out.empty()) out += ',';
  out += name;
  out += "=\"";
  AppendEscaped(out, value, /*quotes=*/true);
  out += '"';
}

void AppendSample(std::string& out, std::string_view name, std::string_view suffix,
                  std::string_view labels, double value) {
  out += name;
  out += suffix;
  if (!labels.empty()) {
    out += '{';
    out += labels;
    out += '}';
  }
  out += ' ';
  AppendNumber(out, value);
  out += '\n';
}

void AppendMetric(std::string& out, std::string_view name, const std::string& labels,
                  const Counter& counter) {
  AppendSample(out, name, "", labels, counter.value());
}

void AppendMetric(std::string& out, std::string_view name, const std::string& labels,
                  const Gauge& gauge) {
  AppendSample(out, name, "", labels, gauge.value());
}

void AppendMetric(std::string& out, std::string_view name, const std::string& labels,
                  const Histogram& histogram) {
  uint64_t count = 0;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    count += histogram.bucket(i);
    std::string bound = "+Inf";
    if (i < histogram.bounds().size()) {
      bound.clear();
      AppendNumber(bound, histogram.bounds()[i]);
    }
    std::string with_bound = labels;
    AppendLabel(with_bound, "le", bound);
    AppendSample(out, name, "_bucket", with_bound, static_cast<double>(count));
  }
  AppendSample(out, name, "_sum", labels, histogram.sum());
  AppendSample(out, name, "_count", labels, static_cast<double>(count));
}

template <typename Metric>
constexpr Type TypeOf() {
  if constexpr (std::is_same_v<Metric, Counter>) return Type::kCounter;
  if constexpr (std::is_same_v<Metric, Gauge>) return Type::kGauge;
  if constexpr (std::is_same_v<Metric, Histogram>) return Type::kHistogram;
}

template <typename Metric>
void AppendFamily(std::string& out, const Family<Metric>& family) {
  if (family.series().empty()) return;
  const FamilyOptions& options = family.options();
  AppendHead(out, options.name, options.help, TypeOf<Metric>());
  for (const auto& [key, metric] : family.series()) {
    std::string labels;
    for (const auto& column : family.columns()) {
      AppendLabel(labels, column.name,
                  column.index < 0 ? column.constant : key[static_cast<size_t>(column.index)]);
    }
    AppendMetric(out, options.name, labels, metric);
  }
}

void AppendFamily(std::string& out, CollectedFamily family) {
  if (family.samples.empty()) return;
  AppendHead(out, family.name, family.help, family.type);
  // Values decide the order once the names are sorted, as in a registered family.
  for (auto& sample : family.samples) std::sort(sample.labels.begin(), sample.labels.end());
  std::sort(family.samples.begin(), family.samples.end(),
            [](const auto& a, const auto& b) { return a.labels < b.labels; });
  for (const auto& sample : family.samples) {
    std::string labels;
    for (const auto& [name, value] : sample.labels) AppendLabel(labels, name, value);
    AppendSample(out, family.name, "", labels, sample.value);
  }
}

}  // namespace

std::string ExposeText(const Registry& registry, std::span<const std::string> only) {
  const auto wanted = [only](const std::string& name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  // Collected families by name; the first of a name wins, and a registered one before all.
  std::map<std::string, CollectedFamily> collected;
  for (CollectedFamily& family : registry.Collect()) {
    const auto registered = registry.families().find(family.name);
    const bool taken =
        registered != registry.families().end() &&
        std::visit([](const auto& f) { return !f.series().empty(); }, *registered->second);
    std::string name = family.name;
    if (!taken && wanted(name)) collected.try_emplace(std::move(name), std::move(family));
  }
  std::string out;
  auto next = collected.begin();
  const auto append_collected_before = [&](const std::string* name) {
    while (next != collected.end() && (name == nullptr || next->first < *name)) {
      AppendFamily(out, std::move(next->second));
      ++next;
    }
  };
  for (const auto& [name, family] : registry.families()) {
    append_collected_before(&name);
    if (wanted(name)) std::visit([&](const auto& f) { AppendFamily(out, f); }, *family);
  }
  append_collected_before(nullptr);
  return out;
}

}  // namespace csinative::metrics
