// SPDX-License-Identifier: Apache-2.0
//
// What the volume controllers watch, each resource once for all of them. Loop only.
#pragma once

#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/pod.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/informer.h"

namespace csinative::volumecontroller {

struct Caches {
  // Borrowed: loop, random and client outlive the caches.
  Caches(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log);

  // Spawns the watches; handlers and indices are added before.
  void Run(async::Scope* scope);
  // Ok once every cache has its first complete list.
  async::Task<Status> WaitForSync();

  kube::Informer<core::PersistentVolumeClaim> claims;
  kube::Informer<core::PersistentVolume> volumes;
  kube::Informer<storage::StorageClass> classes;
  kube::Informer<core::Pod> pods;
  kube::Informer<core::Node> nodes;
  kube::Informer<storage::VolumeAttachment> attachments;
  kube::Informer<storage::CSIDriver> drivers;
};

}  // namespace csinative::volumecontroller
