// SPDX-License-Identifier: Apache-2.0
//
// What the CSIDriver object of a driver decides (volumemanager-csi 1, 7.5, 7.7). Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/volumemanager/volume_spec.h"
#include "lib/base/result.h"

namespace csinative::volumemanager {

enum class FsGroupPolicy { kReadWriteOnceWithFsType, kFile, kNone };

struct DriverTraits {
  bool known = false;  // the object exists
  bool attach_required = true;
  bool pod_info = false;
  bool republish = false;
  bool persistent = true;  // lifecycle modes
  bool ephemeral = false;
  bool wants_tokens = false;
  bool tokens_in_secrets = false;
  std::vector<storage::TokenRequest> tokens;
  // Nothing when the object has none, which is a failure where it matters.
  std::optional<FsGroupPolicy> fs_group_policy = FsGroupPolicy::kReadWriteOnceWithFsType;
};

// Of a driver without object: attaching is needed, nothing else.
DriverTraits TraitsOf(const std::optional<storage::CSIDriver>& driver);

inline bool IsAttachable(const VolumeSpec& spec, const DriverTraits& traits) {
  return !spec.inline_volume() && traits.attach_required;
}

// Whether the driver takes volumes of this kind; the failure is upstream's text.
Status CheckLifecycle(const VolumeSpec& spec, const DriverTraits& traits,
                      const std::optional<storage::CSIDriver>& driver);

// Whether this node has to give the files the pod's group (7.5, without the driver's own
// capability).
bool NeedsOwnership(const VolumeSpec& spec, const PodFacts& pod, FsGroupPolicy policy);

}  // namespace csinative::volumemanager
