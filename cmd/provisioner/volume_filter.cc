// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/volume_filter.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/pv_finalizers.h"

namespace csinative::provisioner {

namespace {

// It could not be reclaimed, and somebody deletes it. Its phase never changes any more.
bool IsGivenUp(const core::PersistentVolume& volume) {
  return volume.metadata().has_deletiontimestamp() && HasVolumeFinalizer(volume) &&
         volume.status().phase() == apis::kVolumeFailed && volume.spec().has_claimref() &&
         volume.spec().persistentvolumereclaimpolicy() == apis::kReclaimDelete;
}

}  // namespace

bool IsOwned(const core::PersistentVolume& volume, const DriverNames& names) {
  const auto& annotations = volume.metadata().annotations();
  const std::string* migrated_to = apis::GetEntry(annotations, apis::kAnnMigratedTo);
  const bool migrated = migrated_to != nullptr && names.Knows(*migrated_to);
  if (const std::string* by = apis::GetEntry(annotations, apis::kAnnProvisionedBy)) {
    return names.Knows(*by) || migrated;
  }
  const core::PersistentVolumeSource& source = volume.spec().persistentvolumesource();
  if (source.has_csi()) return names.Knows(source.csi().driver());
  return migrated;
}

bool ShouldDelete(const core::PersistentVolume& volume) {
  // Differs: upstream's finalizer keeps such an object for ever.
  if (IsGivenUp(volume)) return true;
  const bool handled = volume.metadata().has_deletiontimestamp() && !HasVolumeFinalizer(volume);
  return !handled && volume.status().phase() == apis::kVolumeReleased &&
         volume.spec().persistentvolumereclaimpolicy() == apis::kReclaimDelete;
}

bool NeedsSync(const core::PersistentVolume& volume, const DriverNames& names) {
  return IsOwned(volume, names) &&
         (NeededFinalizerAction(volume) != FinalizerAction::kNone || ShouldDelete(volume));
}

}  // namespace csinative::provisioner
