// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/clone_source.h"

#include "apis/core/v1/well_known.h"
#include "apis/meta/v1/finalizers.h"
#include "cmd/provisioner/create_request.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {

Status CheckSourceClaim(const core::PersistentVolumeClaim& claim,
                        const core::PersistentVolumeClaim& source) {
  if (source.status().phase() != apis::kVolumeBound) {
    return FailedPreconditionError(StrCat("the PVC DataSource ", source.metadata().name(),
                                          " must have a status of Bound.  Got ",
                                          source.status().phase()));
  }
  if (source.metadata().has_deletiontimestamp()) {
    return FailedPreconditionError(
        StrCat("the PVC DataSource ", source.metadata().name(), " is currently being deleted"));
  }
  if (!source.spec().has_storageclassname()) {
    return FailedPreconditionError(
        StrCat("the source PVC (", source.metadata().name(), ") storageclass cannot be empty"));
  }
  if (!claim.spec().has_storageclassname()) {
    return FailedPreconditionError(
        StrCat("the requested PVC (", claim.metadata().name(), ") storageclass cannot be empty"));
  }
  CSI_ASSIGN_OR_RETURN(const int64_t requested, RequestedBytes(claim));
  CSI_ASSIGN_OR_RETURN(const int64_t source_size, RequestedBytes(source));
  if (requested < source_size) {
    return FailedPreconditionError(
        StrCat("error, new PVC request must be greater than or equal in size to the "
               "specified PVC data source, requested ",
               requested, " but source is ", source_size));
  }
  if (source.spec().volumename().empty()) {
    return FailedPreconditionError(
        StrCat("volume name is empty in source PVC ", source.metadata().name()));
  }
  return Status();
}

Status CheckSourceVolume(const core::PersistentVolumeClaim& claim,
                         const core::PersistentVolumeClaim& source,
                         const core::PersistentVolume& volume, const std::string& provisioner) {
  const core::PersistentVolumeSpec& spec = volume.spec();
  const auto fail = [&](std::string_view why) {
    return FailedPreconditionError(StrCat("volume ", volume.metadata().name(), " ", why));
  };
  if (!spec.persistentvolumesource().has_csi()) return fail("is not a CSI volume");
  if (spec.persistentvolumesource().csi().driver() != provisioner) {
    return fail(StrCat("belongs to driver ", spec.persistentvolumesource().csi().driver(),
                       " instead of ", provisioner));
  }
  if (!spec.has_claimref()) return fail("is bound to no claim");
  if (spec.claimref().uid() != source.metadata().uid() ||
      spec.claimref().namespace_() != source.metadata().namespace_() ||
      spec.claimref().name() != source.metadata().name()) {
    return fail("is bound to another claim");
  }
  if (volume.status().phase() != apis::kVolumeBound) {
    return fail(StrCat("is in phase ", volume.status().phase()));
  }
  const bool source_is_block = spec.volumemode() == apis::kVolumeModeBlock;
  if (source_is_block != IsBlock(claim)) return fail("has another volume mode than the claim");
  return Status();
}

Status SourceNotUsable() {
  return FailedPreconditionError("claim in dataSource not bound or invalid");
}

bool HasCloneFinalizer(const core::PersistentVolumeClaim& claim) {
  return apis::HasFinalizer(claim.metadata(), apis::kFinalizerCloning);
}

}  // namespace csinative::provisioner
