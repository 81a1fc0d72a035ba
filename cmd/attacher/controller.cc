// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/controller.h"

#include <utility>

#include "cmd/attacher/csi_handler.h"
#include "cmd/attacher/event_filter.h"
#include "cmd/attacher/patches.h"
#include "cmd/attacher/trivial_handler.h"
#include "lib/async/scope.h"
#include "lib/base/strings.h"

namespace csinative::attacher {
namespace {

kube::WorkQueue::Options QueueOptions(const char* name, const AttachConfig& config,
                                      metrics::WorkQueueMetrics* metrics) {
  return {
      .name = name,
      .limiter = std::make_shared<kube::ExponentialLimiter>(config.retry_start, config.retry_max),
      .metrics = metrics};
}

}  // namespace

AttachController::AttachController(Deps deps)
    : deps_(std::move(deps)),
      finalizer_(FinalizerOf(deps_.features.name)),
      caches_(*deps_.loop, *deps_.random, *deps_.client, deps_.log,
              {.driver = deps_.features.name,
               .resync = deps_.config.resync,
               .watch_volumes = deps_.features.publish_unpublish_volume,
               .list_ours = deps_.features.lists_published_nodes}),
      handler_(ChooseHandler()),
      reconciler_(ChooseReconciler()),
      queue_metrics_(*deps_.registry),
      attachment_queue_(
          *deps_.loop,
          {.queue = QueueOptions("csi-attacher-va", deps_.config, &queue_metrics_),
           .workers = deps_.config.worker_threads,
           .operation = [this](const std::string& name) { return OperationOn(name); }}),
      volume_queue_(*deps_.loop, QueueOptions("csi-attacher-pv", deps_.config, &queue_metrics_)) {
  FeedQueues();
}

std::unique_ptr<Handler> AttachController::ChooseHandler() {
  if (!deps_.features.publish_unpublish_volume) {
    return std::make_unique<TrivialHandler>(*deps_.client, caches_, deps_.log);
  }
  return std::make_unique<CsiHandler>(
      CsiHandler::Deps{deps_.loop, deps_.client, deps_.channel,
                       deps_.migrated_channel != nullptr ? deps_.migrated_channel : deps_.channel,
                       &caches_, &missing_, deps_.log, deps_.features, deps_.config});
}

std::unique_ptr<Reconciler> AttachController::ChooseReconciler() {
  if (!deps_.features.publish_unpublish_volume || !deps_.features.lists_published_nodes) {
    return nullptr;
  }
  return std::make_unique<Reconciler>(
      Reconciler::Deps{.channel = deps_.channel,
                       .caches = &caches_,
                       .log = deps_.log,
                       .driver = deps_.features.name,
                       .timeout = deps_.config.call_timeout,
                       .interval = deps_.config.reconcile_sync,
                       .max_entries = deps_.config.max_entries,
                       .on_difference = [this](const std::string& name) {
                         handler_->Force(name);
                         attachment_queue_.Add(name);
                       }});
}

Operation AttachController::OperationOn(const std::string& attachment) const {
  const auto known = caches_.Attachment(attachment);
  return known && known->metadata().has_deletiontimestamp() ? Operation::kDetach
                                                            : Operation::kAttach;
}

void AttachController::FeedQueues() {
  // Upstream queues attachments of all drivers and drops foreign ones in the worker.
  caches_.attachments().AddHandler(
      {.on_add =
           [this](const storage::VolumeAttachment& attachment, kube::AddKind) {
             if (IsOurs(attachment)) attachment_queue_.Add(attachment.metadata().name());
           },
       .on_update =
           [this](const storage::VolumeAttachment& old_attachment,
                  const storage::VolumeAttachment& attachment) {
             if (IsOurs(attachment) && NeedsSync(old_attachment, attachment) &&
                 !IsPreparation(old_attachment, attachment, finalizer_)) {
               attachment_queue_.Add(attachment.metadata().name());
             }
           },
       .on_delete =
           [this](const storage::VolumeAttachment& attachment) {
             attachment_queue_.Forget(attachment.metadata().name());
             missing_.Forget(attachment.metadata().name());
             handler_->Gone(attachment);
             const auto& source = attachment.spec().source();
             if (caches_.volumes() == nullptr || !source.has_persistentvolumename()) return;
             // A foreign attachment too may have been what kept the finalizer.
             if (const auto volume = caches_.Volume(source.persistentvolumename())) {
               OnVolume(*volume);
             }
           }});
  if (auto* volumes = caches_.volumes()) {
    volumes->AddHandler(
        {.on_add =
             [this](const core::PersistentVolume& volume, kube::AddKind) {
               Wake(MissingObjects::Kind::kVolume, volume.metadata().name());
               OnVolume(volume);
             },
         .on_update = [this](const core::PersistentVolume&,
                             const core::PersistentVolume& volume) { OnVolume(volume); },
         .on_delete =
             [this](const core::PersistentVolume& volume) {
               volume_queue_.Forget(volume.metadata().name());
             }});
  }
  if (auto* nodes = caches_.csi_nodes()) {
    const auto on_node = [this](const storage::CSINode& node) {
      // Entries of other drivers are not in the cache.
      if (node.spec().drivers().empty()) return;
      Wake(MissingObjects::Kind::kCsiNode, node.metadata().name());
    };
    nodes->AddHandler(
        {.on_add = [on_node](const storage::CSINode& node, kube::AddKind) { on_node(node); },
         .on_update = [on_node](const storage::CSINode&,
                                const storage::CSINode& node) { on_node(node); },
         .on_delete = nullptr});
  }
}

void AttachController::Wake(MissingObjects::Kind kind, const std::string& object) {
  for (const std::string& attachment : missing_.Take(kind, object)) {
    attachment_queue_.Forget(attachment);
    attachment_queue_.Add(attachment);
  }
}

void AttachController::OnVolume(const core::PersistentVolume& volume) {
  if (NeedsSync(volume, finalizer_, deps_.features.name)) {
    volume_queue_.Add(volume.metadata().name());
  }
}

async::Task<Status> AttachController::SyncAttachment(std::string name) {
  // What is still queued when the process ends is dropped (attacher 5.3).
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  auto attachment = caches_.Attachment(name);
  if (!attachment || !IsOurs(*attachment)) co_return Status();
  co_return co_await handler_->SyncAttachment(*std::move(attachment));
}

async::Task<Status> AttachController::SyncVolume(std::string name) {
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  auto volume = caches_.Volume(name);
  if (!volume) co_return Status();
  co_return co_await handler_->SyncVolume(*std::move(volume));
}

std::string AttachController::Describe(const std::string& name) const {
  const auto attachment = caches_.Attachment(name);
  if (!attachment) return "";
  const auto& source = attachment->spec().source();
  return StrCat(source.has_persistentvolumename() ? source.persistentvolumename() : "inline volume",
                " on ", attachment->spec().nodename());
}

async::Task<void> AttachController::Run() {
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*deps_.loop, context.cancel);
  deps_.log.Info("Starting CSI attacher");
  caches_.Start(&scope);
  Status synced = co_await caches_.WaitForSync();
  if (synced.ok()) {
    if (!caches_.csi_nodes_known()) {
      deps_.log.Error(nullptr, "Starting without CSINodes, which cannot be listed");
    }
    scope.Spawn(attachment_queue_.Run(
        [this](std::string name) { return SyncAttachment(std::move(name)); }));
    scope.Spawn(attachment_queue_.ReportBacklog(deps_.log));
    if (reconciler_) scope.Spawn(reconciler_->Run());
    scope.Spawn(kube::RunWorkers(&volume_queue_, deps_.config.worker_threads,
                                 [this](std::string name) { return SyncVolume(name); }));
  }
  co_await scope.Join();
}

}  // namespace csinative::attacher
