// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/attached_volume.h"

#include <utility>

#include "lib/kube/errors.h"
#include "lib/translation/translate.h"

namespace csinative::attacher {

Status CheckSource(const storage::VolumeAttachmentSource& source) {
  if (source.has_persistentvolumename() && source.has_inlinevolumespec()) {
    return InvalidArgumentError(
        "both InlineCSIVolumeSource and PersistentVolumeName specified in VA source");
  }
  if (!source.has_persistentvolumename() && !source.has_inlinevolumespec()) {
    return InvalidArgumentError(
        "neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source");
  }
  return Status();
}

Result<CsiVolume> CsiVolumeOf(core::PersistentVolume volume) {
  CsiVolume out;
  if (translation::IsMigratable(volume.spec())) {
    auto translated = translation::ToCsi(std::move(volume));
    if (!translated.ok()) {
      return translated.status().WithContext("failed to translate in tree pv to CSI");
    }
    volume = *std::move(translated);
    out.migrated = true;
  }
  if (!volume.spec().persistentvolumesource().has_csi()) {
    return InvalidArgumentError("pv spec contained non-csi source that was not migrated");
  }
  out.spec = std::move(*volume.mutable_spec());
  return out;
}

Result<CsiVolume> InlineVolumeOf(const storage::VolumeAttachmentSource& source) {
  if (!source.inlinevolumespec().persistentvolumesource().has_csi()) {
    return InvalidArgumentError("inline volume spec contains nil CSI source");
  }
  return CsiVolume{.spec = source.inlinevolumespec()};
}

Result<CsiVolume> VolumeOf(const Caches& caches, const storage::VolumeAttachmentSource& source) {
  CSI_RETURN_IF_ERROR(CheckSource(source));
  if (source.has_inlinevolumespec()) return InlineVolumeOf(source);
  auto volume = caches.Volume(source.persistentvolumename());
  if (!volume) return kube::CacheNotFound("persistentvolume", source.persistentvolumename());
  return CsiVolumeOf(*std::move(volume));
}

}  // namespace csinative::attacher
