// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/pod_directories.h"

#include "lib/base/strings.h"
#include "lib/mount/tree.h"

namespace csinative::volumemanager {
namespace {

// Safety net; events come first.
constexpr Duration kPeriod = std::chrono::seconds(10);

// What a pod's directory consists of when only volumes of this plugin are in it.
bool IsOwnFolder(const mount::DirectoryEntry& entry) {
  return entry.type == mount::FileType::kDirectory &&
         (entry.name == "volumes" || entry.name == "volumeDevices" ||
          entry.name == "volume-subpaths" || entry.name == "plugins");
}

enum class Removal { kDone, kOthersLeft, kOursLeft };

// False if something has to stay.
bool RemoveCsi(mount::FileSystem& fs, const Paths& paths, const std::string& uid) {
  const bool volumes = mount::RemoveEmptyDirectories(fs, paths.PodVolumes(uid));
  const bool devices = mount::RemoveEmptyDirectories(fs, paths.PodVolumeDevices(uid));
  return volumes && devices;
}

// Removes all or, apart from what is of this plugin, nothing. Does not look into folders of others:
// an empty one can be a volume that a container has.
Removal RemovePod(mount::FileSystem& fs, const Paths& paths, const std::string& uid, bool whole) {
  if (!RemoveCsi(fs, paths, uid)) return Removal::kOursLeft;
  if (!whole) return Removal::kDone;
  const std::string pod = paths.Pod(uid);
  const auto entries = fs.List(pod);
  if (!entries.ok()) {
    return mount::IsMissing(entries.status()) ? Removal::kDone : Removal::kOthersLeft;
  }
  for (const mount::DirectoryEntry& entry : *entries) {
    if (!IsOwnFolder(entry)) return Removal::kOthersLeft;
    const auto inside = fs.List(StrCat(pod, "/", entry.name));
    if (!inside.ok() || !inside->empty()) return Removal::kOthersLeft;
  }
  for (const mount::DirectoryEntry& entry : *entries) {
    if (!mount::RemoveIfPresent(fs, StrCat(pod, "/", entry.name)).ok()) return Removal::kOthersLeft;
  }
  return mount::RemoveIfPresent(fs, pod).ok() ? Removal::kDone : Removal::kOthersLeft;
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
  return state.pods_added && state.pods.Find(uid) == nullptr &&
         state.pods.MayRemoveDirectory(uid) && state.pods.Judge(uid).removable &&
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
         whole = deps_.config.pod_directories == PodDirectoryPolicy::kManage]() -> Result<Removal> {
          return RemovePod(*fs, paths, uid, whole);
        });
    if (!removed.ok()) co_return;
    if (*removed == Removal::kDone) {
      left.erase(uid);
    } else {
      ReportLeft(uid, *removed == Removal::kOursLeft);
    }
  }
  std::erase_if(stuck_, [&](const std::string& uid) { return !left.contains(uid); });
  PodStates& pods = deps_.state->pods;
  for (const std::string& uid : pods.Tombstones()) {
    if (!left.contains(uid) && IsOver(uid)) pods.ForgetTombstone(uid);
  }
  for (const std::string& uid : pods.Directories()) {
    if (!left.contains(uid) && IsOver(uid)) pods.ForgetDirectory(uid);
  }
}

void PodDirectories::ReportLeft(const std::string& uid, bool ours) {
  if (!stuck_.insert(uid).second) return;
  if (ours) {
    deps_.log.Error(nullptr, "Directory of a pod that is gone has content and stays", "path",
                    paths_.Pod(uid));
  } else {
    deps_.log.V(2).Info("Directory of a pod that is gone is left to the container agent", "path",
                        paths_.Pod(uid));
  }
}

}  // namespace csinative::volumemanager
