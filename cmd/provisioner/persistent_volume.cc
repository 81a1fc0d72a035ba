// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/persistent_volume.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/resource/quantity.h"
#include "cmd/provisioner/claim_filter.h"
#include "cmd/provisioner/create_request.h"
#include "cmd/provisioner/data_source.h"

namespace csinative::provisioner {
namespace {

void SetPair(apis::Entries<apis::StringEntry>* annotations, std::string_view name_key,
             std::string_view namespace_key, const core::SecretReference& reference) {
  apis::SetEntry(annotations, name_key, reference.name());
  apis::SetEntry(annotations, namespace_key, reference.namespace_());
}

void FillMetadata(const VolumeRecipe& recipe, meta::ObjectMeta* metadata) {
  metadata->set_name(recipe.name);
  auto* annotations = metadata->mutable_annotations();
  apis::SetEntry(annotations, apis::kAnnProvisionedBy, recipe.provisioned_by);
  // Always written: their absence means a volume of an older provisioner (provisioner 13.5).
  SetPair(annotations, apis::kAnnDeletionSecretName, apis::kAnnDeletionSecretNamespace,
          recipe.secrets.provisioner.value_or(core::SecretReference()));
  if (recipe.secrets.controller_modify) {
    SetPair(annotations, apis::kAnnModifySecretName, apis::kAnnModifySecretNamespace,
            *recipe.secrets.controller_modify);
  }
  // Also for Retain: the sync of the volume takes it off.
  metadata->add_finalizers(std::string(apis::kFinalizerProvisioner));
}

void FillSource(const VolumeRecipe& recipe, core::CSIPersistentVolumeSource* csi) {
  csi->set_driver(recipe.driver);
  csi->set_volumehandle(recipe.volume->volume_id());
  if (recipe.read_only) csi->set_readonly(true);
  if (!IsBlock(*recipe.claim) && !recipe.fs_type.empty()) csi->set_fstype(recipe.fs_type);
  auto* attributes = csi->mutable_volumeattributes();
  apis::SetEntry(attributes, apis::kAttributeProvisionerIdentity, recipe.identity);
  // The driver may overwrite the identity.
  for (const auto& [key, value] : recipe.volume->volume_context()) {
    apis::SetEntry(attributes, key, value);
  }
  const SecretReferences& secrets = recipe.secrets;
  if (secrets.controller_publish) {
    *csi->mutable_controllerpublishsecretref() = *secrets.controller_publish;
  }
  if (secrets.node_stage) *csi->mutable_nodestagesecretref() = *secrets.node_stage;
  if (secrets.node_publish) *csi->mutable_nodepublishsecretref() = *secrets.node_publish;
  if (secrets.controller_expand) {
    *csi->mutable_controllerexpandsecretref() = *secrets.controller_expand;
  }
  if (secrets.node_expand) *csi->mutable_nodeexpandsecretref() = *secrets.node_expand;
}

}  // namespace

core::ObjectReference ClaimReference(const core::PersistentVolumeClaim& claim) {
  core::ObjectReference reference;
  reference.set_kind(std::string(kClaimKind));
  reference.set_apiversion("v1");
  reference.set_namespace_(claim.metadata().namespace_());
  reference.set_name(claim.metadata().name());
  reference.set_uid(claim.metadata().uid());
  reference.set_resourceversion(claim.metadata().resourceversion());
  return reference;
}

core::PersistentVolume BuildVolume(const VolumeRecipe& recipe) {
  core::PersistentVolume volume;
  FillMetadata(recipe, volume.mutable_metadata());
  core::PersistentVolumeSpec* spec = volume.mutable_spec();
  const core::PersistentVolumeClaimSpec& claim = recipe.claim->spec();
  *apis::MutableEntry(spec->mutable_capacity(), apis::kResourceStorage) =
      apis::Quantity(recipe.capacity_bytes, apis::Quantity::Format::kBinarySi).ToProto();
  spec->mutable_accessmodes()->CopyFrom(claim.accessmodes());
  *spec->mutable_claimref() = ClaimReference(*recipe.claim);
  spec->mutable_mountoptions()->CopyFrom(recipe.klass->mountoptions());
  if (recipe.klass->has_reclaimpolicy()) {
    spec->set_persistentvolumereclaimpolicy(recipe.klass->reclaimpolicy());
  }
  spec->set_storageclassname(ClassNameOf(*recipe.claim));
  if (claim.has_volumemode()) spec->set_volumemode(claim.volumemode());
  if (!recipe.attributes_class.empty()) {
    spec->set_volumeattributesclassname(recipe.attributes_class);
  }
  if (recipe.node_affinity) *spec->mutable_nodeaffinity() = *recipe.node_affinity;
  FillSource(recipe, spec->mutable_persistentvolumesource()->mutable_csi());
  return volume;
}

}  // namespace csinative::provisioner
