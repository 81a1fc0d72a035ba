// SPDX-License-Identifier: Apache-2.0
//
// Plugins whose sources are only renamed: Cinder, vSphere, Portworx (attacher 12.1).
#include "apis/core/v1/maps.h"
#include "lib/translation/plugin.h"

namespace csinative::translation {
namespace {

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

}  // namespace

constinit const Plugin kCinder = {
    .driver = "cinder.csi.openstack.org",
    .in_tree = "kubernetes.io/cinder",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_cinder(); },
    .to_csi = CinderToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_cinder(); }};

constinit const Plugin kVsphere = {
    .driver = "csi.vsphere.vmware.com",
    .in_tree = "kubernetes.io/vsphere-volume",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_vspherevolume(); },
    .to_csi = VsphereToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_vspherevolume(); }};

constinit const Plugin kPortworx = {
    .driver = "pxd.portworx.com",
    .in_tree = "kubernetes.io/portworx-volume",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_portworxvolume(); },
    .to_csi = PortworxToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_portworxvolume(); },
    .annotations = {kAuthSecretName, kAuthSecretNamespace}};

}  // namespace csinative::translation
