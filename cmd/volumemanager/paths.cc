// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/paths.h"

#include "lib/base/strings.h"
#include "lib/mount/file_system.h"

namespace csinative::volumemanager {
namespace {

constexpr char kEscapedPlugin[] = "kubernetes.io~csi";

}  // namespace

std::string EscapeName(std::string_view name) { return ReplaceAll(name, "/", "~"); }
std::string UnescapeName(std::string_view name) { return ReplaceAll(name, "~", "/"); }

std::string Paths::Pod(std::string_view uid) const { return StrCat(root_, "/pods/", uid); }
std::string Paths::PodVolumes(std::string_view uid) const {
  return StrCat(Pod(uid), "/volumes/", kEscapedPlugin);
}
std::string Paths::PodVolumeDevices(std::string_view uid) const {
  return StrCat(Pod(uid), "/volumeDevices/", kEscapedPlugin);
}
std::string Paths::PodSubpaths(std::string_view uid, std::string_view name) const {
  return StrCat(Pod(uid), "/volume-subpaths/", name);
}
std::string Paths::PodVolume(std::string_view uid, std::string_view name) const {
  return StrCat(PodVolumes(uid), "/", EscapeName(name));
}
std::string Paths::PublishTarget(std::string_view uid, std::string_view name) const {
  return StrCat(PodVolume(uid, name), "/", kMountLeaf);
}
std::string Paths::PodDeviceLink(std::string_view uid, std::string_view name) const {
  return StrCat(PodVolumeDevices(uid), "/", name);
}
std::string Paths::Staged(std::string_view driver, std::string_view handle) const {
  return StrCat(CsiPlugin(), "/", driver, "/", Sha256Hex(handle));
}
std::string Paths::StagingTarget(std::string_view driver, std::string_view handle) const {
  return StrCat(Staged(driver, handle), "/", kStagingLeaf);
}
std::string Paths::BlockVolume(std::string_view name) const {
  return StrCat(BlockVolumes(), "/", EscapeName(name));
}
std::string Paths::BlockData(std::string_view name) const {
  return StrCat(BlockVolume(name), "/data");
}
std::string Paths::BlockMap(std::string_view name) const {
  return StrCat(BlockVolume(name), "/dev");
}
std::string Paths::BlockStaging(std::string_view name) const {
  return StrCat(BlockVolumes(), "/staging/", name);
}
std::string Paths::BlockPublishDirectory(std::string_view name) const {
  return StrCat(BlockVolumes(), "/publish/", name);
}
std::string Paths::BlockPublishTarget(std::string_view name, std::string_view uid) const {
  return StrCat(BlockPublishDirectory(name), "/", uid);
}

std::string InlineHandle(std::string_view pod_uid, std::string_view volume) {
  return "csi-" + Sha256Hex(StrCat(pod_uid, volume));
}

std::string UniqueInlineName(std::string_view pod_uid, std::string_view volume) {
  return StrCat("kubernetes.io/csi/", pod_uid, "-", volume);
}

Status CheckPathParts(std::string_view driver, std::string_view handle, std::string_view name) {
  if (driver.empty()) return InvalidArgumentError("driver name is empty");
  if (handle.empty()) return InvalidArgumentError("missing volume handle");
  if (!mount::IsPathComponent(driver)) {
    return InvalidArgumentError(StrCat("driver name \"", driver, "\" cannot be part of a path"));
  }
  if (!mount::IsPathComponent(name)) {
    return InvalidArgumentError(StrCat("volume name \"", name, "\" cannot be part of a path"));
  }
  return Status();
}

}  // namespace csinative::volumemanager
