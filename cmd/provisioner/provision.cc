// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/provision.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/claim_writer.h"
#include "cmd/provisioner/class_parameters.h"
#include "cmd/provisioner/clone_source.h"
#include "cmd/provisioner/reference_grants.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "lib/translation/translate.h"

namespace csinative::provisioner {

using enum ProvisionState;

struct Preparation {
  core::PersistentVolumeClaim claim;
  storage::StorageClass klass;
  std::string selected_node;

  Migrated migrated = Migrated::kNo;  // the class was of the in-tree plugin; it is translated
  std::string provisioned_by;         // the class's provisioner, as it is stored
  std::string source_driver;          // whose volumes and snapshots can be the source

  Parameters parameters;  // of the class, unstripped
  std::optional<DataSource> source;
  SourceType source_type = SourceType::kNone;
  std::string attributes_class;
  std::string volume_name;
  std::string fs_type;
  int64_t requested_bytes = 0;
  SecretReferences secrets;
  ::csi::v1::CreateVolumeRequest request;
};

async::Task<ProvisionResult> Provisioner::Provision(core::PersistentVolumeClaim claim,
                                                    storage::StorageClass klass,
                                                    std::string selected_node) {
  auto attempt = std::make_shared<Attempt>();
  attempt->claim = std::move(claim);
  attempt->klass = std::move(klass);
  attempt->selected_node = std::move(selected_node);
  if (auto ended = Plan(attempt.get())) co_return *std::move(ended);
  auto ended = co_await Prepare(attempt.get());
  if (ended) co_return *std::move(ended);
  const bool was_held = deps_.hold->IsHeld(attempt->claim);
  auto held = co_await deps_.hold->Hold(attempt->claim);
  if (!held.ok()) co_return ProvisionResult::Failed(kNoChange, held.status());
  attempt->claim = *std::move(held);
  ProvisionResult result = co_await Ask(attempt);
  if (!was_held && deps_.hold->IsHeld(attempt->claim)) result.held_claim = attempt->claim;
  co_return result;
}

async::Task<ProvisionResult> Provisioner::Ask(std::shared_ptr<const Preparation> attempt) {
  ProvisionResult result = co_await Create(attempt.get());
  result.driver_asked = true;
  const bool failed = result.kind == ProvisionResult::Kind::kFailed;
  if (failed && result.state == kInBackground) result.preparation = std::move(attempt);
  co_return result;
}

std::optional<ProvisionResult> Provisioner::Plan(Attempt* attempt) {
  const core::PersistentVolumeClaim& claim = attempt->claim;
  const std::optional<std::string> requested = RequestedProvisioner(claim);
  if (requested != deps_.names.driver && !IsMigratedTo(claim, deps_.names.driver)) {
    return ProvisionResult::Ignored(FailedPreconditionError(
        StrCat("the claim asks for provisioner \"", requested.value_or(""), "\"")));
  }
  Status status = PlanSource(attempt);
  if (status.ok()) status = PlanClass(attempt);
  if (status.ok()) {
    auto type = ClassifyDataSource(attempt->source);
    status = type.status();
    if (type.ok()) attempt->source_type = *type;
  }
  if (!status.ok()) return ProvisionResult::Failed(kFinished, std::move(status));
  if (attempt->source_type == SourceType::kPopulator) {
    const std::string text = "Assuming an external populator will provision the volume";
    deps_.events.Record(kube::ReferenceTo(claim), kube::EventType::kNormal, "Provisioning", text);
    return ProvisionResult::Ignored(FailedPreconditionError(text));
  }
  if (deps_.config.attributes_class_gate) {
    attempt->attributes_class = claim.spec().volumeattributesclassname();
  }
  status = CheckCapabilities(*attempt);
  if (status.ok()) status = PlanRequest(attempt);
  if (!status.ok()) return ProvisionResult::Failed(kFinished, std::move(status));
  return std::nullopt;
}

Status Provisioner::PlanSource(Attempt* attempt) const {
  const std::string& own_namespace = attempt->claim.metadata().namespace_();
  CSI_ASSIGN_OR_RETURN(attempt->source,
                       NormalizeDataSource(attempt->claim, deps_.config.cross_namespace_gate
                                                               ? CrossNamespace::kAllowed
                                                               : CrossNamespace::kForbidden));
  const auto& source = attempt->source;
  if (!source || source->ns == own_namespace) return Status();
  const auto grants = deps_.caches->GrantsIn(source->ns);
  if (!grants) {
    return FailedPreconditionError(
        "the ReferenceGrants of the cluster (gateway.networking.k8s.io/v1beta1) cannot be read "
        "yet, so that data sources of other namespaces cannot be used");
  }
  if (IsGranted(own_namespace, *source, *grants)) return Status();
  return FailedPreconditionError(StrCat("accessing ", source->ns, "/", source->name, " of ",
                                        source->kind, " dataSource from ", own_namespace, "/",
                                        attempt->claim.metadata().name(), " isn't allowed"));
}

Status Provisioner::PlanClass(Attempt* attempt) const {
  attempt->provisioned_by = attempt->klass.provisioner();
  attempt->source_driver = attempt->klass.provisioner();
  const std::string& in_tree = deps_.names.in_tree;
  if (in_tree.empty() || attempt->klass.provisioner() != in_tree) return Status();
  auto translated = translation::ClassToCsi(in_tree, std::move(attempt->klass));
  if (!translated.ok()) {
    return translated.status().WithContext("failed to translate storage class");
  }
  attempt->klass = *std::move(translated);
  attempt->migrated = Migrated::kYes;
  // Differs: upstream looks for sources of the in-tree plugin, which nobody can have.
  attempt->source_driver = deps_.names.driver;
  return Status();
}

Status Provisioner::PlanRequest(Attempt* attempt) const {
  const core::PersistentVolumeClaim& claim = attempt->claim;
  if (claim.spec().has_selector()) {
    return InvalidArgumentError("claim Selector is not supported");
  }
  CSI_ASSIGN_OR_RETURN(attempt->volume_name,
                       VolumeName(deps_.config.naming, claim.metadata().uid()));
  attempt->parameters = ParametersOf(attempt->klass.parameters());
  CSI_ASSIGN_OR_RETURN(FsType fs_type, FsTypeOf(attempt->parameters, deps_.config.default_fs_type));
  if (fs_type.deprecated) {
    deps_.log.Warningf(
        "\"fstype\" is deprecated and will be removed in a future release, please "
        "use \"csi.storage.k8s.io/fstype\" instead");
  }
  attempt->fs_type = std::move(fs_type.value);
  CSI_ASSIGN_OR_RETURN(attempt->requested_bytes, RequestedBytes(claim));
  CSI_ASSIGN_OR_RETURN(auto capabilities,
                       VolumeCapabilities(claim, attempt->klass, attempt->fs_type,
                                          deps_.features.single_node_multi_writer
                                              ? csi::SingleNodeMultiWriter::kYes
                                              : csi::SingleNodeMultiWriter::kNo));

  ::csi::v1::CreateVolumeRequest& request = attempt->request;
  request.set_name(attempt->volume_name);
  request.mutable_capacity_range()->set_required_bytes(attempt->requested_bytes);
  for (auto& capability : capabilities) {
    *request.add_volume_capabilities() = std::move(capability);
  }
  return Status();
}

Status Provisioner::CheckCapabilities(const Attempt& attempt) const {
  const DriverFeatures& has = deps_.features;
  const auto missing = [](std::string_view what, std::string_view capability) {
    return FailedPreconditionError(StrCat("CSI driver does not support ", what, ": ", capability,
                                          " capability is not reported"));
  };
  CSI_RETURN_IF_ERROR(CheckVolumeCapabilities(has));
  if (attempt.source_type == SourceType::kSnapshot && !has.create_delete_snapshot) {
    return missing("snapshot restore", "controller CREATE_DELETE_SNAPSHOT");
  }
  if (attempt.source_type == SourceType::kClone && !has.clone_volume) {
    return missing("clone operations", "controller CLONE_VOLUME");
  }
  if (!attempt.attributes_class.empty() && !has.modify_volume) {
    return missing("VolumeAttributesClass", "controller MODIFY_VOLUME");
  }
  return Status();
}

async::Task<std::optional<ProvisionResult>> Provisioner::Prepare(Attempt* attempt) {
  Status source;
  if (attempt->source_type == SourceType::kSnapshot) source = co_await PrepareSnapshot(attempt);
  if (attempt->source_type == SourceType::kClone) source = co_await PrepareClone(attempt);
  if (!source.ok()) {
    co_return ProvisionResult::Failed(
        kNoChange,
        source.WithContext(StrCat("error getting handle for DataSource Type ",
                                  attempt->source->kind, " by Name ", attempt->source->name)));
  }
  if (topology_supported()) {
    if (auto ended = PrepareTopology(attempt)) co_return ended;
  }
  auto ended = co_await PrepareSecrets(attempt);
  if (ended) co_return ended;

  auto stripped = StripPrefixed(attempt->parameters);
  if (!stripped.ok()) {
    co_return ProvisionResult::Failed(
        kFinished,
        stripped.status().WithContext("failed to strip CSI Parameters of prefixed keys"));
  }
  auto* parameters = attempt->request.mutable_parameters();
  for (auto& [key, value] : *stripped) (*parameters)[key] = std::move(value);
  if (deps_.config.extra_create_metadata) {
    const auto& metadata = attempt->claim.metadata();
    (*parameters)[std::string(apis::kParameterPvcName)] = metadata.name();
    (*parameters)[std::string(apis::kParameterPvcNamespace)] = metadata.namespace_();
    (*parameters)[std::string(apis::kParameterPvName)] = attempt->volume_name;
  }
  co_return co_await PrepareAttributes(attempt);
}

async::Task<Status> Provisioner::PrepareClone(Attempt* attempt) {
  const std::string key = StrCat(attempt->source->ns, "/", attempt->source->name);
  const std::optional<core::PersistentVolumeClaim> source = deps_.caches->claims().Get(key);
  if (!source) {
    co_return kube::CacheNotFound("persistentvolumeclaim", attempt->source->name)
        .WithContext(StrCat("error getting PVC source (namespace ", GoQuote(attempt->source->ns),
                            ") from api server"));
  }
  CSI_CO_RETURN_IF_ERROR(CheckSourceClaim(attempt->claim, *source));
  auto volume =
      co_await deps_.client->Get<core::PersistentVolume>({"", source->spec().volumename()});
  // Differs: upstream cannot clone volumes that look like those of an in-tree plugin.
  if (volume.ok() && translation::IsMigratable(volume->spec())) {
    volume = translation::ToCsi(*std::move(volume));
  }
  Status usable = volume.ok()
                      ? CheckSourceVolume(attempt->claim, *source, *volume, attempt->source_driver)
                      : volume.status();
  if (!usable.ok()) {
    deps_.log.Warningf("the source volume of PVC {} cannot be used: {}", key, usable.message());
    co_return SourceNotUsable();
  }
  attempt->request.mutable_volume_content_source()->mutable_volume()->set_volume_id(
      volume->spec().persistentvolumesource().csi().volumehandle());
  if (HasCloneFinalizer(*source)) co_return Status();
  auto edited = co_await EditClaim(deps_.client, *source, AppendFinalizer(apis::kFinalizerCloning));
  co_return edited.status();
}

async::Task<Status> Provisioner::PrepareSnapshot(Attempt* attempt) {
  auto handle =
      co_await snapshots_.Handle(attempt->claim, *attempt->source, attempt->source_driver);
  if (!handle.ok()) co_return handle.status();
  attempt->request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(*handle);
  co_return co_await snapshots_.Protect(*attempt->source);
}

std::optional<ProvisionResult> Provisioner::PrepareTopology(Attempt* attempt) {
  auto requirements = AccessibilityRequirements(
      {deps_.names.driver, attempt->claim.metadata().name(), attempt->selected_node,
       &attempt->klass, deps_.config.topology},
      *deps_.caches->node_topology(), *deps_.random, &memory_.Of(attempt->claim.metadata().uid()));
  if (!requirements.ok()) {
    // The node that was selected is gone: the scheduler has to choose again.
    const bool gone = kube::IsNotFound(requirements.status());
    return ProvisionResult::Failed(gone ? kReschedule : kNoChange, requirements.status());
  }
  if (*requirements) {
    *attempt->request.mutable_accessibility_requirements() = **std::move(requirements);
  }
  return std::nullopt;
}

async::Task<std::optional<ProvisionResult>> Provisioner::PrepareSecrets(Attempt* attempt) {
  const auto no_change = [](Status status) {
    return ProvisionResult::Failed(kNoChange, std::move(status));
  };
  const SecretContext context{attempt->volume_name, &attempt->claim};
  auto reference = ResolveSecret(secret_kind::kProvisioner, attempt->parameters, context);
  if (!reference.ok()) co_return no_change(reference.status());
  attempt->secrets.provisioner = *std::move(reference);
  if (attempt->secrets.provisioner) {
    auto data = co_await ReadSecret(deps_.client, *attempt->secrets.provisioner);
    if (!data.ok()) co_return no_change(data.status());
    Status filled =
        FillSecrets(*attempt->secrets.provisioner, *data, attempt->request.mutable_secrets());
    if (!filled.ok()) co_return ProvisionResult::Failed(kFinished, std::move(filled));
  }
  const SecretContext same_context{attempt->volume_name, &attempt->claim};
  Status status = ResolvePublishedSecrets(attempt->parameters, same_context, &attempt->secrets);
  if (!status.ok()) co_return no_change(status);
  co_return std::nullopt;
}

async::Task<std::optional<ProvisionResult>> Provisioner::PrepareAttributes(Attempt* attempt) {
  if (attempt->attributes_class.empty()) co_return std::nullopt;
  auto klass =
      co_await deps_.client->Get<storage::VolumeAttributesClass>({"", attempt->attributes_class});
  if (!klass.ok()) co_return ProvisionResult::Failed(kNoChange, klass.status());
  if (klass->drivername() != deps_.names.driver) {
    co_return ProvisionResult::Failed(
        kFinished,
        InvalidArgumentError(StrCat("VAC ", attempt->attributes_class,
                                    " referenced in PVC is for driver ", klass->drivername(),
                                    " which does not match driver name ", deps_.names.driver)));
  }
  for (const auto& entry : klass->parameters()) {
    (*attempt->request.mutable_mutable_parameters())[entry.key()] = entry.value();
  }
  co_return std::nullopt;
}

async::Task<ProvisionResult> Provisioner::Create(const Attempt* attempt) {
  const std::string& uid = attempt->claim.metadata().uid();
  auto created = co_await deps_.driver->CreateVolume(attempt->request, attempt->migrated);
  if (!created.ok()) {
    const bool other_node = topology_supported() && !attempt->selected_node.empty();
    const ProvisionState state = StateAfterCreateError(
        created.status(), other_node ? NodeChoice::kCanChange : NodeChoice::kFixed);
    if (state == kFinished || state == kReschedule) memory_.Forget(uid);
    co_return ProvisionResult::Failed(state, created.status());
  }
  const ::csi::v1::Volume& volume = *created;
  if (volume.volume_id().empty()) {
    // Upstream crashes, or keeps trying to save an object that the API server never accepts.
    co_return ProvisionResult::Failed(
        kInBackground,
        FailedPreconditionError("the driver answered CreateVolume without a volume id"));
  }
  Status usable = CheckVolume(*attempt, volume);
  if (!usable.ok()) co_return co_await RejectVolume(attempt, volume.volume_id(), std::move(usable));

  ProvisionResult result;
  result.kind = ProvisionResult::Kind::kVolume;
  result.volume = Describe(*attempt, volume);
  if (attempt->migrated == Migrated::kYes) {
    auto translated = translation::ToInTree(*std::move(result.volume));
    if (!translated.ok()) {
      co_return co_await RejectTranslation(attempt, volume.volume_id(), translated.status());
    }
    result.volume = *std::move(translated);
  }
  memory_.Forget(uid);
  // Differs: upstream lets go of the snapshot although other claims are still restored from it, and
  // leaves one that was named by dataSourceRef to the sweep.
  if (attempt->source_type == SourceType::kSnapshot &&
      !deps_.needed_by_others(StrCat(attempt->source->ns, "/", attempt->source->name), uid)) {
    co_await snapshots_.Release(attempt->source->ns, attempt->source->name);
  }
  co_return result;
}

Status Provisioner::CheckVolume(const Attempt& attempt, const ::csi::v1::Volume& volume) const {
  const int64_t capacity = volume.capacity_bytes();
  if (capacity != 0 && capacity < attempt.requested_bytes) {
    return Status(Code::kOutOfRange,
                  StrCat("created volume capacity ", capacity, " less than requested capacity ",
                         attempt.requested_bytes));
  }
  if (attempt.request.has_volume_content_source() && !volume.has_content_source()) {
    return FailedPreconditionError("volume content source missing");
  }
  return Status();
}

core::PersistentVolume Provisioner::Describe(const Attempt& attempt,
                                             const ::csi::v1::Volume& volume) const {
  const int64_t capacity = volume.capacity_bytes();
  VolumeRecipe recipe;
  recipe.driver = deps_.names.driver;
  recipe.identity = deps_.identity;
  recipe.name = attempt.volume_name;
  recipe.claim = &attempt.claim;
  recipe.klass = &attempt.klass;
  recipe.provisioned_by = attempt.provisioned_by;
  recipe.fs_type = attempt.fs_type;
  recipe.capacity_bytes = capacity != 0 ? capacity : attempt.requested_bytes;
  recipe.read_only = IsReadOnly(attempt);
  recipe.attributes_class = attempt.attributes_class;
  recipe.secrets = attempt.secrets;
  recipe.volume = &volume;
  if (topology_supported()) recipe.node_affinity = NodeAffinityOf(volume);
  return BuildVolume(recipe);
}

bool Provisioner::IsReadOnly(const Attempt& attempt) const {
  return deps_.config.publish_read_only && attempt.request.volume_capabilities_size() == 1 &&
         attempt.request.volume_capabilities(0).access_mode().mode() ==
             ::csi::v1::VolumeCapability::AccessMode::MULTI_NODE_READER_ONLY;
}

::csi::v1::DeleteVolumeRequest Provisioner::DeletionOf(const Attempt& attempt,
                                                       std::string volume_id) {
  ::csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(std::move(volume_id));
  *request.mutable_secrets() = attempt.request.secrets();
  return request;
}

async::Task<ProvisionResult> Provisioner::RejectTranslation(const Attempt* attempt,
                                                            std::string volume_id, Status why) {
  Status deleted = co_await deps_.driver->DeleteVolume(DeletionOf(*attempt, std::move(volume_id)),
                                                       attempt->migrated);
  why = why.WithContext("failed to translate the created volume to its in-tree plugin");
  if (!deleted.ok()) {
    why = why.WithMessage(
        StrCat(why.message(), ". Deletion of the volume failed: ", deleted.message()));
    co_return ProvisionResult::Failed(kInBackground, std::move(why));
  }
  memory_.Forget(attempt->claim.metadata().uid());
  co_return ProvisionResult::Failed(kFinished, std::move(why));
}

async::Task<ProvisionResult> Provisioner::RejectVolume(const Attempt* attempt,
                                                       std::string volume_id, Status why) {
  Status cleaned = co_await deps_.driver->CleanUpVolume(DeletionOf(*attempt, std::move(volume_id)));
  if (!cleaned.ok()) {
    why = why.WithMessage(StrCat(why.message(), ". Cleanup of volume ", attempt->volume_name,
                                 " failed, volume is orphaned: ", cleaned.message()));
  }
  // Whatever came of the clean-up, the same name is tried again.
  co_return ProvisionResult::Failed(kInBackground, std::move(why));
}

}  // namespace csinative::provisioner
