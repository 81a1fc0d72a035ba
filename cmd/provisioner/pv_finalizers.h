// SPDX-License-Identifier: Apache-2.0
//
// The finalizer that keeps a volume's object until its storage is deleted, and the exact patches
// that put and remove it (provisioner 13.2). Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"

namespace csinative::provisioner {

bool HasVolumeFinalizer(const core::PersistentVolume& volume);

enum class FinalizerAction { kNone, kAdd, kRemove };
// What has to be done before the decision on deletion. The volume is ours.
FinalizerAction NeededFinalizerAction(const core::PersistentVolume& volume);

// Bodies of strategic merge patches. REQUIRES: the finalizer is absent, or present.
std::string AddFinalizerPatch(const core::PersistentVolume& volume);
std::string RemoveFinalizerPatch(const core::PersistentVolume& volume);

}  // namespace csinative::provisioner
