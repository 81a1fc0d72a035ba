// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/volume_spec.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/meta/v1/labels.h"
#include "cmd/volumemanager/paths.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

constexpr char kPersistentText[] = "Persistent";
constexpr char kEphemeralText[] = "Ephemeral";

std::map<std::string, std::string> ToMap(const apis::Entries<apis::StringEntry>& entries) {
  std::map<std::string, std::string> out;
  for (const auto& entry : entries) out[entry.key()] = entry.value();
  return out;
}

std::optional<kube::ObjectName> Reference(bool present, const core::SecretReference& secret) {
  if (!present) return std::nullopt;
  return kube::ObjectName{secret.namespace_(), secret.name()};
}

Result<apis::SelectorOperator> OperatorOf(const std::string& text) {
  if (text == "In") return apis::SelectorOperator::kIn;
  if (text == "NotIn") return apis::SelectorOperator::kNotIn;
  if (text == "Exists") return apis::SelectorOperator::kExists;
  if (text == "DoesNotExist") return apis::SelectorOperator::kDoesNotExist;
  if (text == "Gt") return apis::SelectorOperator::kGreaterThan;
  if (text == "Lt") return apis::SelectorOperator::kLessThan;
  return InvalidArgumentError(StrCat("\"", text, "\" is not a valid node selector operator"));
}

bool Matches(const core::NodeSelectorTerm& term, const meta::ObjectMeta& node) {
  // An empty term matches nothing; fields of the node cannot be selected here.
  if (term.matchexpressions().empty() || !term.matchfields().empty()) return false;
  for (const core::NodeSelectorRequirement& wanted : term.matchexpressions()) {
    const auto op = OperatorOf(wanted.operator_());
    if (!op.ok()) return false;
    apis::LabelRequirement requirement;
    requirement.key = wanted.key();
    requirement.op = *op;
    requirement.values.assign(wanted.values().begin(), wanted.values().end());
    if (!requirement.Matches(apis::GetEntry(node.labels(), wanted.key()))) return false;
  }
  return true;
}

template <typename Container>
void AddUse(const Container& container, const std::string& volume, VolumeUse* use) {
  for (const core::VolumeMount& mount : container.volumemounts()) {
    if (mount.name() == volume) use->mounted = true;
  }
  for (const core::VolumeDevice& device : container.volumedevices()) {
    if (device.name() == volume) use->device = true;
  }
}

const std::string& At(const mount::VolumeData& data, const char* key) {
  static const std::string kNone;
  const auto found = data.find(key);
  return found == data.end() ? kNone : found->second;
}

}  // namespace

PodFacts FactsOf(const core::Pod& pod) {
  PodFacts facts;
  facts.ns = pod.metadata().namespace_();
  facts.name = pod.metadata().name();
  facts.uid = pod.metadata().uid();
  facts.service_account = pod.spec().serviceaccountname();
  const core::PodSecurityContext& security = pod.spec().securitycontext();
  if (security.has_fsgroup()) facts.fs_group = static_cast<uint32_t>(security.fsgroup());
  if (security.fsgroupchangepolicy() == "OnRootMismatch") {
    facts.change = mount::OwnershipChange::kOnRootMismatch;
  }
  return facts;
}

std::string UniqueNameOf(const VolumeSpec& spec, const std::string& pod_uid) {
  return spec.inline_volume() ? UniqueInlineName(pod_uid, spec.name)
                              : UniqueVolumeName(spec.driver, spec.handle);
}

Result<VolumeSpec> SpecOf(const core::PersistentVolume& volume, bool read_only) {
  const core::PersistentVolumeSpec& from = volume.spec();
  const core::CSIPersistentVolumeSource& csi = from.persistentvolumesource().csi();
  VolumeSpec spec;
  spec.name = volume.metadata().name();
  spec.mode =
      from.volumemode() == apis::kVolumeModeBlock ? VolumeMode::kBlock : VolumeMode::kFilesystem;
  spec.driver = csi.driver();
  spec.handle = csi.volumehandle();
  // Of the pod; the volume's own flag is not looked at (volumemanager-csi 4).
  spec.read_only = read_only;
  spec.access_modes.assign(from.accessmodes().begin(), from.accessmodes().end());
  spec.fs_type = csi.fstype();
  spec.mount_options.assign(from.mountoptions().begin(), from.mountoptions().end());
  spec.attributes = ToMap(csi.volumeattributes());
  spec.stage_secret = Reference(csi.has_nodestagesecretref(), csi.nodestagesecretref());
  spec.publish_secret = Reference(csi.has_nodepublishsecretref(), csi.nodepublishsecretref());
  spec.has_node_affinity = from.nodeaffinity().has_required();
  if (spec.has_node_affinity) spec.node_affinity = from.nodeaffinity().required();
  CSI_RETURN_IF_ERROR(CheckPathParts(spec.driver, spec.handle, spec.name));
  return spec;
}

Result<VolumeSpec> SpecOf(const core::Volume& volume, const PodFacts& pod) {
  const core::CSIVolumeSource& csi = volume.volumesource().csi();
  VolumeSpec spec;
  spec.name = volume.name();
  spec.lifecycle = Lifecycle::kEphemeral;
  spec.driver = csi.driver();
  spec.handle = InlineHandle(pod.uid, volume.name());
  spec.read_only = csi.readonly();
  spec.fs_type = csi.fstype();
  spec.attributes = ToMap(csi.volumeattributes());
  if (csi.has_nodepublishsecretref()) {
    spec.publish_secret = kube::ObjectName{pod.ns, csi.nodepublishsecretref().name()};
  }
  CSI_RETURN_IF_ERROR(CheckPathParts(spec.driver, spec.handle, spec.name));
  return spec;
}

mount::VolumeData DataOf(const VolumeSpec& spec, const std::string& node) {
  mount::VolumeData data{
      {mount::volume_data::kSpecName, spec.name},
      {mount::volume_data::kHandle, spec.handle},
      {mount::volume_data::kDriver, spec.driver},
      {mount::volume_data::kNode, node},
      {mount::volume_data::kAttachment, AttachmentName(spec.handle, spec.driver, node)}};
  if (!spec.block()) {
    data[mount::volume_data::kLifecycle] = spec.inline_volume() ? kEphemeralText : kPersistentText;
  }
  return data;
}

mount::VolumeData StagedDataOf(const VolumeSpec& spec) {
  return {{mount::volume_data::kHandle, spec.handle}, {mount::volume_data::kDriver, spec.driver}};
}

Result<VolumeSpec> SpecFromData(const mount::VolumeData& data, VolumeMode mode,
                                const std::string& pod_uid) {
  VolumeSpec spec;
  spec.name = At(data, mount::volume_data::kSpecName);
  spec.driver = At(data, mount::volume_data::kDriver);
  spec.handle = At(data, mount::volume_data::kHandle);
  spec.mode = mode;
  if (mode == VolumeMode::kFilesystem &&
      At(data, mount::volume_data::kLifecycle) == kEphemeralText) {
    spec.lifecycle = Lifecycle::kEphemeral;
    if (spec.handle.empty()) spec.handle = InlineHandle(pod_uid, spec.name);
  }
  CSI_RETURN_IF_ERROR(CheckPathParts(spec.driver, spec.handle, spec.name));
  return spec;
}

Result<VolumeSpec> SpecFromStagedData(const mount::VolumeData& data) {
  VolumeSpec spec;
  spec.driver = At(data, mount::volume_data::kDriver);
  spec.handle = At(data, mount::volume_data::kHandle);
  // The name is not known, and does not appear in the paths of a staged filesystem.
  spec.name = spec.driver;
  CSI_RETURN_IF_ERROR(CheckPathParts(spec.driver, spec.handle, spec.name));
  return spec;
}

Status CheckNodeAffinity(const VolumeSpec& spec, const meta::ObjectMeta& node) {
  if (!spec.has_node_affinity) return Status();
  for (const core::NodeSelectorTerm& term : spec.node_affinity.nodeselectorterms()) {
    if (Matches(term, node)) return Status();
  }
  return FailedPreconditionError("no matching NodeSelectorTerms");
}

VolumeUse UseOf(const core::Pod& pod, const std::string& volume) {
  VolumeUse use;
  for (const auto& container : pod.spec().initcontainers()) AddUse(container, volume, &use);
  for (const auto& container : pod.spec().containers()) AddUse(container, volume, &use);
  for (const auto& container : pod.spec().ephemeralcontainers()) {
    AddUse(container.ephemeralcontainercommon(), volume, &use);
  }
  return use;
}

}  // namespace csinative::volumemanager
