// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/pod_directories.h"

#include <algorithm>

#include "lib/mount/tree.h"

namespace csinative::volumemanager {
namespace {

// Safety net; events come first.
constexpr Duration kPeriod = std::chrono::seconds(10);

// False if something has to stay.
bool RemoveCsi(mount::FileSystem& fs, const Paths& paths, const std::string& uid) {
  const bool volumes = mount::RemoveEmptyDirectories(fs, paths.PodVolumes(uid));
  const bool devices = mount::RemoveEmptyDirectories(fs, paths.PodVolumeDevices(uid));
  return volumes && devices;
}

}  // namespace

async::Task<void> PodDirectories::Run() {
  for (;;) {
    co_await Sweep();
    Status waited = co_await deps_.state->directories.Wait(deps_.loop->Now() + kPeriod);
    if (!waited.ok()) co_return;
  }
}

bool PodDirectories::IsOver(const std::string& uid) const {
  const NodeState& state = *deps_.state;
  return state.pods_added && state.pods.Find(uid) == nullptr && state.pods.Judge(uid).removable &&
         !state.actual.HasPod(uid) && state.desired.VolumesOf(uid).empty();
}

async::Task<void> PodDirectories::Sweep() {
  if (!deps_.state->pods_added) co_return;
  auto entries = co_await async::Blocking(
      *deps_.blocking, [fs = deps_.fs, pods = paths_.Pods()] { return fs->List(pods); });
  if (!entries.ok()) co_return;
  std::set<std::string> left;
  for (const mount::DirectoryEntry& entry : *entries) {
    const std::string uid = entry.name;
    left.insert(uid);
    if (entry.type != mount::FileType::kDirectory || !IsOver(uid)) continue;
    auto removed = co_await async::Blocking(
        *deps_.blocking,
        [fs = deps_.fs, paths = paths_, uid,
         whole = deps_.config.pod_directories == PodDirectoryPolicy::kManage]() -> Result<bool> {
          if (!RemoveCsi(*fs, paths, uid)) return false;
          return !whole || mount::RemoveEmptyDirectories(*fs, paths.Pod(uid));
        });
    if (!removed.ok()) co_return;
    if (*removed) {
      left.erase(uid);
      stuck_.erase(uid);
    } else if (stuck_.insert(uid).second) {
      deps_.log.Error(nullptr, "Directory of a pod that is gone has content and stays", "path",
                      paths_.Pod(uid));
    }
  }
  for (const std::string& uid : deps_.state->pods.Tombstones()) {
    if (!left.contains(uid) && IsOver(uid)) deps_.state->pods.ForgetTombstone(uid);
  }
}

}  // namespace csinative::volumemanager
