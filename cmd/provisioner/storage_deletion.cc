// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/storage_deletion.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/class_parameters.h"
#include "lib/base/strings.h"
#include "lib/translation/translate.h"

namespace csinative::provisioner {
namespace {

using Reference = std::optional<core::SecretReference>;

std::string ClassNameOf(const core::PersistentVolume& volume) {
  const std::string* name =
      apis::GetEntry(volume.metadata().annotations(), apis::kAnnBetaStorageClass);
  return name != nullptr ? *name : volume.spec().storageclassname();
}

}  // namespace

async::Task<Status> StorageDeletion::Delete(core::PersistentVolume volume) {
  const std::string name = volume.metadata().name();
  Migrated migrated = Migrated::kNo;
  if (translation::IsMigratable(volume.spec())) {
    auto translated = translation::ToCsi(std::move(volume));
    if (!translated.ok()) {
      co_return translated.status().WithContext(StrCat("failed to translate volume ", name));
    }
    volume = *std::move(translated);
    migrated = Migrated::kYes;
  }
  const core::PersistentVolumeSource& source = volume.spec().persistentvolumesource();
  if (!source.has_csi()) {
    co_return InvalidArgumentError(StrCat("volume ", name, " has no CSI source"));
  }
  CSI_CO_RETURN_IF_ERROR(CheckVolumeCapabilities(deps_.features));
  ::csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(source.csi().volumehandle());
  auto reference = SecretFor(volume, migrated);
  if (!reference.ok()) {
    co_return reference.status().WithContext(
        StrCat("failed to get secretreference for volume ", name));
  }
  if (*reference) {
    auto data = co_await ReadSecret(deps_.client, **reference);
    if (data.ok()) {
      CSI_CO_RETURN_IF_ERROR(FillSecrets(**reference, *data, request.mutable_secrets()));
    } else {
      deps_.log.Error(data.status(), "Deleting the volume without its secret", "PV", name);
    }
  }
  if (const auto node = deps_.caches->AttachedNode(name)) {
    co_return FailedPreconditionError(
        StrCat("persistentvolume ", name, " is still attached to node ", *node));
  }
  co_return co_await deps_.driver->DeleteVolume(std::move(request), migrated);
}

Result<Reference> StorageDeletion::SecretFor(const core::PersistentVolume& volume,
                                             Migrated migrated) {
  const auto& annotations = volume.metadata().annotations();
  const std::string* secret_name = apis::GetEntry(annotations, apis::kAnnDeletionSecretName);
  const std::string* secret_namespace =
      apis::GetEntry(annotations, apis::kAnnDeletionSecretNamespace);
  if (secret_name != nullptr && secret_namespace != nullptr) {
    if (secret_name->empty() || secret_namespace->empty()) return Reference();
    core::SecretReference reference;
    reference.set_name(*secret_name);
    reference.set_namespace_(*secret_namespace);
    return Reference(std::move(reference));
  }
  // A volume of an old provisioner, or made by hand: only its class can know.
  const std::string class_name = ClassNameOf(volume);
  if (class_name.empty()) return Reference();
  auto klass = deps_.caches->classes().Get(class_name);
  if (!klass) {
    deps_.log.Warningf("storage class {} of volume {} is gone: deleting without a secret",
                       class_name, volume.metadata().name());
    return Reference();
  }
  if (migrated == Migrated::kYes && klass->provisioner() == deps_.names.in_tree) {
    CSI_ASSIGN_OR_RETURN(klass, translation::ClassToCsi(deps_.names.in_tree, *std::move(klass)));
  }
  if (!volume.spec().has_claimref()) {
    deps_.log.Warningf("volume {} has no claim reference: deleting without a secret",
                       volume.metadata().name());
    return Reference();
  }
  core::PersistentVolumeClaim claim;
  claim.mutable_metadata()->set_namespace_(volume.spec().claimref().namespace_());
  claim.mutable_metadata()->set_name(volume.spec().claimref().name());
  return ResolveSecret(secret_kind::kProvisioner, ParametersOf(klass->parameters()),
                       {volume.metadata().name(), &claim});
}

}  // namespace csinative::provisioner
