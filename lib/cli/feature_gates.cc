// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/feature_gates.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "lib/base/go_quote.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/cli/go_number.h"

namespace csinative::cli {
namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

std::string_view BoolText(bool value) { return value ? "true" : "false"; }

std::string GatesJson(const GateMap& gates) {
  std::vector<std::string> parts;
  for (const auto& [name, enabled] : gates) {
    parts.push_back(StrCat(JsonString(name), ":", BoolText(enabled)));
  }
  return StrCat("{", Join(parts, ","), "}");
}

// "" when the gate may take the value.
std::string Refusal(const Gate& gate, bool value) {
  const std::string prefix =
      StrCat("cannot set feature gate ", gate.name, " to ", BoolText(value), ", feature is ");
  if (gate.locked && value != gate.enabled) {
    return StrCat(prefix, "locked to ", BoolText(gate.enabled));
  }
  if (gate.stage == Stage::kPreAlpha) {
    // The version of the linked API machinery upstream (common 4.1).
    return StrCat(prefix, "PreAlpha at emulated version 1.36");
  }
  return {};
}

log::ErrorText JoinErrors(std::vector<std::string> errors) {
  if (errors.size() == 1) return {errors[0], {}};
  std::string text = StrCat("[", Join(errors, ", "), "]");
  return {std::move(text), std::move(errors)};
}

}  // namespace

Status MergeGates(std::string_view text, GateMap& gates) {
  for (const std::string_view element : Split(text, ',')) {
    if (element.empty()) continue;
    const size_t equals = element.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgumentError("malformed pair, expect string=bool");
    }
    const std::string_view name = TrimSpace(element.substr(0, equals));
    const std::string_view value = TrimSpace(element.substr(equals + 1));
    const std::optional<bool> enabled = ParseGoBool(value);
    if (!enabled) {
      return InvalidArgumentError(StrCat("invalid value of ", name, ": ", value, ", err: ",
                                         StrconvError("ParseBool", value, NumberError::kSyntax)));
    }
    gates.insert_or_assign(std::string(name), *enabled);
  }
  return {};
}

std::string FormatGates(const GateMap& gates) {
  std::vector<std::string> parts;
  for (const auto& [name, enabled] : gates) parts.push_back(StrCat(name, "=", BoolText(enabled)));
  return Join(parts, ",");
}

FeatureGates::FeatureGates(std::span<const Gate> gates) {
  known_[kAllAlpha] = {kAllAlpha, false, Stage::kAlpha};
  known_[kAllBeta] = {kAllBeta, false, Stage::kBeta};
  for (const Gate& gate : gates) known_[gate.name] = gate;
}

void FeatureGates::RegisterFlag(FlagSet& flags, GateMap* map) const {
  const auto set = [map](std::string_view text) { return MergeGates(text, *map); };
  flags.Custom("feature-gates", {set, FormatGates(*map)},
               StrCat("Features to switch on or off as name=bool,…; may be repeated:\n",
                      Join(KnownFeatures(), "\n")));
}

std::optional<log::ErrorText> FeatureGates::Apply(const GateMap& map, const log::Logger& log) {
  std::vector<std::string> errors;
  for (const auto& [name, value] : map) {
    const auto gate = known_.find(name);
    std::string error = gate == known_.end() ? StrCat("unrecognized feature gate: ", name)
                                             : Refusal(gate->second, value);
    if (error.empty()) continue;
    errors.push_back(std::move(error));
    // Upstream stops here, so that this error is always the last one.
    if (gate == known_.end()) break;
  }
  if (!errors.empty()) return JoinErrors(std::move(errors));

  for (const auto& [name, value] : map) {
    explicit_.insert_or_assign(name, value);
    const Stage stage = known_.find(name)->second.stage;
    if (stage == Stage::kGa) {
      log.Info("Warning: setting GA feature gate. It will be removed in a future release.",
               "featureGate", name, "value", value);
    } else if (stage == Stage::kDeprecated) {
      log.Info("Warning: setting deprecated feature gate. It will be removed in a future release.",
               "featureGate", name, "value", value);
    }
  }
  set_ = explicit_;
  for (const auto& [name, gate] : known_) {
    const std::string_view all = gate.stage == Stage::kAlpha  ? kAllAlpha
                                 : gate.stage == Stage::kBeta ? kAllBeta
                                                              : std::string_view();
    const auto group = explicit_.find(all);
    if (group == explicit_.end() || gate.locked || name == kAllAlpha || name == kAllBeta) continue;
    set_.emplace(name, group->second);
  }
  log.V(1).Info("Updated", "featureGates", [this] { return log::RawJson{GatesJson(set_)}; });
  return std::nullopt;
}

bool FeatureGates::Enabled(std::string_view name) const {
  const auto set = set_.find(name);
  if (set != set_.end()) return set->second;
  const auto gate = known_.find(name);
  assert(gate != known_.end());
  return gate != known_.end() && gate->second.enabled;
}

bool FeatureGates::ExplicitlySet(std::string_view name) const {
  return explicit_.find(name) != explicit_.end();
}

void FeatureGates::SetDefault(std::string_view name, bool enabled) {
  const auto gate = known_.find(name);
  assert(gate != known_.end());
  gate->second.enabled = enabled;
}

std::vector<std::string> FeatureGates::KnownFeatures() const {
  std::vector<std::string> lines;
  for (const auto& [name, gate] : known_) {
    if (gate.stage != Stage::kAlpha && gate.stage != Stage::kBeta) continue;
    lines.push_back(StrCat(name, "=true|false (", gate.stage == Stage::kAlpha ? "ALPHA" : "BETA",
                           " - default=", BoolText(gate.enabled), ")"));
  }
  return lines;
}

}  // namespace csinative::cli
