// SPDX-License-Identifier: Apache-2.0
//
// Attaches and detaches at the driver, and keeps the finalizers that make both safe (attacher 7, 9,
// 11). Loop only.
//
// A live attachment: finalizer on the volume, finalizer and node id on the attachment, publish,
// status. One that is going away and has the finalizer: unpublish, finalizer off, status. Every
// failure is written to the status and tried again. If the process dies in between, the next one
// repeats the step: drivers are idempotent. When the driver has said that an attachment is not what
// its status says (Force), the same is done although the status says that it is done.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cmd/attacher/attached_volume.h"
#include "cmd/attacher/caches.h"
#include "cmd/attacher/config.h"
#include "cmd/attacher/driver_features.h"
#include "cmd/attacher/handler.h"
#include "cmd/attacher/missing_objects.h"
#include "cmd/attacher/patches.h"
#include "cmd/attacher/requests.h"
#include "lib/base/clock.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"
#include "lib/rpc/channel.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::attacher {

class CsiHandler final : public Handler {
 public:
  // Borrowed parts outlive the handler.
  struct Deps {
    const Clock* clock;
    kube::Client* client;
    rpc::Channel* channel;
    rpc::Channel* migrated_channel;  // for volumes that were of an in-tree plugin
    Caches* caches;
    MissingObjects* missing;
    log::Logger log;
    DriverFeatures features;
    AttachConfig config;
  };
  explicit CsiHandler(Deps deps)
      : deps_(std::move(deps)), finalizer_(FinalizerOf(deps_.features.name)) {}

  async::Task<Status> SyncAttachment(storage::VolumeAttachment attachment) override;
  async::Task<Status> SyncVolume(core::PersistentVolume volume) override;
  void Force(const std::string& attachment) override { forced_.insert(attachment); }
  void Gone(const storage::VolumeAttachment& attachment) override {
    forced_.erase(attachment.metadata().name());
    gone_.erase(attachment.metadata().uid());
  }

 private:
  using Attachment = storage::VolumeAttachment;
  // Whether the driver has said that the attachment's status is wrong.
  enum class Doubt { kNone, kDriverDisagrees };

  // What the driver was asked to publish.
  struct Sent {
    CsiVolume volume;
    std::string node_id;
  };

  async::Task<Status> Attach(Attachment attachment, Doubt doubt);
  // Up to the driver's answer. Fills `sent`, which outlives the task, if the driver was asked.
  async::Task<Result<PublishContext>> Publish(Attachment attachment, std::optional<Sent>* sent);
  async::Task<Result<CsiVolume>> VolumeToAttach(storage::VolumeAttachmentSource source);
  async::Task<Status> Prepare(Attachment attachment, std::string node_id);

  // Whether an object of this name answers for what was published: the attachment itself, or one
  // that has taken its place.
  bool IsAnsweredFor(const Attachment& attachment) const;
  // Unpublishes, once, what no object answers for any more.
  async::Task<void> TakeBack(std::string attachment, Sent sent);

  async::Task<Status> Detach(Attachment attachment, Doubt doubt);
  async::Task<Status> Unpublish(Attachment attachment);
  // Complete but for the node id.
  async::Task<Result<::csi::v1::ControllerUnpublishVolumeRequest>> UnpublishRequestFor(
      core::PersistentVolumeSpec spec);
  async::Task<Status> Send(::csi::v1::ControllerUnpublishVolumeRequest request, bool migrated);
  async::Task<Status> MarkAsDetached(Attachment attachment);

  // Takes the finalizer off; the object as it is then.
  async::Task<Result<Attachment>> Release(Attachment attachment);
  // The API server does not have it any more.
  void NoteGone(const Attachment& attachment);

  // The newest copy of this incarnation; nothing when it is gone.
  std::optional<Attachment> Current(const Attachment& attachment) const;
  async::Task<Result<Attachment>> PatchAttachment(std::string name, std::string body,
                                                  std::string subresource);
  // As NodeIdOf says. Without one, the attachment is tried again when the node has it.
  Result<std::string> NodeIdFor(const Attachment& attachment, RecordedNodeId recorded);
  // The attachment is tried again when its volume comes, if that is what is missing.
  void AwaitVolume(const Attachment& attachment);
  // Into the status, as well as that goes. Returns the failure, Ok if there is nothing to try
  // again.
  async::Task<Status> Report(Attachment attachment, OperationError::Kind kind, Status failure,
                             Doubt doubt);
  rpc::Channel& ChannelFor(bool migrated) const {
    return migrated ? *deps_.migrated_channel : *deps_.channel;
  }

  const Deps deps_;
  const std::string finalizer_;
  std::set<std::string> forced_;  // names of attachments
  // Uids of attachments that went with their finalizer, until the cache knows.
  std::set<std::string> gone_;
};

}  // namespace csinative::attacher
