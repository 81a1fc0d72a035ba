// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/event_filter.h"

#include <algorithm>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/meta/v1/finalizers.h"
#include "cmd/attacher/patches.h"
#include "lib/translation/translate.h"

namespace csinative::attacher {
namespace {

bool HasError(const storage::VolumeAttachment& attachment) {
  return attachment.status().has_attacherror() || attachment.status().has_detacherror();
}

// What has to differ. managedFields are not even in the message.
std::string Essence(storage::VolumeAttachment attachment) {
  attachment.mutable_metadata()->clear_resourceversion();
  storage::VolumeAttachmentStatus* status = attachment.mutable_status();
  status->clear_attacherror();
  status->clear_detacherror();
  status->set_attached(status->attached());
  return attachment.SerializePartialAsString();
}

// Without what a preparation writes.
std::string BeforePreparation(storage::VolumeAttachment attachment, std::string_view finalizer) {
  meta::ObjectMeta* metadata = attachment.mutable_metadata();
  metadata->clear_resourceversion();
  apis::EraseEntry(metadata->mutable_annotations(), apis::kAnnNodeId);
  auto* finalizers = metadata->mutable_finalizers();
  finalizers->erase(std::remove(finalizers->begin(), finalizers->end(), finalizer),
                    finalizers->end());
  return attachment.SerializePartialAsString();
}

}  // namespace

bool NeedsSync(const storage::VolumeAttachment& old_attachment,
               const storage::VolumeAttachment& attachment) {
  // A resync: failing attachments are tried again at once.
  if (old_attachment.metadata().resourceversion() == attachment.metadata().resourceversion()) {
    return true;
  }
  if (!HasError(old_attachment) && !HasError(attachment)) return true;
  return Essence(old_attachment) != Essence(attachment);
}

bool IsPreparation(const storage::VolumeAttachment& old_attachment,
                   const storage::VolumeAttachment& attachment, std::string_view finalizer) {
  const meta::ObjectMeta& before = old_attachment.metadata();
  const meta::ObjectMeta& after = attachment.metadata();
  if (!apis::HasFinalizer(after, finalizer)) return false;
  const std::string* node_id = apis::GetEntry(after.annotations(), apis::kAnnNodeId);
  if (node_id == nullptr) return false;
  const std::string* old_node_id = apis::GetEntry(before.annotations(), apis::kAnnNodeId);
  const bool changed =
      !apis::HasFinalizer(before, finalizer) || old_node_id == nullptr || *old_node_id != *node_id;
  return changed &&
         BeforePreparation(old_attachment, finalizer) == BeforePreparation(attachment, finalizer);
}

bool NeedsSync(const core::PersistentVolume& volume, std::string_view finalizer,
               std::string_view driver) {
  if (!apis::HasFinalizer(volume.metadata(), finalizer)) return false;
  if (volume.metadata().has_deletiontimestamp()) return true;
  return translation::IsMigratable(volume.spec()) && !IsMigratedTo(volume, driver);
}

bool IsMigratedTo(const core::PersistentVolume& volume, std::string_view driver) {
  const std::string* to = apis::GetEntry(volume.metadata().annotations(), apis::kAnnMigratedTo);
  return to != nullptr && *to == driver;
}

}  // namespace csinative::attacher
