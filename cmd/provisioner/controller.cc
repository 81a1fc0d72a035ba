// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/controller.h"

#include <algorithm>
#include <utility>

#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/data_source.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {

ProvisionController::ProvisionController(Deps deps)
    : deps_(std::move(deps)),
      caches_(
          *deps_.loop, *deps_.random, *deps_.client, deps_.log,
          {.driver = deps_.names.driver,
           .hold_finalizer = HoldFinalizer(deps_.names.driver),
           .watch_attachments = deps_.features.publish_unpublish_volume,
           .watch_nodes = deps_.features.accessibility_constraints && deps_.config.topology_gate,
           .index_clones = deps_.features.clone_volume,
           .index_restores = deps_.features.create_delete_snapshot,
           .watch_grants = deps_.config.cross_namespace_gate}),
      driver_(*deps_.channel,
              deps_.migrated_channel != nullptr ? *deps_.migrated_channel : *deps_.channel,
              deps_.config.call_timeout),
      queue_metrics_(*deps_.registry),
      metrics_(*deps_.registry),
      broadcaster_(*deps_.loop, *deps_.random, *deps_.event_client, deps_.log),
      component_(StrCat(deps_.names.driver, "_", deps_.host_name, "_", deps_.random->Uuid())),
      recorder_(broadcaster_, component_),
      limiter_(std::make_shared<kube::ExponentialLimiter>(deps_.config.retry_start,
                                                          deps_.config.retry_max)),
      claim_queue_(*deps_.loop,
                   {.name = "claims", .limiter = limiter_, .metrics = &queue_metrics_}),
      volume_queue_(*deps_.loop,
                    {.name = "volumes", .limiter = limiter_, .metrics = &queue_metrics_}),
      saver_({deps_.loop, deps_.client, &caches_, recorder_, deps_.log, &queue_metrics_,
              [this](const std::string& claim_uid) { OnSaved(claim_uid); }}),
      hold_(deps_.client, deps_.names.driver,
            deps_.config.hold_claims ? ClaimHold::Mode::kHold : ClaimHold::Mode::kOff),
      provisioner_({deps_.random, deps_.client, &caches_, &driver_,
                    kube::EventRecorder(broadcaster_, "external-provisioner"), deps_.log,
                    deps_.names, deps_.features, deps_.config, deps_.identity, &hold_,
                    [this](const std::string& snapshot_key, const std::string& claim_uid) {
                      return IsSnapshotNeeded(snapshot_key, claim_uid);
                    }}),
      claim_sync_({deps_.loop, deps_.client, &caches_, &provisioner_, &saver_, &metrics_, recorder_,
                   deps_.log, deps_.names, deps_.config.naming, &hold_,
                   [this](const core::PersistentVolumeClaim& claim) { OnSourceReleased(claim); }}),
      storage_deletion_({deps_.client, &caches_, &driver_, deps_.log, deps_.names, deps_.features}),
      volume_sync_({deps_.loop, deps_.client, &caches_, &storage_deletion_, &metrics_, recorder_,
                    deps_.log, deps_.names}),
      clone_protection_(*deps_.client, caches_, deps_.log,
                        [this](const std::string& key) { return claim_sync_.IsCloning(key); }),
      snapshot_sweep_({deps_.client, deps_.log, deps_.config.snapshot_sweep_interval,
                       [this](const std::string& key) { return IsSnapshotNeeded(key, ""); }}) {
  if (deps_.features.clone_volume) {
    clone_queue_ = std::make_unique<kube::WorkQueue>(
        *deps_.loop, kube::WorkQueue::Options{.name = "claims",
                                              .limiter = std::make_shared<kube::ExponentialLimiter>(
                                                  deps_.config.retry_start, deps_.config.retry_max),
                                              .metrics = &queue_metrics_});
  }
  FeedQueues();
}

void ProvisionController::FeedQueues() {
  caches_.claims().AddHandler(
      {.on_add = [this](const core::PersistentVolumeClaim& claim,
                        kube::AddKind) { OnClaim(claim); },
       .on_update =
           [this](const core::PersistentVolumeClaim& old_claim,
                  const core::PersistentVolumeClaim& claim) {
             OnSourceReleased(old_claim);
             if (!IsOwnHold(old_claim, claim)) OnClaim(claim);
           },
       .on_delete = [this](const core::PersistentVolumeClaim& claim) { OnClaimGone(claim); }});
  caches_.volumes().AddHandler(
      {.on_add = [this](const core::PersistentVolume& volume, kube::AddKind) { OnVolume(volume); },
       .on_update = [this](const core::PersistentVolume&,
                           const core::PersistentVolume& volume) { OnVolume(volume); },
       .on_delete =
           [this](const core::PersistentVolume& volume) {
             saver_.Seen(volume);
             volume_sync_.Forget(volume.metadata().name());
             volume_queue_.Forget(volume.metadata().name());
           }});
  if (auto* attachments = caches_.attachments()) {
    // A volume that could not be deleted while it was attached need not wait for its back-off.
    attachments->AddHandler({.on_delete = [this](const storage::VolumeAttachment& attachment) {
      const auto volume = caches_.volumes().Get(attachment.spec().source().persistentvolumename());
      if (volume) OnVolume(*volume);
    }});
  }
}

void ProvisionController::OnClaim(const core::PersistentVolumeClaim& claim) {
  // Upstream queues every claim of the cluster; here only those that a sync would act upon.
  if (claim_sync_.Wants(claim)) claim_queue_.Add(claim.metadata().uid());
  if (clone_queue_ && CloneProtection::Wants(claim)) {
    clone_queue_->Add(StrCat(claim.metadata().namespace_(), "/", claim.metadata().name()));
  }
}

void ProvisionController::OnSourceReleased(const core::PersistentVolumeClaim& clone) {
  if (!clone_queue_) return;
  const std::optional<std::string> key = ReferencedClaim(clone);
  if (!key) return;
  const auto source = caches_.claims().Get(*key);
  if (source && CloneProtection::Wants(*source)) clone_queue_->Add(*key);
}

void ProvisionController::OnClaimGone(const core::PersistentVolumeClaim& claim) {
  OnSourceReleased(claim);
  const std::string& uid = claim.metadata().uid();
  // It may have been left alone for as long as it was there. One that waits for a retry keeps it.
  if (claim_sync_.InProgress(uid) && claim_queue_.Failures(uid) == 0) claim_queue_.Add(uid);
  claim_sync_.Forget(uid);
}

bool ProvisionController::IsOwnHold(const core::PersistentVolumeClaim& old_claim,
                                    const core::PersistentVolumeClaim& claim) const {
  return hold_.IsHeld(claim) && !hold_.IsHeld(old_claim) && !claim_sync_.HasVolume(claim);
}

void ProvisionController::OnSaved(const std::string& claim_uid) {
  const auto claim = caches_.UnboundClaim(claim_uid);
  if (claim && hold_.IsHeld(*claim)) claim_queue_.Add(claim_uid);
}

bool ProvisionController::IsSnapshotNeeded(const std::string& snapshot_key,
                                           const std::string& except) const {
  return claim_sync_.IsRestoring(snapshot_key, except) ||
         std::ranges::any_of(caches_.PendingRestoresOf(snapshot_key), [&](const auto& claim) {
           return claim.metadata().uid() != except && !claim_sync_.HasVolume(claim);
         });
}

void ProvisionController::OnVolume(const core::PersistentVolume& volume) {
  saver_.Seen(volume);
  if (volume_sync_.Wants(volume)) volume_queue_.Add(volume.metadata().name());
}

async::Task<void> ProvisionController::Run() {
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*deps_.loop, context.cancel);
  scope.Spawn(broadcaster_.Run());
  deps_.log.Info("Starting provisioner controller", "component", component_);
  deps_.log.Info("Starting save volume queue");
  caches_.Start(&scope);
  Status synced = co_await caches_.WaitForSync();
  if (synced.ok()) {
    deps_.log.Info("Started provisioner controller", "component", component_);
    scope.Spawn(saver_.Run());
    scope.Spawn(kube::RunWorkers(&claim_queue_, deps_.config.worker_threads,
                                 [this](std::string uid) { return claim_sync_.Sync(uid); }));
    scope.Spawn(kube::RunWorkers(&volume_queue_, deps_.config.worker_threads,
                                 [this](std::string name) { return volume_sync_.Sync(name); }));
    if (deps_.features.create_delete_snapshot) scope.Spawn(snapshot_sweep_.Run());
    if (clone_queue_) {
      scope.Spawn(
          kube::RunWorkers(clone_queue_.get(), deps_.config.clone_threads,
                           [this](std::string key) { return clone_protection_.Sync(key); }));
    }
  }
  co_await scope.Join();
}

std::string ProvisionController::ClaimName(const std::string& uid) const {
  const auto claim = caches_.UnboundClaim(uid);
  return claim ? StrCat(claim->metadata().namespace_(), "/", claim->metadata().name()) : "";
}

}  // namespace csinative::provisioner
