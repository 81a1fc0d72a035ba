// SPDX-License-Identifier: Apache-2.0
//
// Which CSI volume an attachment is about (attacher 7.2 step 1, 7.3 step 1). Pure functions, apart
// from the caches they look at.
#pragma once

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/attacher/caches.h"
#include "lib/base/result.h"

namespace csinative::attacher {

struct CsiVolume {
  core::PersistentVolumeSpec spec;  // with a CSI source
  bool migrated = false;            // it was of an in-tree plugin
};

// An attachment names an object or holds a volume, exactly one of both.
Status CheckSource(const storage::VolumeAttachmentSource& source);

// The CSI volume of a persistent volume; in-tree volumes are translated.
Result<CsiVolume> CsiVolumeOf(core::PersistentVolume volume);
// The volume inside an attachment that names no object.
Result<CsiVolume> InlineVolumeOf(const storage::VolumeAttachmentSource& source);

// Any of the two, whatever state the object is in.
Result<CsiVolume> VolumeOf(const Caches& caches, const storage::VolumeAttachmentSource& source);

}  // namespace csinative::attacher
