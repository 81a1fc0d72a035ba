// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/claim_resolver.h"

#include <algorithm>
#include <utility>

#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

using Resolved = Result<std::optional<VolumeSpec>>;

Status CheckClaim(const core::PersistentVolumeClaim& claim) {
  const auto& finalizers = claim.metadata().finalizers();
  // With the finalizer it is kept for a pod that runs.
  if (claim.metadata().has_deletiontimestamp() &&
      std::find(finalizers.begin(), finalizers.end(), apis::kFinalizerPvcProtection) ==
          finalizers.end()) {
    return FailedPreconditionError("PVC is being deleted");
  }
  if (claim.status().phase() != apis::kClaimBound) {
    return FailedPreconditionError("PVC is not bound");
  }
  if (claim.spec().volumename().empty()) {
    return FailedPreconditionError("PVC has empty pvc.Spec.VolumeName");
  }
  return Status();
}

bool IsOwner(const core::PersistentVolumeClaim& claim, const PodFacts& pod) {
  for (const auto& owner : claim.metadata().ownerreferences()) {
    if (owner.controller()) return owner.uid() == pod.uid;
  }
  return false;
}

Status CheckVolume(const core::PersistentVolume& volume, const core::PersistentVolumeClaim& claim) {
  const std::string& name = volume.metadata().name();
  if (!volume.spec().has_claimref()) {
    return FailedPreconditionError(StrCat(
        "PV ", name, " has nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"));
  }
  if (volume.spec().claimref().uid() != claim.metadata().uid()) {
    return FailedPreconditionError(StrCat(
        "PV ", name, "'s pv.Spec.ClaimRef does not point to claim.UID ", claim.metadata().uid()));
  }
  return Status();
}

Status CheckMode(const std::string& name, const core::PersistentVolume& volume, VolumeUse use) {
  const std::string& mode = volume.spec().volumemode();
  if (!volume.spec().has_volumemode()) {
    return FailedPreconditionError(
        StrCat("cannot get volumeMode for volume: ", volume.metadata().name()));
  }
  if (use.mounted && mode != apis::kVolumeModeFilesystem) {
    return FailedPreconditionError(
        StrCat("volume ", name, " has volumeMode ", mode, ", but is specified in volumeMounts"));
  }
  if (use.device && mode != apis::kVolumeModeBlock) {
    return FailedPreconditionError(
        StrCat("volume ", name, " has volumeMode ", mode, ", but is specified in volumeDevices"));
  }
  return Status();
}

}  // namespace

bool MayBeCsi(const core::Volume& volume) {
  const core::VolumeSource& source = volume.volumesource();
  return source.has_csi() || source.has_persistentvolumeclaim() || source.has_ephemeral();
}

async::Task<Result<std::optional<VolumeSpec>>> ResolveVolume(kube::Client* client,
                                                             core::Volume volume, PodFacts pod,
                                                             VolumeUse use) {
  const core::VolumeSource& source = volume.volumesource();
  if (source.has_csi()) {
    auto spec = SpecOf(volume, pod);
    if (!spec.ok()) co_return spec.status();
    co_return Resolved(*std::move(spec));
  }
  const bool ephemeral = source.has_ephemeral();
  const kube::ObjectName name{pod.ns, ephemeral ? StrCat(pod.name, "-", volume.name())
                                                : source.persistentvolumeclaim().claimname()};
  const bool read_only = !ephemeral && source.persistentvolumeclaim().readonly();
  const std::string context = StrCat("error processing PVC ", name.Key());
  auto claim = co_await client->Get<core::PersistentVolumeClaim>(name);
  if (!claim.ok()) {
    co_return claim.status()
        .WithContext("failed to fetch PVC from API server")
        .WithContext(context);
  }
  Status usable = CheckClaim(*claim);
  if (!usable.ok()) co_return usable.WithContext(context);
  if (ephemeral && !IsOwner(*claim, pod)) {
    co_return FailedPreconditionError(StrCat("PVC ", name.Key(), " was not created for pod ",
                                             pod.ns, "/", pod.name, " (pod is not owner)"));
  }
  const std::string volume_name = claim->spec().volumename();
  auto bound = co_await client->Get<core::PersistentVolume>({"", volume_name});
  if (!bound.ok()) {
    co_return bound.status()
        .WithContext(StrCat("failed to fetch PV ", volume_name, " from API server"))
        .WithContext(context);
  }
  usable = CheckVolume(*bound, *claim);
  if (!usable.ok()) co_return usable.WithContext(context);
  if (!bound->spec().persistentvolumesource().has_csi()) {
    co_return Resolved(std::optional<VolumeSpec>());
  }
  usable = CheckMode(volume.name(), *bound, use);
  if (!usable.ok()) co_return usable;
  auto spec = SpecOf(*bound, read_only);
  if (!spec.ok()) co_return spec.status();
  co_return Resolved(*std::move(spec));
}

}  // namespace csinative::volumemanager
