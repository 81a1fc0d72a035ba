// SPDX-License-Identifier: Apache-2.0
#include "test/support/metrics_lint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/strings.h"

namespace csinative::test {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  std::string name;
  Labels labels;
  double value = 0;
};

bool IsNameByte(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

// From the beginning of the text.
std::string_view TakeName(std::string_view& text, bool colons) {
  size_t length = 0;
  while (length < text.size() &&
         (IsNameByte(text[length], length == 0) || (colons && text[length] == ':'))) {
    ++length;
  }
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  return name;
}

std::optional<double> Number(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `"..."` with its escapes.
std::optional<std::string> TakeQuoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\') {
      if (++i == text.size() || (text[i] != '\\' && text[i] != '"' && text[i] != 'n')) {
        return std::nullopt;
      }
      value += text[i] == 'n' ? '\n' : text[i];
    } else {
      value += text[i];
    }
  }
  return std::nullopt;
}

std::optional<Sample> ParseSample(std::string_view line) {
  Sample sample;
  sample.name = TakeName(line, /*colons=*/true);
  if (sample.name.empty()) return std::nullopt;
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    while (!line.starts_with('}')) {
      std::string name(TakeName(line, /*colons=*/false));
      if (name.empty() || !line.starts_with('=')) return std::nullopt;
      line.remove_prefix(1);
      std::optional<std::string> value = TakeQuoted(line);
      if (!value.has_value()) return std::nullopt;
      sample.labels.emplace_back(std::move(name), *std::move(value));
      if (line.starts_with(',')) {
        line.remove_prefix(1);
      } else if (!line.starts_with('}')) {
        return std::nullopt;
      }
    }
    line.remove_prefix(1);
  }
  if (!line.starts_with(' ')) return std::nullopt;
  const std::optional<double> value = Number(line.substr(1));
  if (!value.has_value()) return std::nullopt;
  sample.value = *value;
  return sample;
}

std::string Text(const Labels& labels) {
  std::string text = "{";
  for (const auto& [name, value] : labels) text += StrCat(name, "=", value, ",");
  return text + "}";
}

// Of a histogram, without the bound.
struct Series {
  std::vector<std::pair<double, double>> buckets;  // bound, count
  std::optional<double> count;
  bool has_sum = false;
};

struct Family {
  std::string name;
  std::string type;  // empty: not told yet
  bool has_help = false;
  bool has_samples = false;
  std::map<std::string, Series> histogram;
};

class Linter {
 public:
  explicit Linter(const std::vector<std::string>& allowed)
      : allowed_(allowed.begin(), allowed.end()) {}

  std::vector<std::string> Run(std::string_view text) {
    if (!text.ends_with('\n')) Wrong("the last line has no end");
    std::vector<std::string_view> lines = Split(text, '\n');
    lines.pop_back();
    for (const std::string_view line : lines) Line(line);
    EndFamily();
    for (const std::string& name : allowed_) {
      if (!needed_.contains(name)) Wrong(StrCat(name, ": needs no allowance"));
    }
    return std::move(wrong_);
  }

 private:
  void Wrong(std::string what) { wrong_.push_back(std::move(what)); }
  // Against a convention, which upstream may have done.
  void Unusual(std::string what) {
    if (allowed_.contains(family_.name)) {
      needed_.insert(family_.name);
    } else {
      Wrong(std::move(what));
    }
  }

  void Line(std::string_view line) {
    if (line.starts_with("# HELP ")) {
      Help(line.substr(7));
    } else if (line.starts_with("# TYPE ")) {
      Type(line.substr(7));
    } else if (std::optional<Sample> sample = ParseSample(line); sample.has_value()) {
      OneSample(*sample);
    } else {
      Wrong(StrCat("no line of the format: ", line));
    }
  }

  void Help(std::string_view rest) {
    const size_t space = rest.find(' ');
    BeginFamily(std::string(rest.substr(0, space)));
    family_.has_help = true;
    if (space == std::string_view::npos || space + 1 == rest.size()) {
      Wrong(StrCat(family_.name, ": HELP is empty"));
    }
  }

  void Type(std::string_view rest) {
    const size_t space = rest.find(' ');
    const std::string name(rest.substr(0, space));
    if (name != family_.name) {
      Wrong(StrCat(name, ": no HELP before TYPE"));
      BeginFamily(name);
    }
    if (!family_.type.empty()) Wrong(StrCat(name, ": TYPE twice"));
    if (family_.has_samples) Wrong(StrCat(name, ": TYPE after samples"));
    family_.type = space == std::string_view::npos ? "" : std::string(rest.substr(space + 1));
    static const std::set<std::string> kTypes = {"counter", "gauge", "histogram", "summary",
                                                 "untyped"};
    if (!kTypes.contains(family_.type)) Wrong(StrCat(name, ": no type: ", family_.type));
    Conventions();
  }

  void BeginFamily(std::string name) {
    EndFamily();
    if (!families_.insert(name).second) Wrong(StrCat(name, ": in two places"));
    if (!family_.name.empty() && name < family_.name) Wrong(StrCat(name, ": not sorted"));
    family_ = Family();
    family_.name = std::move(name);
  }

  void EndFamily() {
    if (family_.name.empty()) return;
    if (!family_.has_help) Wrong(StrCat(family_.name, ": no HELP"));
    if (family_.type.empty()) Wrong(StrCat(family_.name, ": no TYPE"));
    if (!family_.has_samples) Wrong(StrCat(family_.name, ": no samples"));
    std::optional<std::vector<double>> bounds;
    for (const auto& [labels, series] : family_.histogram) {
      const std::string where = StrCat(family_.name, labels);
      std::vector<double> own;
      for (size_t i = 0; i < series.buckets.size(); ++i) {
        own.push_back(series.buckets[i].first);
        if (i == 0) continue;
        if (series.buckets[i].first <= series.buckets[i - 1].first) {
          Wrong(StrCat(where, ": bounds do not ascend"));
        }
        if (series.buckets[i].second < series.buckets[i - 1].second) {
          Wrong(StrCat(where, ": counts of buckets fall"));
        }
      }
      if (own.empty() || !std::isinf(own.back())) {
        Wrong(StrCat(where, ": no bucket +Inf"));
      } else if (series.count != series.buckets.back().second) {
        Wrong(StrCat(where, ": bucket +Inf is not _count"));
      }
      if (!series.has_sum) Wrong(StrCat(where, ": no _sum"));
      if (bounds.has_value() && *bounds != own) Wrong(StrCat(where, ": other bounds"));
      bounds = own;
    }
  }

  void OneSample(const Sample& sample) {
    std::string part;
    if (sample.name != family_.name && family_.type == "histogram") {
      for (const char* suffix : {"_bucket", "_count", "_sum"}) {
        if (sample.name == StrCat(family_.name, suffix)) part = suffix;
      }
    }
    if (part.empty() && (sample.name != family_.name || family_.type == "histogram")) {
      Wrong(StrCat(sample.name, ": a sample outside of its family"));
      return;
    }
    family_.has_samples = true;
    CheckLabels(sample, part == "_bucket");
    if (!series_.insert(StrCat(sample.name, Text(sample.labels))).second) {
      Wrong(StrCat(sample.name, Text(sample.labels), ": twice"));
    }
    const bool counts = family_.type == "counter" || part == "_bucket" || part == "_count";
    if (counts && !(sample.value >= 0 && std::isfinite(sample.value))) {
      Wrong(StrCat(sample.name, Text(sample.labels), ": no count"));
    }
    if (family_.type == "histogram") Collect(sample, part);
  }

  void CheckLabels(const Sample& sample, bool bucket) {
    std::string before;
    for (size_t i = 0; i < sample.labels.size(); ++i) {
      const std::string& name = sample.labels[i].first;
      const bool bound = name == "le";
      if (name.starts_with("__")) Wrong(StrCat(sample.name, ": label ", name, " is reserved"));
      if (name == "quantile") Wrong(StrCat(sample.name, ": label quantile"));
      if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
        Unusual(StrCat(sample.name, ": capital letters in label ", name));
      }
      if (bound && (!bucket || i + 1 != sample.labels.size())) {
        Wrong(StrCat(sample.name, ": label le is not the last one of a bucket"));
      }
      if (!bound && i > 0 && name <= before) {
        Wrong(StrCat(sample.name, ": label ", name, " is not in order"));
      }
      before = name;
    }
  }

  void Collect(const Sample& sample, const std::string& part) {
    Labels labels = sample.labels;
    std::optional<double> bound;
    if (part == "_bucket") {
      if (!labels.empty() && labels.back().first == "le") bound = Number(labels.back().second);
      if (!bound.has_value()) {
        Wrong(StrCat(sample.name, Text(sample.labels), ": no bound"));
        return;
      }
      labels.pop_back();
    }
    Series& series = family_.histogram[Text(labels)];
    if (part == "_bucket") {
      series.buckets.emplace_back(*bound, sample.value);
    } else if (part == "_count") {
      series.count = sample.value;
    } else {
      series.has_sum = true;
    }
  }

  void Conventions() {
    const std::string& name = family_.name;
    std::string_view rest = name;
    if (TakeName(rest, /*colons=*/true) != name) Wrong(StrCat(name, ": no name of a metric"));
    if (name.find(':') != std::string::npos) {
      Unusual(StrCat(name, ": colons are for recording rules"));
    }
    if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      Unusual(StrCat(name, ": capital letters"));
    }
    const bool total = name.ends_with("_total");
    if (family_.type == "counter" && !total) Unusual(StrCat(name, ": a counter without _total"));
    if (family_.type != "counter" && total) Unusual(StrCat(name, ": _total, but no counter"));
    for (const char* suffix : {"_bucket", "_count", "_sum", "_info"}) {
      // A gauge that is always 1 is called _info by convention.
      if (name.ends_with(suffix) && !(family_.type == "gauge" && name.ends_with("_info"))) {
        Unusual(StrCat(name, ": reserved suffix ", suffix));
      }
    }
    static const std::set<std::string_view> kTypes = {"counter", "gauge", "histogram", "summary"};
    static const std::set<std::string_view> kUnits = {
        "nanoseconds", "microseconds", "milliseconds", "minutes",   "hours",
        "days",        "kilobytes",    "megabytes",    "gigabytes", "kibibytes",
        "mebibytes",   "gibibytes",    "percent",      "bits"};
    for (const std::string_view word : Split(name, '_')) {
      if (kTypes.contains(word)) Unusual(StrCat(name, ": the type ", word, " in the name"));
      if (kUnits.contains(word)) Unusual(StrCat(name, ": ", word, " is no base unit"));
    }
  }

  const std::set<std::string> allowed_;
  std::set<std::string> needed_;
  std::set<std::string> families_;
  std::set<std::string> series_;
  Family family_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> LintMetrics(std::string_view text,
                                     const std::vector<std::string>& allowed) {
  return Linter(allowed).Run(text);
}

}  // namespace csinative::test
