// SPDX-License-Identifier: Apache-2.0
//
// Whether a claim can be filled from another one (provisioner 9.3). Pure functions; any thread.
#pragma once

#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/base/result.h"

namespace csinative::provisioner {

// Checks 2 to 7: what the two claims say.
Status CheckSourceClaim(const core::PersistentVolumeClaim& claim,
                        const core::PersistentVolumeClaim& source);

// Checks 9 to 14: the volume of the source. `provisioner` is that of the new claim's class. The
// failure names the exact reason, for the log; users see SourceNotUsable().
Status CheckSourceVolume(const core::PersistentVolumeClaim& claim,
                         const core::PersistentVolumeClaim& source,
                         const core::PersistentVolume& volume, const std::string& provisioner);

Status SourceNotUsable();

bool HasCloneFinalizer(const core::PersistentVolumeClaim& claim);

}  // namespace csinative::provisioner
