// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/caches.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/async/timeout.h"
#include "lib/translation/translate.h"

namespace csinative::attacher {
namespace {

constexpr char kVolumeIndex[] = "volume";
constexpr char kOursIndex[] = "ours";
constexpr char kOurs[] = "yes";

// Much longer than a list takes, and shorter than what anybody who waits for a detach would call an
// outage.
constexpr Duration kCsiNodesPatience = std::chrono::seconds(10);

// Labels, owners and times of every kind are read by nobody here.
void PruneMetadata(meta::ObjectMeta* metadata) {
  metadata->clear_labels();
  metadata->clear_ownerreferences();
  metadata->clear_creationtimestamp();
  metadata->clear_generation();
  metadata->clear_generatename();
  metadata->clear_selflink();
}

// All of our own is kept: its changes decide on what is queued (attacher 6.1).
void PruneAttachment(storage::VolumeAttachment* attachment, const std::string& driver) {
  if (attachment->spec().attacher() == driver) return;
  PruneMetadata(attachment->mutable_metadata());
  attachment->mutable_metadata()->clear_annotations();
  attachment->mutable_metadata()->clear_finalizers();
  attachment->mutable_spec()->clear_nodename();
  attachment->mutable_spec()->mutable_source()->clear_inlinevolumespec();
  attachment->clear_status();
}

// Of volumes of in-tree plugins, what their translation reads is kept.
void PruneVolume(core::PersistentVolume* volume) {
  meta::ObjectMeta* metadata = volume->mutable_metadata();
  core::PersistentVolumeSpec* spec = volume->mutable_spec();
  if (translation::IsMigratable(volume->spec())) {
    apis::Entries<apis::StringEntry> labels = metadata->labels();
    apis::KeepEntries(&labels, translation::IsReadLabel);
    PruneMetadata(metadata);
    metadata->mutable_labels()->Swap(&labels);
    apis::KeepEntries(metadata->mutable_annotations(), [](std::string_view key) {
      return key == apis::kAnnMigratedTo || translation::IsReadAnnotation(key);
    });
    core::ObjectReference claim;
    claim.set_namespace_(spec->claimref().namespace_());
    *spec->mutable_claimref() = std::move(claim);
  } else {
    PruneMetadata(metadata);
    metadata->clear_annotations();
    spec->clear_claimref();
  }
  spec->clear_capacity();
  spec->clear_persistentvolumereclaimpolicy();
  spec->clear_storageclassname();
  spec->clear_nodeaffinity();
  spec->clear_volumeattributesclassname();
  volume->clear_status();
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

template <typename T>
void KeepCurrent(kube::Informer<T>* cache, RecentObjects<T>* recent) {
  cache->AddHandler(
      {.on_add = [recent](const T& object, kube::AddKind) { recent->Seen(object); },
       .on_update = [recent](const T&, const T& object) { recent->Seen(object); },
       .on_delete = [recent](const T& object) { recent->Gone(object.metadata().name()); }});
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool IsOlderVersion(std::string_view version, std::string_view than) {
  if (!IsNumber(version) || !IsNumber(than)) return false;
  if (version.size() != than.size()) return version.size() < than.size();
  return version < than;
}

Caches::Caches(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log,
               Options options)
    : options_(std::move(options)),
      attachments_(loop, random, client, log, {.resync = options_.resync}),
      recent_attachments_(attachments_) {
  const std::string driver = options_.driver;
  attachments_.set_prune(
      [driver](storage::VolumeAttachment* attachment) { PruneAttachment(attachment, driver); });
  KeepCurrent(&attachments_, &recent_attachments_);
  if (options_.list_ours) {
    attachments_.AddIndex(kOursIndex, [driver](const storage::VolumeAttachment& attachment) {
      std::vector<std::string> values;
      if (attachment.spec().attacher() == driver) values.emplace_back(kOurs);
      return values;
    });
  }
  if (!options_.watch_volumes) return;
  attachments_.AddIndex(kVolumeIndex, [](const storage::VolumeAttachment& attachment) {
    std::vector<std::string> names;
    const auto& source = attachment.spec().source();
    if (source.has_persistentvolumename()) names.push_back(source.persistentvolumename());
    return names;
  });
  volumes_ = std::make_unique<kube::Informer<core::PersistentVolume>>(
      loop, random, client, log, kube::InformerOptions{.resync = options_.resync});
  volumes_->set_prune(PruneVolume);
  recent_volumes_ = std::make_unique<RecentObjects<core::PersistentVolume>>(*volumes_);
  KeepCurrent(volumes_.get(), recent_volumes_.get());
  csi_nodes_ = std::make_unique<kube::Informer<storage::CSINode>>(loop, random, client, log);
  csi_nodes_->set_prune([driver](storage::CSINode* node) { PruneCsiNode(node, driver); });
}

bool Caches::HasAttachmentOf(std::string_view volume) const {
  return !attachments_.KeysByIndex(kVolumeIndex, volume).empty();
}

std::vector<std::string> Caches::Ours() const {
  return attachments_.KeysByIndex(kOursIndex, kOurs);
}

size_t Caches::remembered() const {
  return recent_attachments_.size() + (recent_volumes_ ? recent_volumes_->size() : 0);
}

void Caches::Start(async::Scope* scope) {
  scope->Spawn(attachments_.Run());
  if (volumes_) scope->Spawn(volumes_->Run());
  if (csi_nodes_) scope->Spawn(csi_nodes_->Run());
}

async::Task<Status> Caches::WaitForSync() {
  CSI_CO_RETURN_IF_ERROR(co_await attachments_.WaitForSync());
  if (volumes_) CSI_CO_RETURN_IF_ERROR(co_await volumes_->WaitForSync());
  if (csi_nodes_) {
    (void)co_await async::WithTimeout(kCsiNodesPatience, csi_nodes_->WaitForSync());
  }
  co_return co_await async::CancellationStatus();
}

}  // namespace csinative::attacher
