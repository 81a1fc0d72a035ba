// SPDX-License-Identifier: Apache-2.0
//
// Azure disks and files (attacher 12.1).
#include "apis/core/v1/maps.h"
#include "lib/base/strings.h"
#include "lib/translation/plugin.h"

namespace csinative::translation {
namespace {

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

}  // namespace

constinit const Plugin kAzureDisk = {
    .driver = "disk.csi.azure.com",
    .in_tree = "kubernetes.io/azure-disk",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_azuredisk(); },
    .to_csi = DiskToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_azuredisk(); }};

constinit const Plugin kAzureFile = {
    .driver = "file.csi.azure.com",
    .in_tree = "kubernetes.io/azure-file",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_azurefile(); },
    .to_csi = FileToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_azurefile(); },
    .annotations = {kResourceGroup}};

}  // namespace csinative::translation
