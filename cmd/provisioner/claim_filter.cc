// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/claim_filter.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"

namespace csinative::provisioner {

std::optional<std::string> RequestedProvisioner(const core::PersistentVolumeClaim& claim) {
  const auto& annotations = claim.metadata().annotations();
  const std::string* name = apis::GetEntry(annotations, apis::kAnnStorageProvisioner);
  if (name == nullptr) name = apis::GetEntry(annotations, apis::kAnnBetaStorageProvisioner);
  if (name == nullptr) return std::nullopt;
  return *name;
}

bool IsMigratedTo(const core::PersistentVolumeClaim& claim, std::string_view driver) {
  const std::string* to = apis::GetEntry(claim.metadata().annotations(), apis::kAnnMigratedTo);
  return to != nullptr && *to == driver;
}

std::string ClassNameOf(const core::PersistentVolumeClaim& claim) {
  const std::string* name =
      apis::GetEntry(claim.metadata().annotations(), apis::kAnnBetaStorageClass);
  return name != nullptr ? *name : claim.spec().storageclassname();
}

std::string SelectedNodeOf(const core::PersistentVolumeClaim& claim) {
  const auto& annotations = claim.metadata().annotations();
  const std::string* node = apis::GetEntry(annotations, apis::kAnnSelectedNode);
  if (node == nullptr) node = apis::GetEntry(annotations, apis::kAnnAlphaSelectedNode);
  return node != nullptr ? *node : std::string();
}

bool HasSelectedNode(const core::PersistentVolumeClaim& claim) {
  return !apis::GetEntryOr(claim.metadata().annotations(), apis::kAnnSelectedNode).empty();
}

bool IsCandidate(const core::PersistentVolumeClaim& claim, const DriverNames& names) {
  if (!claim.spec().volumename().empty()) return false;
  const std::optional<std::string> requested = RequestedProvisioner(claim);
  if (!requested || !names.Knows(*requested)) return false;
  return *requested == names.driver || IsMigratedTo(claim, names.driver);
}

bool IsReadyToBind(const core::PersistentVolumeClaim& claim, const storage::StorageClass& klass) {
  return klass.volumebindingmode() != apis::kBindingWaitForFirstConsumer || HasSelectedNode(claim);
}

}  // namespace csinative::provisioner
