// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/reconstruction.h"

#include <map>
#include <utility>

#include "lib/base/strings.h"
#include "lib/mount/tree.h"
#include "lib/mount/volume_data.h"

namespace csinative::volumemanager {
namespace {

class Scanner {
 public:
  Scanner(mount::FileSystem& fs, const Paths& paths) : fs_(fs), paths_(paths) {}

  DiskScan Scan() {
    DiskScan scan;
    scan.pods = Directories(paths_.Pods());
    for (const std::string& uid : scan.pods) ScanPod(uid);
    ScanStaged();
    ScanBlock();
    for (auto& [name, volume] : found_) scan.volumes.push_back(std::move(volume));
    scan.failures = std::move(failures_);
    scan.unreadable = std::move(unreadable_);
    scan.refused = refused_;
    return scan;
  }

 private:
  std::vector<std::string> Names(const std::string& directory, bool directories_only) {
    std::vector<std::string> names;
    const auto entries = fs_.List(directory);
    if (!entries.ok()) {
      if (!mount::IsMissing(entries.status())) failures_.push_back(entries.status().message());
      return names;
    }
    for (const mount::DirectoryEntry& entry : *entries) {
      if (!directories_only || entry.type == mount::FileType::kDirectory) {
        names.push_back(entry.name);
      }
    }
    return names;
  }
  std::vector<std::string> Directories(const std::string& directory) {
    return Names(directory, true);
  }

  void Note(const Result<VolumeSpec>& spec, const std::string& directory) {
    failures_.push_back(StrCat(directory, ": ", spec.status().message()));
  }

  void NoteUnreadable(const std::string& uid, const std::string& name) {
    const auto mounted = fs_.IsMountPoint(paths_.PublishTarget(uid, name));
    if (mounted.ok() ? *mounted : !mount::IsMissing(mounted.status())) {
      unreadable_.push_back({uid, name});
    }
  }

  // A filesystem that was published for a pod.
  void ScanPod(const std::string& uid) {
    for (const std::string& name : Directories(paths_.PodVolumes(uid))) {
      const std::string directory = StrCat(paths_.PodVolumes(uid), "/", name);
      const auto spec = Read(directory, VolumeMode::kFilesystem, uid);
      if (!spec.ok()) {
        Note(spec, directory);
        NoteUnreadable(uid, name);
        continue;
      }
      FoundVolume& found = found_[UniqueNameOf(*spec, uid)];
      found.pods[uid] = *spec;
      found.spec = *spec;
      if (spec->device_mountable()) {
        found.device_mount_path = paths_.StagingTarget(spec->driver, spec->handle);
      }
    }
  }

  // A filesystem that was staged, with or without pods.
  void ScanStaged() {
    for (const std::string& driver : Directories(paths_.CsiPlugin())) {
      if (StrCat(paths_.CsiPlugin(), "/", driver) == paths_.BlockVolumes()) continue;
      for (const std::string& hash : Directories(StrCat(paths_.CsiPlugin(), "/", driver))) {
        const std::string directory = StrCat(paths_.CsiPlugin(), "/", driver, "/", hash);
        const auto data = mount::LoadVolumeData(fs_, directory);
        if (!data.ok()) {
          // Without the file nothing was staged. Differs: upstream leaves the directory.
          if (mount::IsMissing(data.status())) {
            NoteRemoval(mount::RemoveVolumeDirectory(fs_, directory, kStagingLeaf));
          } else {
            failures_.push_back(data.status().message());
          }
          continue;
        }
        const auto spec = SpecFromStagedData(*data);
        if (!spec.ok() || paths_.Staged(spec->driver, spec->handle) != directory) {
          failures_.push_back(StrCat(directory, ": vol_data.json describes another volume"));
          continue;
        }
        FoundVolume& found = found_[UniqueVolumeName(spec->driver, spec->handle)];
        if (found.spec.name.empty()) found.spec = *spec;
        found.device_mount_path = paths_.StagingTarget(spec->driver, spec->handle);
      }
    }
  }

  // Block volumes: by what was written before anything was done to them.
  void ScanBlock() {
    for (const std::string& name : Directories(paths_.BlockVolumes())) {
      if (paths_.BlockVolume(name) == mount::ParentOf(paths_.BlockStaging(name)) ||
          paths_.BlockVolume(name) == mount::ParentOf(paths_.BlockPublishDirectory(name))) {
        continue;
      }
      const std::string directory = paths_.BlockData(name);
      const auto data = mount::LoadVolumeData(fs_, directory);
      if (!data.ok()) {
        if (mount::IsMissing(data.status())) {
          RemoveUnusedBlock(name);
        } else {
          failures_.push_back(data.status().message());
        }
        continue;
      }
      const auto spec = SpecFromData(*data, VolumeMode::kBlock, "");
      if (!spec.ok() || spec->name != name) {
        failures_.push_back(StrCat(directory, ": vol_data.json describes another volume"));
        continue;
      }
      FoundVolume& found = found_[UniqueNameOf(*spec, "")];
      found.spec = *spec;
      found.device_mount_path = paths_.BlockMap(name);
      for (const std::string& uid : Names(paths_.BlockPublishDirectory(name), false)) {
        found.pods[uid] = *spec;
      }
      for (const std::string& uid : Names(paths_.BlockMap(name), false)) found.pods[uid] = *spec;
      for (const std::string& uid : Directories(paths_.Pods())) {
        if (fs_.Stat(paths_.PodDeviceLink(uid, name)).ok()) found.pods[uid] = *spec;
      }
    }
  }

  // Without the file nothing was done to the volume, or all of it was undone.
  void RemoveUnusedBlock(const std::string& name) {
    // Left by a crash in the middle of a write.
    NoteRemoval(mount::RemoveIfPresent(
        fs_, StrCat(paths_.BlockData(name), "/", mount::kVolumeDataFile, mount::kTemporarySuffix)));
    if (mount::RemoveEmptyDirectories(fs_, paths_.BlockVolume(name))) return;
    NoteRemoval(InternalError(StrCat("failed to remove dir [", paths_.BlockVolume(name), "]")));
  }

  void NoteRemoval(const Status& removed) {
    if (removed.ok()) return;
    failures_.push_back(removed.message());
    refused_ = true;
  }

  Result<VolumeSpec> Read(const std::string& directory, VolumeMode mode, const std::string& uid) {
    CSI_ASSIGN_OR_RETURN(const mount::VolumeData data, mount::LoadVolumeData(fs_, directory));
    CSI_ASSIGN_OR_RETURN(VolumeSpec spec, SpecFromData(data, mode, uid));
    if (paths_.PodVolume(uid, spec.name) != directory) {
      return InvalidArgumentError("vol_data.json describes another volume");
    }
    return spec;
  }

  mount::FileSystem& fs_;
  const Paths& paths_;
  std::map<std::string, FoundVolume> found_;  // by unique name
  std::vector<std::string> failures_;
  std::vector<UnreadableVolume> unreadable_;
  bool refused_ = false;
};

}  // namespace

DiskScan ScanDisk(mount::FileSystem& fs, const Paths& paths) { return Scanner(fs, paths).Scan(); }

void AddFound(const DiskScan& scan, ActualState* state) {
  for (const FoundVolume& found : scan.volumes) {
    const std::string uid = found.pods.empty() ? "" : found.pods.begin()->first;
    const std::string name = UniqueNameOf(found.spec, uid);
    state->AddReconstructed(name, found.spec, found.device_mount_path);
    for (const auto& [pod, spec] : found.pods) state->AddReconstructedPod(name, pod, spec);
  }
}

void AddUnreadable(const VolumeSpec& spec, const std::string& uid, const Paths& paths,
                   ActualState* state) {
  const std::string name = UniqueNameOf(spec, uid);
  state->AddReconstructed(name, spec, paths.StagingTarget(spec.driver, spec.handle));
  state->AddReconstructedPod(name, uid, spec);
  state->Hold(name, uid);
}

}  // namespace csinative::volumemanager
