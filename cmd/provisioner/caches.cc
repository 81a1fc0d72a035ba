// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/caches.h"

#include <algorithm>
#include <array>
#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/meta/v1/finalizers.h"
#include "cmd/provisioner/claim_hold.h"
#include "cmd/provisioner/data_source.h"
#include "lib/base/strings.h"
#include "lib/translation/translate.h"

namespace csinative::provisioner {
namespace {

constexpr char kUidIndex[] = "uid";
constexpr char kCloneIndex[] = "clone-source";
constexpr char kRestoreIndex[] = "snapshot";
constexpr char kVolumeIndex[] = "volume";
constexpr char kNamespaceIndex[] = "namespace";

// The library lowers the resync of what it handles to 15 minutes, the rest keeps the factory's hour
// (provisioner 4.1).
constexpr Duration kHandledResync = std::chrono::minutes(15);

// Labels, owners and times of every kind are read by nobody here.
void PruneMetadata(meta::ObjectMeta* metadata) {
  metadata->clear_labels();
  metadata->clear_ownerreferences();
  metadata->clear_creationtimestamp();
  metadata->clear_generation();
  metadata->clear_generatename();
  metadata->clear_selflink();
}

void PruneClass(storage::StorageClass* klass) {
  PruneMetadata(klass->mutable_metadata());
  klass->mutable_metadata()->clear_annotations();
}

void PruneAttachment(storage::VolumeAttachment* attachment) {
  PruneMetadata(attachment->mutable_metadata());
  attachment->mutable_metadata()->clear_annotations();
  attachment->mutable_metadata()->clear_finalizers();
  attachment->mutable_spec()->mutable_source()->clear_inlinevolumespec();
  attachment->clear_status();
}

void PruneNode(core::Node* node) {
  meta::ObjectMeta kept;
  kept.set_name(node->metadata().name());
  kept.set_resourceversion(node->metadata().resourceversion());
  kept.mutable_labels()->Swap(node->mutable_metadata()->mutable_labels());
  node->mutable_metadata()->Swap(&kept);
  node->clear_spec();
  node->clear_status();
}

void PruneCsiNode(storage::CSINode* node, const std::string& driver) {
  PruneMetadata(node->mutable_metadata());
  node->mutable_metadata()->clear_annotations();
  node->clear_status();
  auto* drivers = node->mutable_spec()->mutable_drivers();
  for (int i = drivers->size() - 1; i >= 0; --i) {
    if ((*drivers)[i].name() != driver) drivers->DeleteSubrange(i, 1);
  }
}

void PruneGrant(gateway::ReferenceGrant* grant) {
  PruneMetadata(grant->mutable_metadata());
  grant->mutable_metadata()->clear_annotations();
}

// Topology as Node and CSINode objects tell it.
class InformerTopology final : public NodeTopology {
 public:
  InformerTopology(kube::Informer<core::Node>& nodes, kube::Informer<storage::CSINode>& csi_nodes)
      : nodes_(nodes), csi_nodes_(csi_nodes) {}

  std::optional<TopologyKeys> KeysOf(std::string_view node) const override {
    const std::optional<storage::CSINode> found = csi_nodes_.Get(node);
    if (!found) return std::nullopt;
    return Keys(*found);
  }

  std::vector<TopologyKeys> AllKeys() const override {
    std::vector<TopologyKeys> all;
    csi_nodes_.ForEach([&](const storage::CSINode& node) {
      TopologyKeys keys = Keys(node);
      if (!keys.empty()) all.push_back(std::move(keys));
      return true;
    });
    return all;
  }

  std::optional<NodeLabels> LabelsOf(std::string_view node) const override {
    const std::optional<core::Node> found = nodes_.Get(node);
    if (!found) return std::nullopt;
    return Labels(*found);
  }

  std::vector<NodeLabels> LabelsWith(const TopologyKeys& keys) const override {
    std::vector<NodeLabels> all;
    nodes_.ForEach([&](const core::Node& node) {
      const auto& labels = node.metadata().labels();
      const bool has_all = std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
        return apis::HasEntry(labels, key);
      });
      if (has_all) all.push_back(Labels(node));
      return true;
    });
    return all;
  }

 private:
  // The cache keeps only the entry of this driver.
  static TopologyKeys Keys(const storage::CSINode& node) {
    if (node.spec().drivers().empty()) return {};
    const auto& keys = node.spec().drivers(0).topologykeys();
    return {keys.begin(), keys.end()};
  }
  static NodeLabels Labels(const core::Node& node) {
    NodeLabels labels;
    for (const auto& entry : node.metadata().labels()) labels[entry.key()] = entry.value();
    return labels;
  }

  kube::Informer<core::Node>& nodes_;
  kube::Informer<storage::CSINode>& csi_nodes_;
};

}  // namespace

void PruneClaim(core::PersistentVolumeClaim* claim) {
  PruneMetadata(claim->mutable_metadata());
  const std::string phase = claim->status().phase();
  claim->clear_status();
  if (!phase.empty()) claim->mutable_status()->set_phase(phase);
  // Until it is bound, templates may ask for any annotation. Afterwards only a clone of it, or its
  // deletion as the source of one, is of interest.
  if (claim->spec().volumename().empty() || phase != apis::kClaimBound) return;
  claim->mutable_metadata()->clear_annotations();
  core::PersistentVolumeClaimSpec* spec = claim->mutable_spec();
  spec->clear_accessmodes();
  spec->clear_selector();
  spec->mutable_resources()->clear_limits();
  spec->clear_volumemode();
  spec->clear_datasource();
  spec->clear_datasourceref();
  spec->clear_volumeattributesclassname();
}

void PruneVolume(core::PersistentVolume* volume) {
  // Its translation reads more of a volume of an in-tree plugin.
  const bool in_tree = translation::IsMigratable(volume->spec());
  meta::ObjectMeta* metadata = volume->mutable_metadata();
  apis::Entries<apis::StringEntry> labels;
  if (in_tree) {
    labels = metadata->labels();
    apis::KeepEntries(&labels, translation::IsReadLabel);
  }
  PruneMetadata(metadata);
  metadata->mutable_labels()->Swap(&labels);
  apis::KeepEntries(metadata->mutable_annotations(), [in_tree](std::string_view key) {
    constexpr std::array kRead{apis::kAnnProvisionedBy, apis::kAnnMigratedTo,
                               apis::kAnnBetaStorageClass, apis::kAnnDeletionSecretName,
                               apis::kAnnDeletionSecretNamespace};
    return std::ranges::find(kRead, key) != kRead.end() ||
           (in_tree && translation::IsReadAnnotation(key));
  });
  const std::string phase = volume->status().phase();
  volume->clear_status();
  if (!phase.empty()) volume->mutable_status()->set_phase(phase);
  core::PersistentVolumeSpec* spec = volume->mutable_spec();
  spec->clear_capacity();
  spec->clear_accessmodes();
  spec->clear_mountoptions();
  spec->clear_volumemode();
  spec->clear_nodeaffinity();
  spec->clear_volumeattributesclassname();
  if (!spec->persistentvolumesource().has_csi()) {
    if (!in_tree) spec->clear_persistentvolumesource();
  } else {
    core::CSIPersistentVolumeSource kept;
    auto* csi = spec->mutable_persistentvolumesource()->mutable_csi();
    kept.set_driver(csi->driver());
    kept.set_volumehandle(csi->volumehandle());
    csi->Swap(&kept);
  }
  if (spec->has_claimref()) {
    core::ObjectReference kept;
    kept.set_namespace_(spec->claimref().namespace_());
    kept.set_name(spec->claimref().name());
    kept.set_uid(spec->claimref().uid());
    spec->mutable_claimref()->Swap(&kept);
  }
}

Caches::Caches(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log,
               Options options)
    : options_(std::move(options)),
      claims_(loop, random, client, log, {.resync = kHandledResync}),
      volumes_(loop, random, client, log, {.resync = kHandledResync}),
      classes_(loop, random, client, log, {}) {
  claims_.set_prune(PruneClaim);
  claims_.AddIndex(
      kUidIndex, [held = options_.hold_finalizer](const core::PersistentVolumeClaim& claim) {
        std::vector<std::string> values;
        if (claim.spec().volumename().empty() || apis::HasFinalizer(claim.metadata(), held)) {
          values.push_back(claim.metadata().uid());
        }
        return values;
      });
  if (options_.index_clones) {
    claims_.AddIndex(kCloneIndex, [](const core::PersistentVolumeClaim& claim) {
      std::vector<std::string> values;
      if (claim.status().phase() != apis::kClaimPending) return values;
      if (auto source = ReferencedClaim(claim)) values.push_back(*std::move(source));
      return values;
    });
  }
  if (options_.index_restores) {
    claims_.AddIndex(kRestoreIndex, [](const core::PersistentVolumeClaim& claim) {
      std::vector<std::string> values;
      const std::string& phase = claim.status().phase();
      if (!phase.empty() && phase != apis::kClaimPending) return values;
      if (auto snapshot = ReferencedSnapshot(claim)) values.push_back(*std::move(snapshot));
      return values;
    });
  }
  volumes_.set_prune(PruneVolume);
  classes_.set_prune(PruneClass);
  if (options_.watch_attachments) {
    attachments_ =
        std::make_unique<kube::Informer<storage::VolumeAttachment>>(loop, random, client, log);
    attachments_->set_prune(PruneAttachment);
    attachments_->AddIndex(kVolumeIndex, [](const storage::VolumeAttachment& attachment) {
      std::vector<std::string> values;
      const auto& source = attachment.spec().source();
      if (source.has_persistentvolumename()) values.push_back(source.persistentvolumename());
      return values;
    });
  }
  if (options_.watch_nodes) {
    nodes_ = std::make_unique<kube::Informer<core::Node>>(loop, random, client, log);
    nodes_->set_prune(PruneNode);
    csi_nodes_ = std::make_unique<kube::Informer<storage::CSINode>>(loop, random, client, log);
    csi_nodes_->set_prune(
        [driver = options_.driver](storage::CSINode* node) { PruneCsiNode(node, driver); });
    node_topology_ = std::make_unique<InformerTopology>(*nodes_, *csi_nodes_);
  }
  if (options_.watch_grants) AddGrants(loop, random, client, log);
}

void Caches::AddGrants(async::EventLoop& loop, Random& random, kube::Client& client,
                       log::Logger log) {
  grants_ = std::make_unique<kube::Informer<gateway::ReferenceGrant>>(loop, random, client, log);
  grants_->set_prune(PruneGrant);
  grants_->AddIndex(kNamespaceIndex, [](const gateway::ReferenceGrant& grant) {
    return std::vector<std::string>{grant.metadata().namespace_()};
  });
}

std::optional<core::PersistentVolumeClaim> Caches::UnboundClaim(const std::string& uid) const {
  std::vector<core::PersistentVolumeClaim> found = claims_.ByIndex(kUidIndex, uid);
  if (found.size() != 1) return std::nullopt;
  return std::move(found.front());
}

std::vector<core::PersistentVolumeClaim> Caches::PendingClonesOf(std::string_view key) const {
  return claims_.ByIndex(kCloneIndex, key);
}

std::vector<core::PersistentVolumeClaim> Caches::PendingRestoresOf(
    std::string_view snapshot_key) const {
  return claims_.ByIndex(kRestoreIndex, snapshot_key);
}

std::optional<std::vector<gateway::ReferenceGrant>> Caches::GrantsIn(std::string_view ns) const {
  if (!grants_ || !grants_->synced()) return std::nullopt;
  return grants_->ByIndex(kNamespaceIndex, ns);
}

std::optional<std::string> Caches::AttachedNode(std::string_view volume) const {
  if (!attachments_) return std::nullopt;
  const auto found = attachments_->ByIndex(kVolumeIndex, volume);
  if (found.empty()) return std::nullopt;
  return found.front().spec().nodename();
}

void Caches::Start(async::Scope* scope) {
  scope->Spawn(claims_.Run());
  scope->Spawn(volumes_.Run());
  scope->Spawn(classes_.Run());
  if (attachments_) scope->Spawn(attachments_->Run());
  if (nodes_) scope->Spawn(nodes_->Run());
  if (csi_nodes_) scope->Spawn(csi_nodes_->Run());
  if (grants_) scope->Spawn(grants_->Run());
}

async::Task<Status> Caches::WaitForSync() {
  CSI_CO_RETURN_IF_ERROR(co_await claims_.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await volumes_.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await classes_.WaitForSync());
  if (attachments_) CSI_CO_RETURN_IF_ERROR(co_await attachments_->WaitForSync());
  if (nodes_) CSI_CO_RETURN_IF_ERROR(co_await nodes_->WaitForSync());
  if (csi_nodes_) CSI_CO_RETURN_IF_ERROR(co_await csi_nodes_->WaitForSync());
  co_return Status();
}

}  // namespace csinative::provisioner
