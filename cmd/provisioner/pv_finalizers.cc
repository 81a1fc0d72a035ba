// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/pv_finalizers.h"

#include <algorithm>

#include "apis/core/v1/well_known.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

std::string JsonList(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  quoted.reserve(items.size());
  for (const std::string& item : items) quoted.push_back(JsonString(item));
  return StrCat("[", Join(quoted, ","), "]");
}

std::vector<std::string> OtherFinalizers(const core::PersistentVolume& volume) {
  std::vector<std::string> others;
  for (const std::string& finalizer : volume.metadata().finalizers()) {
    if (finalizer != apis::kFinalizerProvisioner) others.push_back(finalizer);
  }
  return others;
}

}  // namespace

bool HasVolumeFinalizer(const core::PersistentVolume& volume) {
  const auto& finalizers = volume.metadata().finalizers();
  return std::find(finalizers.begin(), finalizers.end(), apis::kFinalizerProvisioner) !=
         finalizers.end();
}

FinalizerAction NeededFinalizerAction(const core::PersistentVolume& volume) {
  const std::string& policy = volume.spec().persistentvolumereclaimpolicy();
  const bool present = HasVolumeFinalizer(volume);
  if (policy == apis::kReclaimDelete) {
    // Differs: upstream's finalizer keeps the object of a volume for ever that an administrator
    // took off its claim and then deletes. Nobody says that its storage is to go.
    if (present && volume.metadata().has_deletiontimestamp() && !volume.spec().has_claimref() &&
        volume.status().phase() == apis::kVolumeAvailable) {
      return FinalizerAction::kRemove;
    }
    const bool bound = volume.status().phase() == apis::kVolumeBound;
    const bool going = volume.metadata().has_deletiontimestamp();
    return bound && !going && !present ? FinalizerAction::kAdd : FinalizerAction::kNone;
  }
  if ((policy == apis::kReclaimRetain || policy == apis::kReclaimRecycle) && present) {
    return FinalizerAction::kRemove;
  }
  return FinalizerAction::kNone;
}

std::string AddFinalizerPatch(const core::PersistentVolume& volume) {
  std::vector<std::string> all = OtherFinalizers(volume);
  const std::string ours = JsonString(apis::kFinalizerProvisioner);
  if (all.empty()) return StrCat(R"({"metadata":{"finalizers":[)", ours, "]}}");
  all.emplace_back(apis::kFinalizerProvisioner);
  return StrCat(R"({"metadata":{"$setElementOrder/finalizers":)", JsonList(all),
                R"(,"finalizers":[)", ours, "]}}");
}

std::string RemoveFinalizerPatch(const core::PersistentVolume& volume) {
  const std::vector<std::string> others = OtherFinalizers(volume);
  const std::string ours = JsonString(apis::kFinalizerProvisioner);
  // Differs: upstream sends null, which also takes what others have added meanwhile.
  if (others.empty()) {
    return StrCat(R"({"metadata":{"$deleteFromPrimitiveList/finalizers":[)", ours, "]}}");
  }
  return StrCat(R"({"metadata":{"$deleteFromPrimitiveList/finalizers":[)", ours,
                R"(],"$setElementOrder/finalizers":)", JsonList(others), "}}");
}

}  // namespace csinative::provisioner
