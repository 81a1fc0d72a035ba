// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/csi_handler.h"

#include "apis/meta/v1/finalizers.h"
#include "cmd/attacher/event_filter.h"
#include "cmd/attacher/secrets.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"
#include "lib/csi/final_answer.h"
#include "lib/kube/errors.h"

namespace csinative::attacher {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::csi::v1::ControllerUnpublishVolumeRequest;

namespace {

// How often a finalizer is taken off anew from an object that others have changed.
constexpr int kReleases = 4;

// Whether the volume may be at the node after this answer.
bool MayBePublished(const Status& answer) { return answer.ok() || !csi::IsFinalAnswer(answer); }

}  // namespace

async::Task<Status> CsiHandler::SyncAttachment(Attachment attachment) {
  const bool forced = forced_.erase(attachment.metadata().name()) > 0;
  const Doubt doubt = forced ? Doubt::kDriverDisagrees : Doubt::kNone;
  if (attachment.metadata().has_deletiontimestamp()) {
    co_return co_await Detach(std::move(attachment), doubt);
  }
  co_return co_await Attach(std::move(attachment), doubt);
}

std::optional<storage::VolumeAttachment> CsiHandler::Current(const Attachment& attachment) const {
  auto current = deps_.caches->Attachment(attachment.metadata().name());
  if (current && current->metadata().uid() != attachment.metadata().uid()) current.reset();
  return current;
}

async::Task<Result<storage::VolumeAttachment>> CsiHandler::PatchAttachment(
    std::string name, std::string body, std::string subresource) {
  auto patched = co_await deps_.client->Patch<Attachment>(
      {"", std::move(name)}, kube::PatchType::kMerge, std::move(body), std::move(subresource));
  if (patched.ok()) deps_.caches->Remember(*patched);
  co_return std::move(patched);
}

Result<std::string> CsiHandler::NodeIdFor(const Attachment& attachment, RecordedNodeId recorded) {
  const std::string& node = attachment.spec().nodename();
  auto id = NodeIdOf(attachment, deps_.caches->CsiNode(node), deps_.features.name, recorded);
  // Of an attachment that has gone nobody would take the note away.
  if (!id.ok() && Current(attachment)) {
    deps_.missing->Note(attachment.metadata().name(), MissingObjects::Kind::kCsiNode, node);
  }
  return id;
}

void CsiHandler::AwaitVolume(const Attachment& attachment) {
  const auto& source = attachment.spec().source();
  if (!source.has_persistentvolumename() || source.has_inlinevolumespec()) return;
  const std::string& volume = source.persistentvolumename();
  if (deps_.caches->Volume(volume) || !Current(attachment)) return;
  deps_.missing->Note(attachment.metadata().name(), MissingObjects::Kind::kVolume, volume);
}

// --- attach --------------------------------------------------------------------------------------

async::Task<Status> CsiHandler::Attach(Attachment attachment, Doubt doubt) {
  const std::string name = attachment.metadata().name();
  if (attachment.status().attached() && doubt == Doubt::kNone) co_return Status();
  deps_.log.V(2).Info("Starting attach operation", "VolumeAttachment", name);
  std::optional<Sent> sent;
  auto published = co_await Publish(attachment, &sent);
  if (sent && MayBePublished(published.status()) && !IsAnsweredFor(attachment)) {
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    co_await TakeBack(name, *std::move(sent));
    co_return Status();
  }
  if (!published.ok()) {
    co_return co_await Report(std::move(attachment), OperationError::Kind::kAttach,
                              published.status(), doubt);
  }
  const std::optional<Attachment> current = Current(attachment);
  if (!current) co_return Status();
  // A failure is not told to the user: the next pass publishes again and finds the same.
  auto marked =
      co_await PatchAttachment(name, MarkAttached(current->status(), *published), "status");
  if (!marked.ok()) {
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    if (kube::IsNotFound(marked.status()) && !kube::IsUnexpectedServerError(marked.status())) {
      // It has gone, and the cache does not know yet.
      co_await TakeBack(name, *std::move(sent));
    } else if (!kube::IsConflict(marked.status())) {
      deps_.log.Error(marked.status(), "Failed to mark the attachment as attached",
                      "VolumeAttachment", name);
    }
    co_return marked.status();
  }
  deps_.log.V(2).Info("Attached", "VolumeAttachment", name);
  co_return Status();
}

async::Task<Result<PublishContext>> CsiHandler::Publish(Attachment attachment,
                                                        std::optional<Sent>* sent) {
  auto volume = co_await VolumeToAttach(attachment.spec().source());
  if (!volume.ok()) {
    AwaitVolume(attachment);
    co_return volume.status();
  }
  rpc::Channel& channel = ChannelFor(volume->migrated);
  auto request = PublishRequest(volume->spec, deps_.config.default_fs_type, deps_.features);
  if (!request.ok()) co_return request.status();
  auto secrets = co_await ReadPublishSecret(deps_.client, volume->spec);
  if (!secrets.ok()) co_return secrets.status();
  FillSecrets(*secrets, request->mutable_secrets());
  CSI_CO_ASSIGN_OR_RETURN(*request->mutable_node_id(),
                          NodeIdFor(attachment, RecordedNodeId::kIgnore));
  CSI_CO_RETURN_IF_ERROR(co_await Prepare(attachment, request->node_id()));
  sent->emplace(*std::move(volume), request->node_id());
  auto response = co_await async::WithTimeout(
      deps_.config.call_timeout,
      csi::Call<ControllerPublishVolumeRequest>(channel, *std::move(request)));
  if (!response.ok()) co_return response.status();
  const auto& context = response->publish_context();
  co_return PublishContext(context.begin(), context.end());
}

async::Task<Result<CsiVolume>> CsiHandler::VolumeToAttach(storage::VolumeAttachmentSource source) {
  CSI_CO_RETURN_IF_ERROR(CheckSource(source));
  if (source.has_inlinevolumespec()) co_return InlineVolumeOf(source);
  const std::string& name = source.persistentvolumename();
  std::optional<core::PersistentVolume> volume = deps_.caches->Volume(name);
  if (!volume) co_return kube::CacheNotFound("persistentvolume", name);
  if (volume->metadata().has_deletiontimestamp()) {
    co_return FailedPreconditionError(
        StrCat("PersistentVolume \"", name, "\" is marked for deletion"));
  }
  if (apis::HasFinalizer(volume->metadata(), finalizer_)) co_return CsiVolumeOf(*std::move(volume));
  auto patched = co_await deps_.client->Patch<core::PersistentVolume>(
      {"", name}, kube::PatchType::kJson, AddVolumeFinalizer(volume->metadata(), finalizer_));
  if (!patched.ok()) {
    co_return patched.status().WithContext("could not add PersistentVolume finalizer");
  }
  deps_.caches->Remember(*patched);
  co_return CsiVolumeOf(*std::move(patched));
}

async::Task<Status> CsiHandler::Prepare(Attachment attachment, std::string node_id) {
  const std::optional<Attachment> current = Current(attachment);
  if (!current) {
    co_return kube::CacheNotFound("volumeattachment", attachment.metadata().name());
  }
  // Differs: upstream publishes, and then unpublishes.
  if (current->metadata().has_deletiontimestamp()) {
    co_return FailedPreconditionError("the VolumeAttachment is being deleted");
  }
  std::optional<std::string> body = PrepareAttachment(current->metadata(), finalizer_, node_id);
  if (!body) co_return Status();
  auto patched = co_await PatchAttachment(attachment.metadata().name(), *std::move(body), "");
  co_return patched.ok() ? Status()
                         : patched.status().WithContext("could not save VolumeAttachment");
}

bool CsiHandler::IsAnsweredFor(const Attachment& attachment) const {
  const auto current = deps_.caches->Attachment(attachment.metadata().name());
  if (!current) return false;
  if (current->metadata().uid() == attachment.metadata().uid()) return true;
  // Control planes make names from volume and node, so a new one is about the same. One that goes
  // away unattended, though, goes without a detach.
  return current->spec().SerializePartialAsString() ==
             attachment.spec().SerializePartialAsString() &&
         (!current->metadata().has_deletiontimestamp() ||
          apis::HasFinalizer(current->metadata(), finalizer_));
}

async::Task<void> CsiHandler::TakeBack(std::string attachment, Sent sent) {
  // Somebody has removed the finalizer by force: nobody else will ever detach the volume.
  const std::string handle = sent.volume.spec.persistentvolumesource().csi().volumehandle();
  deps_.log.Info("The attachment went while it was attached, detaching", "VolumeAttachment",
                 attachment, "volumeHandle", handle, "nodeID", sent.node_id);
  auto request = co_await UnpublishRequestFor(std::move(sent.volume.spec));
  Status unpublished = request.status();
  if (request.ok()) {
    request->set_node_id(sent.node_id);
    unpublished = co_await Send(*std::move(request), sent.volume.migrated);
  }
  if (!unpublished.ok()) {
    deps_.log.Error(unpublished, "The volume of an attachment that has gone may still be attached",
                    "VolumeAttachment", attachment, "volumeHandle", handle, "nodeID", sent.node_id);
  }
}

// --- detach --------------------------------------------------------------------------------------

async::Task<Status> CsiHandler::Detach(Attachment attachment, Doubt doubt) {
  const std::string name = attachment.metadata().name();
  if (gone_.contains(attachment.metadata().uid())) co_return Status();
  // Without the finalizer it counts as detached, whatever the status says: unpublish was done, or
  // publish never tried.
  if (!apis::HasFinalizer(attachment.metadata(), finalizer_) && doubt == Doubt::kNone) {
    co_return Status();
  }
  deps_.log.V(2).Info("Starting detach operation", "VolumeAttachment", name);
  Status detached = co_await Unpublish(attachment);
  if (detached.ok()) {
    detached = co_await MarkAsDetached(attachment);
    if (!detached.ok()) detached = detached.WithContext("could not mark as detached");
  }
  if (!detached.ok()) {
    co_return co_await Report(std::move(attachment), OperationError::Kind::kDetach,
                              std::move(detached), doubt);
  }
  deps_.log.V(2).Info("Detached", "VolumeAttachment", name);
  co_return Status();
}

async::Task<Status> CsiHandler::Unpublish(Attachment attachment) {
  auto volume = VolumeOf(*deps_.caches, attachment.spec().source());
  if (!volume.ok()) {
    AwaitVolume(attachment);
    co_return volume.status();
  }
  const bool migrated = volume->migrated;
  auto request = co_await UnpublishRequestFor(std::move(volume->spec));
  if (!request.ok()) co_return request.status();
  CSI_CO_ASSIGN_OR_RETURN(*request->mutable_node_id(), NodeIdFor(attachment, RecordedNodeId::kUse));
  co_return co_await Send(*std::move(request), migrated);
}

async::Task<Result<ControllerUnpublishVolumeRequest>> CsiHandler::UnpublishRequestFor(
    core::PersistentVolumeSpec spec) {
  ControllerUnpublishVolumeRequest request = UnpublishRequest(spec);
  auto secrets = co_await ReadPublishSecret(deps_.client, std::move(spec));
  if (!secrets.ok()) co_return secrets.status();
  FillSecrets(*secrets, request.mutable_secrets());
  co_return request;
}

async::Task<Status> CsiHandler::Send(ControllerUnpublishVolumeRequest request, bool migrated) {
  auto response = co_await async::WithTimeout(
      deps_.config.call_timeout,
      csi::Call<ControllerUnpublishVolumeRequest>(ChannelFor(migrated), std::move(request)));
  co_return response.ok() ? Status() : response.status();
}

async::Task<Status> CsiHandler::MarkAsDetached(Attachment attachment) {
  const std::string name = attachment.metadata().name();
  std::optional<Attachment> current = Current(attachment);
  if (!current) co_return Status();
  const bool held = apis::HasFinalizer(current->metadata(), finalizer_);
  if (!held && !current->status().attached()) co_return Status();
  if (held) {
    // First the finalizer: should the second write get lost, unpublish is not repeated.
    auto released = co_await Release(*current);
    if (!released.ok() && !kube::IsNotFound(released.status())) co_return released.status();
    if (!released.ok()) {
      NoteGone(*current);
      co_return Status();
    }
    current = *std::move(released);
  }
  auto marked = co_await PatchAttachment(name, MarkDetached(current->status()), "status");
  if (marked.ok()) co_return Status();
  if (!kube::IsNotFound(marked.status())) co_return marked.status();
  // Mostly the object went with its last finalizer.
  NoteGone(*current);
  co_return Status();
}

async::Task<Result<storage::VolumeAttachment>> CsiHandler::Release(Attachment attachment) {
  const std::string name = attachment.metadata().name();
  const std::string uid = attachment.metadata().uid();
  for (int tries = 1;; ++tries) {
    auto released = co_await PatchAttachment(
        name, RemoveAttachmentFinalizer(attachment.metadata(), finalizer_), "");
    if (released.ok() || !kube::IsConflict(released.status()) || tries == kReleases) {
      co_return std::move(released);
    }
    // Somebody else has changed the object, which is no reason to ask the driver once more.
    auto read = co_await deps_.client->Get<Attachment>({"", name});
    if (!read.ok() && !kube::IsNotFound(read.status())) co_return released.status();
    if (!read.ok()) co_return read.status();
    if (read->metadata().uid() != uid) {
      co_return kube::CacheNotFound("volumeattachment", name);
    }
    if (!apis::HasFinalizer(read->metadata(), finalizer_)) co_return std::move(read);
    attachment = *std::move(read);
  }
}

void CsiHandler::NoteGone(const Attachment& attachment) {
  // Otherwise nobody would take the note away.
  if (Current(attachment)) gone_.insert(attachment.metadata().uid());
}

async::Task<Status> CsiHandler::Report(Attachment attachment, OperationError::Kind kind,
                                       Status failure, Doubt doubt) {
  // The process is ending: nobody failed.
  if (Status running = co_await async::CancellationStatus(); !running.ok()) co_return running;
  const std::string name = attachment.metadata().name();
  const bool attach = kind == OperationError::Kind::kAttach;
  deps_.log.V(2).Info("Error processing", "VolumeAttachment", name, "err",
                      failure.WithContext(attach ? "failed to attach" : "failed to detach"));
  const std::optional<Attachment> current = Current(attachment);
  if (!current) co_return failure;
  // Its deletion has queued it for a detach.
  if (attach && current->metadata().has_deletiontimestamp()) co_return Status();
  // Somebody else has changed the object: the next attempt, made from the new one, is soon.
  if (kube::IsConflict(failure)) co_return failure;
  OperationError error{kind, failure.message(), deps_.clock->WallNow(), std::nullopt};
  if (attach && deps_.config.error_codes == ErrorCodes::kSave && failure.rpc_error() != nullptr) {
    error.code = failure.rpc_error()->grpc_code;
  }
  // Differs (external-attacher#215): the driver says that the volume is not on that node, and the
  // node no longer exists, so the volume is not attached; upstream leaves it so, and every other
  // node has to wait.
  error.no_longer_attached = attach && doubt == Doubt::kDriverDisagrees &&
                             deps_.caches->csi_nodes_known() &&
                             !deps_.caches->CsiNode(current->spec().nodename());
  auto saved = co_await PatchAttachment(name, SaveError(current->status(), error), "status");
  if (!saved.ok()) {
    deps_.log.Error(saved.status(), "Failed to save the error to the attachment",
                    "VolumeAttachment", name);
  }
  co_return failure;
}

// --- volumes -------------------------------------------------------------------------------------

async::Task<Status> CsiHandler::SyncVolume(core::PersistentVolume volume) {
  const std::string name = volume.metadata().name();
  if (!NeedsSync(volume, finalizer_, deps_.features.name)) co_return Status();
  // The end of the last attachment queues the volume again. No attachment can follow: attach
  // refuses volumes that are going away.
  if (deps_.caches->HasAttachmentOf(name)) co_return Status();
  auto body = RemoveVolumeFinalizer(volume.metadata(), finalizer_);
  if (!body.ok()) co_return body.status();
  auto patched = co_await deps_.client->Patch<core::PersistentVolume>(
      {"", name}, kube::PatchType::kJson, *std::move(body));
  if (!patched.ok()) {
    if (kube::IsNotFound(patched.status())) co_return Status();
    deps_.log.Error(patched.status(), "Failed to remove the finalizer", "PersistentVolume", name);
    co_return patched.status();
  }
  deps_.caches->Remember(*std::move(patched));
  deps_.log.V(2).Info("Removed the finalizer", "PersistentVolume", name);
  co_return Status();
}

}  // namespace csinative::attacher
