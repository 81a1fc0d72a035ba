// SPDX-License-Identifier: Apache-2.0
//
// The smallest stand-in for kube-controller-manager's volume controllers, for a demo without one:
// asks the provisioner for a claim's volume, binds the volume, releases it when the claim goes, and
// removes the two protection finalizers once nothing uses the object.
//
// Not modelled: static volumes, selectors, retained volumes' reuse, pods that use a claim,
// resizing.
#pragma once

#include <memory>
#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/informer.h"
#include "lib/kube/work_queue.h"

namespace csinative::demo {

class VolumeBinder {
 public:
  // Borrowed: all outlive the binder.
  VolumeBinder(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log);
  ~VolumeBinder();

  // Works until cancelled.
  async::Task<void> Run();

 private:
  async::Task<Status> SyncClaim(std::string key);
  async::Task<Status> SyncVolume(std::string name);
  async::Task<Status> Bind(core::PersistentVolumeClaim claim, core::PersistentVolume volume);

  async::EventLoop& loop_;
  kube::Client& client_;
  kube::Informer<core::PersistentVolumeClaim> claims_;
  kube::Informer<core::PersistentVolume> volumes_;
  kube::Informer<storage::StorageClass> classes_;
  kube::WorkQueue claim_queue_;
  kube::WorkQueue volume_queue_;
};

}  // namespace csinative::demo
