// SPDX-License-Identifier: Apache-2.0
//
// Azure disks and files (attacher 12.1, provisioner 16).
#include <algorithm>

#include "apis/core/v1/maps.h"
#include "lib/base/strings.h"
#include "lib/translation/plugin.h"
#include "lib/translation/topology.h"

namespace csinative::translation {
namespace {

constexpr std::string_view kDiskZoneKey = "topology.disk.csi.azure.com/zone";
constexpr std::string_view kResourceGroup = "kubernetes.io/azure-file-resource-group";

Status DiskToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& disk = volume->spec().persistentvolumesource().azuredisk();
  if (disk.has_kind() && ToLower(disk.kind()) != "managed") {
    return InvalidArgumentError(
        StrCat("kind(", disk.kind(), ") is not supported in csi migration"));
  }
  csi->set_volumehandle(disk.diskuri());
  if (disk.has_readonly()) csi->set_readonly(disk.readonly());
  auto* attributes = csi->mutable_volumeattributes();
  apis::SetEntry(attributes, "kind", std::string("Managed"));
  if (disk.has_cachingmode()) apis::SetEntry(attributes, "cachingmode", disk.cachingmode());
  if (disk.has_fstype()) {
    csi->set_fstype(disk.fstype());
    apis::SetEntry(attributes, "fstype", disk.fstype());
  }
  return Status();
}

bool IsNumber(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Status DiskClassToCsi(storage::StorageClass* klass) {
  CSI_RETURN_IF_ERROR(TranslateClass({.zone_key = kDiskZoneKey,
                                      .zones = ClassRules::Zones::kBecomeTopology,
                                      .fs_type = ClassRules::FsType::kStays},
                                     klass));
  // Numbers were the fault domains of disks without a zone.
  for (auto& term : *klass->mutable_allowedtopologies()) {
    for (auto& expression : *term.mutable_matchlabelexpressions()) {
      if (expression.key() != kDiskZoneKey) continue;
      for (std::string& zone : *expression.mutable_values()) {
        if (IsNumber(zone)) zone.clear();
      }
    }
  }
  return Status();
}

// "d" of ".../subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d", and of
// "https://account/vhds/d".
Result<std::string> DiskNameOf(const std::string& handle) {
  const bool managed = handle.size() > 4 && !EqualsIgnoreCase(handle.substr(0, 4), "http");
  const std::string_view last = managed ? "/providers/Microsoft.Compute/disks/" : "/vhds/";
  const size_t at = handle.rfind(last);
  const auto error = [&] {
    return InvalidArgumentError(StrCat("could not get a disk name from the handle ", handle));
  };
  if (at == std::string::npos || at + last.size() == handle.size()) return error();
  const std::string_view before = std::string_view(handle).substr(0, at);
  if (managed) {
    const size_t subscription = before.find("/subscriptions/");
    if (subscription == std::string::npos ||
        before.find("/resourceGroups/", subscription) == std::string::npos) {
      return error();
    }
  } else if (before.find("://") == std::string::npos) {
    return error();
  }
  return handle.substr(at + last.size());
}

Status DiskToInTree(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume) {
  CSI_ASSIGN_OR_RETURN(std::string name, DiskNameOf(csi.volumehandle()));
  auto* disk = volume->mutable_spec()->mutable_persistentvolumesource()->mutable_azuredisk();
  disk->set_diskname(std::move(name));
  disk->set_diskuri(csi.volumehandle());
  disk->set_fstype(csi.fstype());
  disk->set_readonly(csi.readonly());
  disk->set_kind("Managed");
  for (const auto& attribute : csi.volumeattributes()) {
    if (attribute.value().empty()) continue;
    const std::string key = ToLower(attribute.key());
    if (key == "cachingmode") disk->set_cachingmode(attribute.value());
    if (key == "fstype") disk->set_fstype(attribute.value());
  }
  return Status();
}

// "x" of "azure-storage-account-x-secret", wherever that stands; any other name is the account's.
std::string AccountOf(const std::string& secret) {
  constexpr std::string_view kBegin = "azure-storage-account-";
  constexpr std::string_view kEnd = "-secret";
  const size_t begin = secret.find(kBegin);
  const size_t end = secret.rfind(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end <= begin + kBegin.size()) {
    return secret;
  }
  return secret.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

Status FileToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& file = volume->spec().persistentvolumesource().azurefile();
  std::string secret_namespace = file.secretnamespace();
  if (secret_namespace.empty()) secret_namespace = volume->spec().claimref().namespace_();
  if (secret_namespace.empty()) {
    return InvalidArgumentError("could not get a secret namespace from PV or ClaimRef");
  }
  csi->set_volumehandle(StrCat(apis::GetEntryOr(volume->metadata().annotations(), kResourceGroup),
                               "#", AccountOf(file.secretname()), "#", file.sharename(), "#",
                               volume->metadata().name(), "#", secret_namespace));
  csi->set_readonly(file.readonly());
  apis::SetEntry(csi->mutable_volumeattributes(), "sharename", file.sharename());
  return Status();
}

Status FileToInTree(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume) {
  std::string share, secret, resource_group;
  std::string secret_namespace = "default";
  for (const auto& attribute : csi.volumeattributes()) {
    const std::string key = ToLower(attribute.key());
    if (key == "sharename") share = attribute.value();
    if (key == "secretname") secret = attribute.value();
    if (key == "secretnamespace") secret_namespace = attribute.value();
  }
  if (!csi.nodestagesecretref().name().empty()) {
    secret = csi.nodestagesecretref().name();
    secret_namespace = csi.nodestagesecretref().namespace_();
  }
  if (share.empty() || secret.empty()) {
    // "group#account#share#..."
    const auto parts = Split(csi.volumehandle(), '#');
    if (parts.size() < 3) {
      return InvalidArgumentError(
          StrCat("volume handle ", csi.volumehandle(), " should at least contain two #"));
    }
    resource_group = parts[0];
    if (secret.empty()) secret = StrCat("azure-storage-account-", parts[1], "-secret");
    if (share.empty()) share = parts[2];
  }
  auto* file = volume->mutable_spec()->mutable_persistentvolumesource()->mutable_azurefile();
  file->set_sharename(std::move(share));
  file->set_secretname(std::move(secret));
  file->set_secretnamespace(std::move(secret_namespace));
  if (csi.readonly()) file->set_readonly(true);
  if (!resource_group.empty()) {
    apis::SetEntry(volume->mutable_metadata()->mutable_annotations(), kResourceGroup,
                   resource_group);
  }
  return Status();
}

}  // namespace

constinit const Plugin kAzureDisk = {
    .driver = "disk.csi.azure.com",
    .in_tree = "kubernetes.io/azure-disk",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_azuredisk(); },
    .to_csi = DiskToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_azuredisk(); },
    .to_in_tree = DiskToInTree,
    .class_to_csi = DiskClassToCsi};

constinit const Plugin kAzureFile = {
    .driver = "file.csi.azure.com",
    .in_tree = "kubernetes.io/azure-file",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_azurefile(); },
    .to_csi = FileToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_azurefile(); },
    .to_in_tree = FileToInTree,
    .annotations = {kResourceGroup}};

}  // namespace csinative::translation
