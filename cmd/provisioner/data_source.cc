// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/data_source.h"

#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

// The key of what spec.dataSource, else spec.dataSourceRef, refers to, if it is what is asked for.
template <typename Matches>
std::optional<std::string> Referenced(const core::PersistentVolumeClaim& claim, Matches matches) {
  const std::string& own_namespace = claim.metadata().namespace_();
  const auto& source = claim.spec().datasource();
  if (matches(source)) return StrCat(own_namespace, "/", source.name());
  const auto& reference = claim.spec().datasourceref();
  if (!matches(reference)) return std::nullopt;
  return StrCat(reference.namespace_().empty() ? own_namespace : reference.namespace_(), "/",
                reference.name());
}

}  // namespace

Result<std::optional<DataSource>> NormalizeDataSource(const core::PersistentVolumeClaim& claim,
                                                      CrossNamespace cross_namespace) {
  const std::string& own_namespace = claim.metadata().namespace_();
  if (claim.spec().has_datasource()) {
    const auto& source = claim.spec().datasource();
    return std::optional<DataSource>(
        {source.kind(), source.name(), source.apigroup(), own_namespace});
  }
  if (!claim.spec().has_datasourceref()) return std::optional<DataSource>();
  const auto& source = claim.spec().datasourceref();
  if (cross_namespace == CrossNamespace::kForbidden && !source.namespace_().empty()) {
    return InvalidArgumentError(
        "dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is "
        "disabled");
  }
  // Upstream crashes on an empty namespace that is present while the gate is off: here it is the
  // claim's own (provisioner 23.1).
  const bool elsewhere = source.has_namespace_() && cross_namespace == CrossNamespace::kAllowed;
  return std::optional<DataSource>({source.kind(), source.name(), source.apigroup(),
                                    elsewhere ? source.namespace_() : own_namespace});
}

Result<SourceType> ClassifyDataSource(const std::optional<DataSource>& source) {
  if (!source) return SourceType::kNone;
  if (source->name.empty()) {
    return InvalidArgumentError(StrCat("data source of kind \"", source->kind, "\" has no name"));
  }
  if (source->kind == kSnapshotKind) {
    if (source->group != kSnapshotGroup) {
      return InvalidArgumentError(StrCat("data source VolumeSnapshot \"", source->name,
                                         "\" belongs to API group \"", source->group,
                                         "\" instead of ", kSnapshotGroup));
    }
    return SourceType::kSnapshot;
  }
  // Differs: upstream takes a kind of that name of any group for a claim.
  if (source->kind == kClaimKind && source->group.empty()) return SourceType::kClone;
  return SourceType::kPopulator;
}

std::optional<std::string> ReferencedSnapshot(const core::PersistentVolumeClaim& claim) {
  return Referenced(claim, [](const auto& source) {
    return source.kind() == kSnapshotKind &&
           (!source.has_apigroup() || source.apigroup() == kSnapshotGroup);
  });
}

std::optional<std::string> ReferencedClaim(const core::PersistentVolumeClaim& claim) {
  return Referenced(claim, [](const auto& source) { return source.kind() == kClaimKind; });
}

}  // namespace csinative::provisioner
