// SPDX-License-Identifier: Apache-2.0
//
// Block volumes (volumemanager-csi 10, volumemanager 7.3, 7.5, 7.7, 10).
#include <utility>

#include "cmd/volumemanager/volume_backend.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"
#include "lib/mount/tree.h"

namespace csinative::volumemanager {

using ::csi::v1::NodePublishVolumeRequest;
using ::csi::v1::NodeStageVolumeRequest;
using ::csi::v1::NodeUnpublishVolumeRequest;
using ::csi::v1::NodeUnstageVolumeRequest;

namespace {

// The device as a file of the pod below the map directory, and the pod's link to it.
Status MapDevice(mount::FileSystem& fs, const std::string& device, const std::string& map_file,
                 const std::string& link) {
  CSI_RETURN_IF_ERROR(fs.MakeDirectories(mount::ParentOf(map_file), kDirectoryMode));
  CSI_RETURN_IF_ERROR(fs.CreateFile(map_file, kDirectoryMode));
  CSI_ASSIGN_OR_RETURN(const bool mapped, fs.IsMountPoint(map_file));
  if (!mapped) CSI_RETURN_IF_ERROR(fs.BindMount(device, map_file));
  CSI_RETURN_IF_ERROR(fs.MakeDirectories(mount::ParentOf(link), kDirectoryMode));
  CSI_RETURN_IF_ERROR(mount::RemoveIfPresent(fs, link));
  return fs.MakeSymlink(device, link);
}

Status UnmapDevice(mount::FileSystem& fs, const std::string& map_file, const std::string& link) {
  const auto info = fs.Stat(link);
  if (info.ok() && info->type == mount::FileType::kSymlink) {
    CSI_RETURN_IF_ERROR(mount::RemoveIfPresent(fs, link));
  }
  const auto mapped = fs.IsMountPoint(map_file);
  if (mapped.ok() && *mapped) CSI_RETURN_IF_ERROR(fs.Unmount(map_file));
  return mount::RemoveIfPresent(fs, map_file);
}

}  // namespace

async::Task<Outcome> VolumeBackend::SaveBlockData(VolumeSpec spec) {
  co_return co_await OnDisk([directory = paths_.BlockData(spec.name),
                             data = DataOf(spec, deps_.config.node)](mount::FileSystem& fs) {
    Status made = fs.MakeDirectories(directory, kDirectoryMode);
    return made.ok() ? mount::SaveVolumeData(fs, directory, data) : made;
  });
}

async::Task<Status> VolumeBackend::RemoveBlockDirectories(std::string name) {
  co_return co_await OnDisk([map = paths_.BlockMap(name),
                             publish = paths_.BlockPublishDirectory(name),
                             staging = paths_.BlockStaging(name),
                             volume = paths_.BlockVolume(name)](mount::FileSystem& fs) -> Status {
    // What tells that the volume may be staged goes before the data file.
    CSI_RETURN_IF_ERROR(mount::RemoveIfPresent(fs, publish));
    CSI_RETURN_IF_ERROR(mount::RemoveTree(fs, map));
    // Differs: upstream deletes the content of this one, whatever is mounted in it.
    CSI_RETURN_IF_ERROR(mount::RemoveTree(fs, staging));
    return mount::RemoveTree(fs, volume);
  });
}

async::Task<Outcome> VolumeBackend::SetUpDevice(VolumeSpec spec, StringMap publish_context) {
  const MonotonicTime limit = co_await CallLimit();
  const bool keep = MaybeStagedBefore(spec);
  Driver driver;
  Outcome opened = co_await Open(
      spec.driver, "kubernetes.io/csi: blockMapper.SetUpDevice failed to get CSI client", limit,
      &driver);
  if (!opened.ok()) co_return opened;
  if (!driver.features.stage) co_return Outcome();
  RequestParts parts;
  parts.publish_context = std::move(publish_context);
  auto secrets = co_await ReadSecret(spec.stage_secret, "NodeStageSecretRef", limit);
  if (!secrets.ok()) co_return Outcome::Transient(secrets.status());
  parts.secrets = *std::move(secrets);
  const std::string staging = paths_.BlockStaging(spec.name);
  Status made = co_await OnDisk(
      [staging](mount::FileSystem& fs) { return fs.MakeDirectories(staging, kDirectoryMode); });
  if (!made.ok()) co_return Outcome::Transient(std::move(made));
  Outcome staged = OutcomeOfCall(co_await Call<NodeStageVolumeRequest>(
      driver.channel, StageRequest(spec, driver.features, staging, parts), limit));
  if (!staged.ok() && staged.kind == FailureKind::kFinal && !keep) {
    Status removed = co_await RemoveBlockDirectories(spec.name);
    if (!removed.ok()) {
      deps_.log.Error(removed, "Failed to remove the volume's directories", "volume", spec.name);
      staged.kind = FailureKind::kUncertain;
    }
  }
  co_return staged;
}

async::Task<Outcome> VolumeBackend::PublishBlock(VolumeSpec spec, PodFacts pod,
                                                 StringMap publish_context) {
  const MonotonicTime limit = co_await CallLimit();
  const DriverTraits traits = Traits(spec.driver);
  Driver driver;
  Outcome opened = co_await Open(
      spec.driver, "kubernetes.io/csi: blockMapper.MapPodDevice failed to get CSI client", limit,
      &driver);
  if (!opened.ok()) co_return opened;
  RequestParts parts;
  parts.publish_context = std::move(publish_context);
  auto secrets = co_await ReadSecret(spec.publish_secret, "NodePublishSecretRef", limit);
  if (!secrets.ok()) co_return Outcome::Transient(secrets.status());
  parts.secrets = *std::move(secrets);
  // The pod's file in the map directory, before the call: should this process end during it, the
  // next one has to know for whom the volume may have been published.
  Status made = co_await OnDisk([publish = paths_.BlockPublishDirectory(spec.name),
                                 map = paths_.BlockMap(spec.name),
                                 uid = pod.uid](mount::FileSystem& fs) -> Status {
    CSI_RETURN_IF_ERROR(fs.MakeDirectories(publish, kDirectoryMode));
    CSI_RETURN_IF_ERROR(fs.MakeDirectories(map, kDirectoryMode));
    return fs.CreateFile(StrCat(map, "/", uid), kDirectoryMode);
  });
  if (!made.ok()) co_return Outcome::Transient(std::move(made));
  const StringMap context = traits.pod_info ? PodInfo(pod, spec) : StringMap();
  co_return OutcomeOfCall(co_await Call<NodePublishVolumeRequest>(
      driver.channel,
      PublishRequest(spec, driver.features, paths_.BlockStaging(spec.name),
                     paths_.BlockPublishTarget(spec.name, pod.uid), context, parts),
      limit));
}

async::Task<VolumeBackend::Mapped> VolumeBackend::MapPodDevice(VolumeSpec spec, PodFacts pod,
                                                               StringMap publish_context) {
  Mapped mapped;
  mapped.outcome = co_await PublishBlock(spec, pod, std::move(publish_context));
  if (!mapped.outcome.ok()) co_return mapped;
  mapped.published = true;
  mapped.link = paths_.PodDeviceLink(pod.uid, spec.name);
  mapped.map_file = StrCat(paths_.BlockMap(spec.name), "/", pod.uid);
  auto device = co_await OnDisk([target = paths_.BlockPublishTarget(spec.name, pod.uid),
                                 map_file = mapped.map_file,
                                 link = mapped.link](mount::FileSystem& fs) -> Result<std::string> {
    CSI_ASSIGN_OR_RETURN(std::string resolved, fs.Resolve(target));
    CSI_RETURN_IF_ERROR(MapDevice(fs, resolved, map_file, link));
    return resolved;
  });
  if (device.ok()) {
    mapped.device_path = *std::move(device);
  } else {
    mapped.outcome = Outcome::Uncertain(device.status());
  }
  co_return mapped;
}

async::Task<Outcome> VolumeBackend::UnmapPodDevice(VolumeSpec spec, std::string pod_uid) {
  Status unmapped =
      co_await OnDisk([map_file = StrCat(paths_.BlockMap(spec.name), "/", pod_uid),
                       link = paths_.PodDeviceLink(pod_uid, spec.name)](mount::FileSystem& fs) {
        return UnmapDevice(fs, map_file, link);
      });
  if (!unmapped.ok()) co_return unmapped;
  const MonotonicTime limit = co_await CallLimit();
  auto channel = deps_.drivers->Find(spec.driver);
  if (!channel.ok()) {
    co_return Outcome::Transient(channel.status().WithContext(
        "kubernetes.io/csi: blockMapper.UnmapPodDevice failed to get CSI client"));
  }
  const std::string target = paths_.BlockPublishTarget(spec.name, pod_uid);
  NodeUnpublishVolumeRequest request;
  request.set_volume_id(spec.handle);
  request.set_target_path(target);
  Status unpublished =
      co_await Call<NodeUnpublishVolumeRequest>(*channel, std::move(request), limit);
  if (!unpublished.ok()) {
    unpublished = co_await ForgiveIfGone(std::move(unpublished), target);
    // What the driver has made there is of no use to anybody.
    if (unpublished.ok()) {
      unpublished = co_await OnDisk(
          [target](mount::FileSystem& fs) { return mount::RemoveIfPresent(fs, target); });
    }
  }
  co_return unpublished.WithContext(
      "kubernetes.io/csi: blockMapper.unpublishVolumeForBlock failed");
}

async::Task<Outcome> VolumeBackend::TearDownDevice(VolumeSpec spec) {
  const std::string staging = paths_.BlockStaging(spec.name);
  auto staged = co_await OnDisk([map = paths_.BlockMap(spec.name),
                                 publish = paths_.BlockPublishDirectory(spec.name),
                                 staging](mount::FileSystem& fs) -> Result<bool> {
    const auto files = fs.List(map);
    if (!files.ok() && !mount::IsMissing(files.status())) return files.status();
    for (const auto& file : files.ok() ? *files : std::vector<mount::DirectoryEntry>()) {
      CSI_ASSIGN_OR_RETURN(const bool mapped, fs.IsMountPoint(StrCat(map, "/", file.name)));
      if (mapped) {
        return FailedPreconditionError(
            StrCat("the device is still referenced from other Pods [", file.name, "]"));
      }
    }
    // The other two are made after the volume was staged. Differs: upstream asks for the first
    // only, and never unstages a volume that has lost it.
    for (const std::string& path : {staging, publish, map}) {
      const auto info = fs.Stat(path);
      if (info.ok()) return true;
      if (!mount::IsMissing(info.status())) return info.status();
    }
    return false;
  });
  if (!staged.ok()) co_return staged.status();
  const MonotonicTime limit = co_await CallLimit();
  if (*staged) {
    Driver driver;
    Outcome opened = co_await Open(
        spec.driver, "kubernetes.io/csi: blockMapper.TearDownDevice failed to get CSI client",
        limit, &driver);
    if (!opened.ok()) co_return opened;
    if (driver.features.stage) {
      NodeUnstageVolumeRequest request;
      request.set_volume_id(spec.handle);
      request.set_staging_target_path(staging);
      Status unstaged =
          co_await Call<NodeUnstageVolumeRequest>(driver.channel, std::move(request), limit);
      if (!unstaged.ok()) unstaged = co_await ForgiveIfGone(std::move(unstaged), staging);
      if (!unstaged.ok()) {
        co_return unstaged.WithContext(
            "kubernetes.io/csi: blockMapper.unstageVolumeForBlock failed");
      }
    }
  }
  // Differs: upstream only logs what it could not remove.
  co_return co_await RemoveBlockDirectories(spec.name);
}

}  // namespace csinative::volumemanager
