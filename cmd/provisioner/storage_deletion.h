// SPDX-License-Identifier: Apache-2.0
//
// Deletes what a PersistentVolume stands for at the driver (provisioner 13.4 steps 1 to 7, 13.5).
// Loop only.
#pragma once

#include <optional>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/caches.h"
#include "cmd/provisioner/claim_filter.h"
#include "cmd/provisioner/driver_calls.h"
#include "cmd/provisioner/driver_features.h"
#include "cmd/provisioner/secrets.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class StorageDeletion {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    kube::Client* client;
    Caches* caches;
    DriverCalls* driver;
    log::Logger log;
    DriverNames names;
    DriverFeatures features;
  };
  explicit StorageDeletion(Deps deps) : deps_(std::move(deps)) {}

  // Ok: the driver says that the volume is gone.
  async::Task<Status> Delete(core::PersistentVolume volume);

 private:
  // The Secret to delete the volume with; nothing when there is none.
  Result<std::optional<core::SecretReference>> SecretFor(const core::PersistentVolume& volume,
                                                         Migrated migrated);

  const Deps deps_;
};

}  // namespace csinative::provisioner
