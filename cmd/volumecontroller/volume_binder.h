// SPDX-License-Identifier: Apache-2.0
//
// The smallest binder: asks the provisioner for a claim's volume, binds the volume, releases it
// when the claim goes, and removes the two protection finalizers once nothing uses the object
// (volumecontroller 5, 7, 8). Loop only.
//
// Not modelled: static volumes, selectors, retained volumes' reuse, resizing, events.
#pragma once

#include <string>

#include "cmd/volumecontroller/caches.h"
#include "lib/kube/work_queue.h"

namespace csinative::volumecontroller {

class VolumeBinder {
 public:
  // Borrowed: all outlive the binder. Adds handlers to the caches, so it is made before they run.
  VolumeBinder(async::EventLoop& loop, kube::Client& client, Caches& caches);

  // Works until cancelled. The caches have synced before.
  async::Task<void> Run();

 private:
  async::Task<Status> SyncClaim(std::string key);
  async::Task<Status> SyncVolume(std::string name);
  // Whether a pod that is on a node and has not ended uses the claim.
  bool IsUsed(const core::PersistentVolumeClaim& claim) const;
  async::Task<Status> Bind(core::PersistentVolumeClaim claim, core::PersistentVolume volume);

  async::EventLoop& loop_;
  kube::Client& client_;
  Caches& caches_;
  kube::WorkQueue claim_queue_;
  kube::WorkQueue volume_queue_;
};

}  // namespace csinative::volumecontroller
