// SPDX-License-Identifier: Apache-2.0
//
// Attaches and detaches at the driver, and keeps the finalizers that make both safe (attacher 7, 9,
// 11). Loop only.
//
// A live attachment: finalizer on the volume, finalizer and node id on the attachment, publish,
// status. One that is going away and has the finalizer: unpublish, finalizer off, status. Every
// failure is written to the status and tried again. If the process dies in between, the next one
// repeats the step: drivers are idempotent.
#pragma once

#include <string>
#include <utility>

#include "cmd/attacher/caches.h"
#include "cmd/attacher/config.h"
#include "cmd/attacher/driver_features.h"
#include "cmd/attacher/handler.h"
#include "cmd/attacher/patches.h"
#include "lib/base/clock.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"
#include "lib/rpc/channel.h"

namespace csinative::attacher {

class CsiHandler final : public Handler {
 public:
  // Borrowed parts outlive the handler.
  struct Deps {
    const Clock* clock;
    kube::Client* client;
    rpc::Channel* channel;
    Caches* caches;
    log::Logger log;
    DriverFeatures features;
    AttachConfig config;
  };
  explicit CsiHandler(Deps deps)
      : deps_(std::move(deps)), finalizer_(FinalizerOf(deps_.features.name)) {}

  async::Task<Status> SyncAttachment(storage::VolumeAttachment attachment) override;
  async::Task<Status> SyncVolume(core::PersistentVolume volume) override;

 private:
  using Attachment = storage::VolumeAttachment;

  async::Task<Status> Attach(Attachment attachment);
  // Up to the driver's answer.
  async::Task<Result<PublishContext>> Publish(Attachment attachment);
  async::Task<Result<core::PersistentVolumeSpec>> SpecToAttach(
      storage::VolumeAttachmentSource source);
  async::Task<Status> Prepare(Attachment attachment, std::string node_id);

  async::Task<Status> Detach(Attachment attachment);
  async::Task<Status> Unpublish(Attachment attachment);
  Result<core::PersistentVolumeSpec> SpecToDetach(
      const storage::VolumeAttachmentSource& source) const;
  async::Task<Status> MarkAsDetached(Attachment attachment);

  // The newest copy of this incarnation; nothing when it is gone.
  std::optional<Attachment> Current(const Attachment& attachment) const;
  async::Task<Result<Attachment>> PatchAttachment(std::string name, std::string body,
                                                  std::string subresource);
  // Into the status, as well as that goes. Returns the failure.
  async::Task<Status> Report(Attachment attachment, OperationError::Kind kind, Status failure);

  const Deps deps_;
  const std::string finalizer_;
};

}  // namespace csinative::attacher
