// SPDX-License-Identifier: Apache-2.0
//
// From a volume of a pod to the CSI volume behind it (volumemanager 5.4). Reads claim and volume
// from the API server each time. Loop only.
#pragma once

#include <optional>
#include <string>

#include "apis/core/v1/pod.pb.h"
#include "apis/namespaces.h"
#include "cmd/volumemanager/volume_spec.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"

namespace csinative::volumemanager {

// Whether the volume can be one of ours: a claim, or a CSI volume that the pod describes.
bool MayBeCsi(const core::Volume& volume);

// Nothing for a volume of another kind: that belongs to the container agent. Failures are
// upstream's texts. `client` outlives the task.
async::Task<Result<std::optional<VolumeSpec>>> ResolveVolume(kube::Client* client,
                                                             core::Volume volume, PodFacts pod,
                                                             VolumeUse use);

}  // namespace csinative::volumemanager
