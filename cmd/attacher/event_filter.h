// SPDX-License-Identifier: Apache-2.0
//
// Which events are worth a sync (attacher 6.1, 6.2). Pure functions; any thread.
#pragma once

#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"

namespace csinative::attacher {

// False for an update that only records an error: it is our own, and must not defeat the back-off.
bool NeedsSync(const storage::VolumeAttachment& old_attachment,
               const storage::VolumeAttachment& attachment);

// Whether nothing has changed but what is written before the driver is asked, finalizer and node
// id: our own, too. Differs: upstream repeats a first publish that failed at once (attacher 7.2),
// here it keeps to the back-off.
bool IsPreparation(const storage::VolumeAttachment& old_attachment,
                   const storage::VolumeAttachment& attachment, std::string_view finalizer);

// Whether this driver may have to take its finalizer off: the volume is going away, or its
// migration was taken back.
bool NeedsSync(const core::PersistentVolume& volume, std::string_view finalizer,
               std::string_view driver);

// Whether this driver has taken the volume over from an in-tree plugin.
bool IsMigratedTo(const core::PersistentVolume& volume, std::string_view driver);

}  // namespace csinative::attacher
