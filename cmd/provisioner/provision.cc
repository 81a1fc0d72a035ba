// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/provision.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/claim_writer.h"
#include "cmd/provisioner/class_parameters.h"
#include "cmd/provisioner/clone_source.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {

using enum ProvisionState;

struct Provisioner::Attempt {
  core::PersistentVolumeClaim claim;
  storage::StorageClass klass;
  std::string selected_node;

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
  Attempt attempt;
  attempt.claim = std::move(claim);
  attempt.klass = std::move(klass);
  attempt.selected_node = std::move(selected_node);
  if (auto ended = Plan(&attempt)) co_return *std::move(ended);
  auto ended = co_await Prepare(&attempt);
  if (ended) co_return *std::move(ended);
  co_return co_await Create(&attempt);
}

std::optional<ProvisionResult> Provisioner::Plan(Attempt* attempt) {
  const core::PersistentVolumeClaim& claim = attempt->claim;
  const auto finished = [](Status status) {
    return ProvisionResult::Failed(kFinished, std::move(status));
  };
  const std::optional<std::string> requested = RequestedProvisioner(claim);
  if (requested != deps_.names.driver && !IsMigratedTo(claim, deps_.names.driver)) {
    return ProvisionResult::Ignored(FailedPreconditionError(
        StrCat("the claim asks for provisioner \"", requested.value_or(""), "\"")));
  }
  auto source =
      NormalizeDataSource(claim, deps_.config.cross_namespace_gate ? CrossNamespace::kAllowed
                                                                   : CrossNamespace::kForbidden);
  if (!source.ok()) return finished(source.status());
  attempt->source = *std::move(source);
  if (attempt->source && attempt->source->ns != claim.metadata().namespace_()) {
    return finished(UnimplementedError(
        StrCat("data source ", attempt->source->ns, "/", attempt->source->name,
               " lies in another namespace, which this build does not support yet")));
  }
  auto type = ClassifyDataSource(attempt->source);
  if (!type.ok()) return finished(type.status());
  attempt->source_type = *type;
  if (attempt->source_type == SourceType::kPopulator) {
    const std::string text = "Assuming an external populator will provision the volume";
    deps_.events.Record(kube::ReferenceTo(claim), kube::EventType::kNormal, "Provisioning", text);
    return ProvisionResult::Ignored(FailedPreconditionError(text));
  }
  if (deps_.config.attributes_class_gate) {
    attempt->attributes_class = claim.spec().volumeattributesclassname();
  }
  if (Status status = CheckCapabilities(*attempt); !status.ok()) return finished(status);
  if (claim.spec().has_selector()) {
    return finished(InvalidArgumentError("claim Selector is not supported"));
  }
  auto name = VolumeName(deps_.config.naming, claim.metadata().uid());
  if (!name.ok()) return finished(name.status());
  attempt->volume_name = *std::move(name);

  attempt->parameters = ParametersOf(attempt->klass.parameters());
  auto fs_type = FsTypeOf(attempt->parameters, deps_.config.default_fs_type);
  if (!fs_type.ok()) return finished(fs_type.status());
  if (fs_type->deprecated) {
    deps_.log.Warningf(
        "\"fstype\" is deprecated and will be removed in a future release, please "
        "use \"csi.storage.k8s.io/fstype\" instead");
  }
  attempt->fs_type = std::move(fs_type->value);
  auto bytes = RequestedBytes(claim);
  if (!bytes.ok()) return finished(bytes.status());
  attempt->requested_bytes = *bytes;
  auto capabilities =
      VolumeCapabilities(claim, attempt->klass, attempt->fs_type,
                         deps_.features.single_node_multi_writer ? csi::SingleNodeMultiWriter::kYes
                                                                 : csi::SingleNodeMultiWriter::kNo);
  if (!capabilities.ok()) return finished(capabilities.status());

  ::csi::v1::CreateVolumeRequest& request = attempt->request;
  request.set_name(attempt->volume_name);
  request.mutable_capacity_range()->set_required_bytes(attempt->requested_bytes);
  for (auto& capability : *capabilities) {
    *request.add_volume_capabilities() = std::move(capability);
  }
  return std::nullopt;
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
  Status usable = volume.ok() ? CheckSourceVolume(attempt->claim, *source, *volume,
                                                  attempt->klass.provisioner())
                              : volume.status();
  if (!usable.ok()) {
    deps_.log.Warningf("the source volume of PVC {} cannot be used: {}", key, usable.message());
    co_return SourceNotUsable();
  }
  attempt->request.mutable_volume_content_source()->mutable_volume()->set_volume_id(
      volume->spec().persistentvolumesource().csi().volumehandle());
  if (HasCloneFinalizer(*source)) co_return Status();
  co_return co_await EditClaim(deps_.client, *source, AppendFinalizer(apis::kFinalizerCloning));
}

async::Task<Status> Provisioner::PrepareSnapshot(Attempt* attempt) {
  auto handle =
      co_await snapshots_.Handle(attempt->claim, *attempt->source, attempt->klass.provisioner());
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
    FillSecrets(*data, attempt->request.mutable_secrets());
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

async::Task<ProvisionResult> Provisioner::Create(Attempt* attempt) {
  const std::string& uid = attempt->claim.metadata().uid();
  auto volume = co_await deps_.driver->CreateVolume(attempt->request);
  if (!volume.ok()) {
    const bool other_node = topology_supported() && !attempt->selected_node.empty();
    const ProvisionState state = StateAfterCreateError(
        volume.status(), other_node ? NodeChoice::kCanChange : NodeChoice::kFixed);
    if (state == kFinished || state == kReschedule) memory_.Forget(uid);
    co_return ProvisionResult::Failed(state, volume.status());
  }

  // Provisioner 10.1.
  const int64_t capacity = volume->capacity_bytes();
  if (capacity != 0 && capacity < attempt->requested_bytes) {
    co_return co_await RejectVolume(
        attempt, volume->volume_id(),
        Status(Code::kOutOfRange,
               StrCat("created volume capacity ", capacity, " less than requested capacity ",
                      attempt->requested_bytes)));
  }
  if (attempt->claim.spec().has_datasource() && !volume->has_content_source()) {
    co_return co_await RejectVolume(attempt, volume->volume_id(),
                                    FailedPreconditionError("volume content source missing"));
  }

  VolumeRecipe recipe;
  recipe.driver = deps_.names.driver;
  recipe.identity = deps_.identity;
  recipe.name = attempt->volume_name;
  recipe.claim = &attempt->claim;
  recipe.klass = &attempt->klass;
  recipe.fs_type = attempt->fs_type;
  recipe.capacity_bytes = capacity != 0 ? capacity : attempt->requested_bytes;
  recipe.read_only = IsReadOnly(*attempt);
  recipe.attributes_class = attempt->attributes_class;
  recipe.secrets = attempt->secrets;
  recipe.volume = &*volume;
  if (topology_supported()) recipe.node_affinity = NodeAffinityOf(*volume);

  ProvisionResult result;
  result.kind = ProvisionResult::Kind::kVolume;
  result.volume = BuildVolume(recipe);
  memory_.Forget(uid);
  if (attempt->claim.spec().datasource().kind() == kSnapshotKind) {
    co_await snapshots_.Release(attempt->claim.metadata().namespace_(),
                                attempt->claim.spec().datasource().name());
  }
  co_return result;
}

bool Provisioner::IsReadOnly(const Attempt& attempt) const {
  return deps_.config.publish_read_only && attempt.request.volume_capabilities_size() == 1 &&
         attempt.request.volume_capabilities(0).access_mode().mode() ==
             ::csi::v1::VolumeCapability::AccessMode::MULTI_NODE_READER_ONLY;
}

async::Task<ProvisionResult> Provisioner::RejectVolume(Attempt* attempt, std::string volume_id,
                                                       Status why) {
  ::csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(std::move(volume_id));
  *request.mutable_secrets() = attempt->request.secrets();
  Status cleaned = co_await deps_.driver->CleanUpVolume(std::move(request));
  if (!cleaned.ok()) {
    why = why.WithMessage(StrCat(why.message(), ". Cleanup of volume ", attempt->volume_name,
                                 " failed, volume is orphaned: ", cleaned.message()));
  }
  // Whatever came of the clean-up, the same name is tried again.
  co_return ProvisionResult::Failed(kInBackground, std::move(why));
}

}  // namespace csinative::provisioner
