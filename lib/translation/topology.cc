// SPDX-License-Identifier: Apache-2.0
#include "lib/translation/topology.h"

#include <utility>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"

namespace csinative::translation {
namespace {

constexpr TopologyLabels kCurrent{apis::kLabelZone, "topology.kubernetes.io/region"};
constexpr TopologyLabels kBeta{apis::kLabelBetaZone, "failure-domain.beta.kubernetes.io/region"};

// The terms, or none.
google::protobuf::RepeatedPtrField<core::NodeSelectorTerm>* Terms(core::PersistentVolume* volume) {
  return volume->mutable_spec()
      ->mutable_nodeaffinity()
      ->mutable_required()
      ->mutable_nodeselectorterms();
}

bool HasTerms(const core::PersistentVolume& volume) {
  return !volume.spec().nodeaffinity().required().nodeselectorterms().empty();
}

bool IsRequired(const core::PersistentVolume& volume, std::string_view key) {
  for (const auto& term : volume.spec().nodeaffinity().required().nodeselectorterms()) {
    for (const auto& requirement : term.matchexpressions()) {
      if (requirement.key() == key) return true;
    }
  }
  return false;
}

// Gives each term without a region the one of its zones.
Status AddRegions(const TopologyLabels& labels, RegionOfZones region_of,
                  core::PersistentVolume* volume) {
  for (core::NodeSelectorTerm& term : *Terms(volume)) {
    std::set<std::string> zones;
    bool has_region = false;
    for (const auto& requirement : term.matchexpressions()) {
      has_region |= requirement.key() == labels.region;
      if (requirement.key() == labels.zone) {
        zones.insert(requirement.values().begin(), requirement.values().end());
      }
    }
    if (has_region) continue;
    if (zones.empty()) return InvalidArgumentError("a term of the node affinity has no zone");
    CSI_ASSIGN_OR_RETURN(std::string region, region_of(zones));
    auto* requirement = term.add_matchexpressions();
    requirement->set_key(std::string(labels.region));
    requirement->set_operator_("In");
    requirement->add_values(std::move(region));
  }
  return Status();
}

}  // namespace

Status TranslateClass(const ClassRules& rules, storage::StorageClass* klass) {
  apis::Entries<apis::StringEntry> kept;
  std::vector<std::string> zones;
  const bool take_zones = rules.zones == ClassRules::Zones::kBecomeTopology;
  for (const apis::StringEntry& parameter : klass->parameters()) {
    const std::string key = ToLower(parameter.key());
    if (take_zones && key == "zone") {
      zones = {parameter.value()};
    } else if (take_zones && key == "zones") {
      const auto parts = Split(parameter.value(), ',');
      zones.assign(parts.begin(), parts.end());
    } else if (key == "fstype" && rules.fs_type == ClassRules::FsType::kIsPrefixed) {
      apis::SetEntry(&kept, kPrefixedFsType, parameter.value());
    } else {
      apis::SetEntry(&kept, parameter.key(), parameter.value());
    }
  }
  if (!zones.empty() && !klass->allowedtopologies().empty()) {
    return InvalidArgumentError(
        "cannot simultaneously set allowed topologies and zone/zones parameters");
  }
  klass->mutable_parameters()->Swap(&kept);
  if (zones.empty()) {
    RenameZones(rules.zone_key, klass);
    return Status();
  }
  auto* allowed = klass->add_allowedtopologies()->add_matchlabelexpressions();
  allowed->set_key(std::string(rules.zone_key));
  for (std::string& zone : zones) allowed->add_values(std::move(zone));
  return Status();
}

Result<std::string> OneRegion(const std::set<std::string>& zones,
                              Result<std::string> (*region_of)(const std::string& zone)) {
  std::string region;
  for (const std::string& zone : zones) {
    CSI_ASSIGN_OR_RETURN(std::string own, region_of(zone));
    if (!region.empty() && own != region) {
      return InvalidArgumentError(
          StrCat("the zones of one volume are in the regions ", region, " and ", own));
    }
    region = std::move(own);
  }
  return region;
}

void RenameZones(std::string_view zone_key, storage::StorageClass* klass) {
  for (auto& term : *klass->mutable_allowedtopologies()) {
    for (auto& expression : *term.mutable_matchlabelexpressions()) {
      if (expression.key() == kCurrent.zone || expression.key() == kBeta.zone) {
        expression.set_key(std::string(zone_key));
      }
    }
  }
}

TopologyLabels LabelsOf(const core::PersistentVolume& volume) {
  if (IsRequired(volume, kCurrent.zone)) return kCurrent;
  if (IsRequired(volume, kBeta.zone)) return kBeta;
  const auto& labels = volume.metadata().labels();
  if (apis::HasEntry(labels, kCurrent.zone)) return kCurrent;
  return apis::HasEntry(labels, kBeta.zone) ? kBeta : kCurrent;
}

void RenameRequirement(std::string_view from, std::string_view to, core::PersistentVolume* volume) {
  if (!HasTerms(*volume)) return;
  for (core::NodeSelectorTerm& term : *Terms(volume)) {
    for (auto& requirement : *term.mutable_matchexpressions()) {
      if (requirement.key() == from) requirement.set_key(std::string(to));
    }
  }
}

std::set<std::string> RequiredValues(const core::PersistentVolume& volume, std::string_view key) {
  std::set<std::string> values;
  for (const auto& term : volume.spec().nodeaffinity().required().nodeselectorterms()) {
    for (const auto& requirement : term.matchexpressions()) {
      if (requirement.key() != key) continue;
      values.insert(requirement.values().begin(), requirement.values().end());
    }
  }
  return values;
}

void AddLabel(std::string_view key, const std::string& value, core::PersistentVolume* volume) {
  auto* labels = volume->mutable_metadata()->mutable_labels();
  if (!apis::HasEntry(*labels, key)) apis::SetEntry(labels, key, value);
}

Status TopologyToInTree(std::string_view zone_key, RegionOfZones region_of,
                        core::PersistentVolume* volume) {
  const TopologyLabels labels = LabelsOf(*volume);
  RenameRequirement(zone_key, labels.zone, volume);
  if (region_of != nullptr && HasTerms(*volume)) {
    CSI_RETURN_IF_ERROR(AddRegions(labels, region_of, volume));
    const std::set<std::string> regions = RequiredValues(*volume, labels.region);
    if (regions.size() == 1) AddLabel(labels.region, *regions.begin(), volume);
  }
  const std::set<std::string> zones = RequiredValues(*volume, labels.zone);
  if (!zones.empty()) AddLabel(labels.zone, Join(zones, kZoneSeparator), volume);
  return Status();
}

}  // namespace csinative::translation
