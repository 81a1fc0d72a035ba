// SPDX-License-Identifier: Apache-2.0
//
// Feature gates (common 4): which exist in each program, how --feature-gates is parsed, how the
// parsed map is applied. Owned by the Process object. Start-up and loop only.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/cli/flag_set.h"
#include "lib/log/logger.h"

namespace csinative::cli {

enum class Stage { kPreAlpha, kAlpha, kBeta, kGa, kDeprecated };

struct Gate {
  std::string_view name;  // a literal
  bool enabled = false;   // by default
  Stage stage = Stage::kAlpha;
  bool locked = false;  // only the default may be given
};

// What the flag holds: sorted by name.
using GateMap = std::map<std::string, bool, std::less<>>;

// Merges "Key=bool,…" into gates. The message of a failure is the reason in the flag error.
// Names are not checked here.
Status MergeGates(std::string_view text, GateMap& gates);
// "a=true,b=false", sorted.
std::string FormatGates(const GateMap& gates);

class FeatureGates {
 public:
  // gates besides AllAlpha and AllBeta, which every set has.
  explicit FeatureGates(std::span<const Gate> gates);

  // Registers --feature-gates, which fills *map; the help text lists the alpha and beta gates.
  void RegisterFlag(FlagSet& flags, GateMap* map) const;

  // Applies the entries of a flag or none of them. On failure the error's text and, when there
  // are several, its causes. Success writes the GA and deprecation notes and the V(1) summary.
  std::optional<log::ErrorText> Apply(const GateMap& map, const log::Logger& log);

  // REQUIRES: the gate is known.
  bool Enabled(std::string_view name) const;
  // Whether Apply was given this very name; being covered by AllBeta does not count.
  bool ExplicitlySet(std::string_view name) const;
  // Overrides the default, as the API-presence probe does (common 4.4). REQUIRES: known.
  void SetDefault(std::string_view name, bool enabled);
  // "Name=true|false (ALPHA - default=false)" for each alpha and beta gate, sorted.
  std::vector<std::string> KnownFeatures() const;

 private:
  std::map<std::string_view, Gate> known_;
  GateMap explicit_;  // everything Apply was given so far
  GateMap set_;       // explicit_ with AllAlpha and AllBeta spread over what they cover
};

// The gates of each program, inert ones included (common 4.2 and 4.3, snapshotter 4.2).
FeatureGates AttacherGates();
FeatureGates ProvisionerGates();
FeatureGates ResizerGates();
FeatureGates SnapshotterGates();  // csi-snapshotter and snapshot-controller

namespace gate {
inline constexpr std::string_view kReleaseLeaderElectionOnExit = "ReleaseLeaderElectionOnExit";
inline constexpr std::string_view kMutableCsiNodeAllocatableCount =
    "MutableCSINodeAllocatableCount";
inline constexpr std::string_view kTopology = "Topology";
inline constexpr std::string_view kCrossNamespaceVolumeDataSource =
    "CrossNamespaceVolumeDataSource";
inline constexpr std::string_view kVolumeAttributesClass = "VolumeAttributesClass";
inline constexpr std::string_view kAnnotateFsResize = "AnnotateFsResize";
inline constexpr std::string_view kRecoverVolumeExpansionFailure = "RecoverVolumeExpansionFailure";
inline constexpr std::string_view kCsiVolumeGroupSnapshot = "CSIVolumeGroupSnapshot";
}  // namespace gate

}  // namespace csinative::cli
