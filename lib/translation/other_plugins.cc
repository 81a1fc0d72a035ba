// SPDX-License-Identifier: Apache-2.0
//
// Plugins whose sources are only renamed: Cinder, vSphere, Portworx (attacher 12.1, provisioner
// 16).
#include <array>

#include "apis/core/v1/maps.h"
#include "lib/base/strings.h"
#include "lib/translation/plugin.h"
#include "lib/translation/topology.h"

namespace csinative::translation {
namespace {

constexpr std::string_view kCinderZoneKey = "topology.cinder.csi.openstack.org/zone";
constexpr std::string_view kVsphereZoneKey = "topology.csi.vmware.com/zone";
constexpr std::string_view kVsphereRegionKey = "topology.csi.vmware.com/region";
constexpr std::string_view kAuthSecretName = "openstorage.io/auth-secret-name";
constexpr std::string_view kAuthSecretNamespace = "openstorage.io/auth-secret-namespace";

Status CinderToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& cinder = volume->spec().persistentvolumesource().cinder();
  csi->set_volumehandle(cinder.volumeid());
  csi->set_readonly(cinder.readonly());
  csi->set_fstype(cinder.fstype());
  return Status();
}

Status VsphereToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& disk = volume->spec().persistentvolumesource().vspherevolume();
  csi->set_volumehandle(disk.volumepath());
  csi->set_fstype(disk.fstype());
  if (!disk.storagepolicyname().empty()) {
    apis::SetEntry(csi->mutable_volumeattributes(), "storagepolicyname", disk.storagepolicyname());
  }
  return Status();
}

// Upstream: whether it is read-only gets lost, as with vSphere.
Status PortworxToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& portworx = volume->spec().persistentvolumesource().portworxvolume();
  csi->set_volumehandle(portworx.volumeid());
  csi->set_fstype(portworx.fstype());
  const auto& annotations = volume->metadata().annotations();
  const std::string* name = apis::GetEntry(annotations, kAuthSecretName);
  const std::string* name_space = apis::GetEntry(annotations, kAuthSecretNamespace);
  if (name == nullptr || name_space == nullptr) return Status();
  core::SecretReference secret;
  secret.set_name(*name);
  secret.set_namespace_(*name_space);
  *csi->mutable_controllerpublishsecretref() = secret;
  return Status();
}

Status CinderClassToCsi(storage::StorageClass* klass) {
  return TranslateClass({.zone_key = kCinderZoneKey}, klass);
}

Status CinderToInTree(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume) {
  auto* cinder = volume->mutable_spec()->mutable_persistentvolumesource()->mutable_cinder();
  cinder->set_volumeid(csi.volumehandle());
  if (!csi.fstype().empty()) cinder->set_fstype(csi.fstype());
  if (csi.readonly()) cinder->set_readonly(true);
  return TopologyToInTree(kCinderZoneKey, nullptr, volume);
}

// Parameters of the plugin that its driver knows only by another name; all others are dropped.
Status VsphereClassToCsi(storage::StorageClass* klass) {
  constexpr std::array<std::string_view, 8> kMigrated = {
      "datastore",        "diskformat",  "hostfailurestotolerate", "forceprovisioning",
      "cachereservation", "diskstripes", "objectspacereservation", "iopslimit"};
  apis::Entries<apis::StringEntry> translated;
  for (const apis::StringEntry& parameter : klass->parameters()) {
    const std::string key = ToLower(parameter.key());
    if (key == "fstype") apis::SetEntry(&translated, kPrefixedFsType, parameter.value());
    if (key == "storagepolicyname") apis::SetEntry(&translated, key, parameter.value());
    for (const std::string_view known : kMigrated) {
      if (key != known) continue;
      apis::SetEntry(&translated, StrCat(known, "-migrationparam"), parameter.value());
    }
  }
  // Tells the driver to answer with the path that the in-tree source needs.
  apis::SetEntry(&translated, "csimigration", std::string("true"));
  klass->mutable_parameters()->Swap(&translated);
  RenameZones(kVsphereZoneKey, klass);
  return Status();
}

Status VsphereToInTree(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume) {
  auto* disk = volume->mutable_spec()->mutable_persistentvolumesource()->mutable_vspherevolume();
  disk->set_volumepath(
      std::string(apis::GetEntryOr(csi.volumeattributes(), "initialvolumefilepath")));
  if (!csi.fstype().empty()) disk->set_fstype(csi.fstype());
  const TopologyLabels labels = LabelsOf(*volume);
  RenameRequirement(kVsphereZoneKey, labels.zone, volume);
  RenameRequirement(kVsphereRegionKey, labels.region, volume);
  for (const std::string_view key : {labels.zone, labels.region}) {
    const auto values = RequiredValues(*volume, key);
    if (!values.empty()) AddLabel(key, *values.begin(), volume);
  }
  return Status();
}

// The Secret of the plugin serves every purpose of the driver.
Status PortworxClassToCsi(storage::StorageClass* klass) {
  constexpr std::array<std::string_view, 6> kPurposes = {"provisioner",       "controller-publish",
                                                         "node-publish",      "node-stage",
                                                         "controller-expand", "node-expand"};
  apis::Entries<apis::StringEntry> translated;
  for (const apis::StringEntry& parameter : klass->parameters()) {
    const std::string key = ToLower(parameter.key());
    const bool name = key == kAuthSecretName;
    if (!name && key != kAuthSecretNamespace) {
      apis::SetEntry(&translated, parameter.key(), parameter.value());
      continue;
    }
    for (const std::string_view purpose : kPurposes) {
      apis::SetEntry(
          &translated,
          StrCat("csi.storage.k8s.io/", purpose, "-secret-", name ? "name" : "namespace"),
          parameter.value());
    }
  }
  klass->mutable_parameters()->Swap(&translated);
  klass->set_provisioner("pxd.portworx.com");
  return Status();
}

Status PortworxToInTree(const core::CSIPersistentVolumeSource& csi,
                        core::PersistentVolume* volume) {
  auto* portworx =
      volume->mutable_spec()->mutable_persistentvolumesource()->mutable_portworxvolume();
  portworx->set_volumeid(csi.volumehandle());
  if (!csi.fstype().empty()) portworx->set_fstype(csi.fstype());
  if (csi.readonly()) portworx->set_readonly(true);
  return Status();
}

}  // namespace

constinit const Plugin kCinder = {
    .driver = "cinder.csi.openstack.org",
    .in_tree = "kubernetes.io/cinder",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_cinder(); },
    .to_csi = CinderToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_cinder(); },
    .to_in_tree = CinderToInTree,
    .class_to_csi = CinderClassToCsi};

constinit const Plugin kVsphere = {
    .driver = "csi.vsphere.vmware.com",
    .in_tree = "kubernetes.io/vsphere-volume",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_vspherevolume(); },
    .to_csi = VsphereToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_vspherevolume(); },
    .to_in_tree = VsphereToInTree,
    .class_to_csi = VsphereClassToCsi};

constinit const Plugin kPortworx = {
    .driver = "pxd.portworx.com",
    .in_tree = "kubernetes.io/portworx-volume",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_portworxvolume(); },
    .to_csi = PortworxToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_portworxvolume(); },
    .to_in_tree = PortworxToInTree,
    .class_to_csi = PortworxClassToCsi,
    .annotations = {kAuthSecretName, kAuthSecretNamespace}};

}  // namespace csinative::translation
