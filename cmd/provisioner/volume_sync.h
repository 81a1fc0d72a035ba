// SPDX-License-Identifier: Apache-2.0
//
// One look at one volume: its finalizer, and its deletion when the claim is gone (provisioner 13).
// Loop only.
//
// Upstream deletes at the driver again whenever the volume's object changes while it is going away.
// Here each incarnation of a volume is deleted once: what was done is remembered by UID until its
// object is gone.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/caches.h"
#include "cmd/provisioner/claim_filter.h"
#include "cmd/provisioner/metrics.h"
#include "cmd/provisioner/storage_deletion.h"
#include "cmd/provisioner/volume_filter.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class VolumeSync {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    async::EventLoop* loop;
    kube::Client* client;
    Caches* caches;
    StorageDeletion* deletion;
    ProvisionMetrics* metrics;
    kube::EventRecorder events;
    log::Logger log;
    DriverNames names;
  };
  explicit VolumeSync(Deps deps) : deps_(std::move(deps)) {}

  // Whether the volume is worth a sync: what the queue takes.
  bool Wants(const core::PersistentVolume& volume) const { return NeedsSync(volume, deps_.names); }

  // Ok: nothing more to do until the volume changes. A failure: again after a back-off.
  async::Task<Status> Sync(std::string name);

  // The object is gone.
  void Forget(const std::string& name) { progress_.erase(name); }
  size_t remembered() const { return progress_.size(); }

 private:
  // How far the deletion of a volume has come; each step happens once.
  enum class Step { kStorageDeleted, kObjectDeleted, kFinalizerRemoved };
  struct Progress {
    std::string uid;
    Step step;
  };

  bool Done(const core::PersistentVolume& volume, Step step) const;
  void Remember(const core::PersistentVolume& volume, Step step);
  async::Task<Result<core::PersistentVolume>> MaintainFinalizer(core::PersistentVolume volume);
  async::Task<Status> Delete(core::PersistentVolume volume);
  async::Task<Status> DeleteSteps(core::PersistentVolume volume);
  async::Task<Status> ReleaseObject(core::PersistentVolume volume);

  Deps deps_;
  std::unordered_map<std::string, Progress> progress_;  // by name
};

}  // namespace csinative::provisioner
