// SPDX-License-Identifier: Apache-2.0
//
// What a claim wants its volume to be filled from (provisioner 7 step 6, 9.1). Pure functions; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "lib/base/result.h"

namespace csinative::provisioner {

inline constexpr std::string_view kSnapshotGroup = "snapshot.storage.k8s.io";
inline constexpr std::string_view kSnapshotKind = "VolumeSnapshot";
inline constexpr std::string_view kClaimKind = "PersistentVolumeClaim";

struct DataSource {
  std::string kind;
  std::string name;
  std::string group;  // empty: core
  std::string ns;     // where the source lives
};

// spec.dataSource, else spec.dataSourceRef, else nothing. Fails for a reference that names a
// namespace while such references are not allowed.
enum class CrossNamespace { kForbidden, kAllowed };
Result<std::optional<DataSource>> NormalizeDataSource(const core::PersistentVolumeClaim& claim,
                                                      CrossNamespace cross_namespace);

enum class SourceType {
  kNone,
  kSnapshot,
  kClone,
  kPopulator,  // somebody else fills the volume: not ours
};

// Fails for a source without a name, and for a snapshot of a foreign API group.
Result<SourceType> ClassifyDataSource(const std::optional<DataSource>& source);

// "namespace/name" of the snapshot, or of the claim, that this claim refers to, if it does.
std::optional<std::string> ReferencedSnapshot(const core::PersistentVolumeClaim& claim);
std::optional<std::string> ReferencedClaim(const core::PersistentVolumeClaim& claim);

}  // namespace csinative::provisioner
