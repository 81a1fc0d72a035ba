// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/trivial_handler.h"

#include "cmd/attacher/patches.h"

namespace csinative::attacher {

async::Task<Status> TrivialHandler::SyncAttachment(storage::VolumeAttachment attachment) {
  // Upstream: the same for an attachment that is going away but held by somebody's finalizer.
  if (attachment.status().attached()) co_return Status();
  const std::string name = attachment.metadata().name();
  auto marked = co_await client_.Patch<storage::VolumeAttachment>(
      {"", name}, kube::PatchType::kMerge, MarkAttached(attachment.status(), {}), "status");
  if (!marked.ok()) {
    log_.Error(marked.status(), "Failed to mark the attachment as attached", "VolumeAttachment",
               name);
    co_return marked.status();
  }
  caches_.Remember(*std::move(marked));
  log_.V(2).Info("Marked as attached", "VolumeAttachment", name);
  co_return Status();
}

}  // namespace csinative::attacher
