// SPDX-License-Identifier: Apache-2.0
//
// The provisioning controllers together: caches, queues, workers, and what feeds what (provisioner
// 4). Loop only.
#pragma once

#include <memory>
#include <string>

#include "cmd/provisioner/caches.h"
#include "cmd/provisioner/claim_hold.h"
#include "cmd/provisioner/claim_sync.h"
#include "cmd/provisioner/clone_protection.h"
#include "cmd/provisioner/config.h"
#include "cmd/provisioner/driver_calls.h"
#include "cmd/provisioner/driver_features.h"
#include "cmd/provisioner/metrics.h"
#include "cmd/provisioner/provision.h"
#include "cmd/provisioner/snapshot_sweep.h"
#include "cmd/provisioner/storage_deletion.h"
#include "cmd/provisioner/volume_saver.h"
#include "cmd/provisioner/volume_sync.h"
#include "lib/async/scope.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/kube/work_queue.h"
#include "lib/log/logger.h"
#include "lib/metrics/registry.h"
#include "lib/metrics/workqueue_metrics.h"
#include "lib/rpc/channel.h"

namespace csinative::provisioner {

class ProvisionController {
 public:
  // Borrowed parts outlive the controller.
  struct Deps {
    async::EventLoop* loop;
    Random* random;
    kube::Client* client;
    kube::Client* event_client;  // with a rate limit of its own: events never delay volumes
    rpc::Channel* channel;
    rpc::Channel* migrated_channel = nullptr;  // for volumes of an in-tree plugin; null: channel
    metrics::Registry* registry;
    log::Logger log;
    std::string host_name;
    DriverNames names;
    DriverFeatures features;
    ProvisionConfig config;
    std::string identity;  // of this process, for the volumes
  };
  explicit ProvisionController(Deps deps);

  // What is asked of the cluster before the election; optional.
  async::Task<void> Prepare() { return snapshot_sweep_.Prepare(); }
  // Until cancelled; everything that was started has ended when it returns.
  async::Task<void> Run();

  // For /debug: calls visit(queue, name_of), where name_of tells the object that a key stands for,
  // or "" if it does not know.
  template <typename Visit>
  void ForEachQueue(Visit visit) const {
    const auto same = [](const std::string& key) { return key; };
    visit(claim_queue_, [this](const std::string& uid) { return ClaimName(uid); });
    visit(volume_queue_, same);
    visit(saver_.queue(), same);
    if (clone_queue_) visit(*clone_queue_, same);
  }

  // For tests and /debug.
  const ClaimSync& claim_sync() const { return claim_sync_; }
  const Provisioner& provisioner() const { return provisioner_; }
  const VolumeSaver& volume_saver() const { return saver_; }
  const VolumeSync& volume_sync() const { return volume_sync_; }
  Caches& caches() { return caches_; }

 private:
  std::string ClaimName(const std::string& uid) const;
  void FeedQueues();
  void OnClaim(const core::PersistentVolumeClaim& claim);
  void OnVolume(const core::PersistentVolume& volume);
  void OnSourceReleased(const core::PersistentVolumeClaim& clone);
  void OnClaimGone(const core::PersistentVolumeClaim& claim);
  void OnSaved(const std::string& claim_uid);
  // The change is our own of an attempt that is running: no reason for another one.
  bool IsOwnHold(const core::PersistentVolumeClaim& old_claim,
                 const core::PersistentVolumeClaim& claim) const;
  // Whether a claim, other than the one with the UID `except`, is or may be filled from it.
  bool IsSnapshotNeeded(const std::string& snapshot_key, const std::string& except) const;

  const Deps deps_;
  Caches caches_;
  DriverCalls driver_;
  metrics::WorkQueueMetrics queue_metrics_;
  ProvisionMetrics metrics_;
  kube::EventBroadcaster broadcaster_;
  const std::string component_;
  kube::EventRecorder recorder_;

  // Claims by UID and volumes by name share the counters of failures.
  std::shared_ptr<kube::RateLimiter> limiter_;
  kube::WorkQueue claim_queue_;
  kube::WorkQueue volume_queue_;
  std::unique_ptr<kube::WorkQueue> clone_queue_;  // null: the driver cannot clone

  VolumeSaver saver_;
  ClaimHold hold_;
  Provisioner provisioner_;
  ClaimSync claim_sync_;
  StorageDeletion storage_deletion_;
  VolumeSync volume_sync_;
  CloneProtection clone_protection_;
  SnapshotSweep snapshot_sweep_;
};

}  // namespace csinative::provisioner
