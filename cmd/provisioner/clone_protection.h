// SPDX-License-Identifier: Apache-2.0
//
// Lets the source of clones go once none of them is pending (provisioner 14), nor being made for a
// claim that was deleted. Exists only for drivers that can clone. Loop only.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/caches.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class CloneProtection {
 public:
  // Borrowed: client and caches outlive this. `is_cloning`: whether the driver may be cloning the
  // claim "namespace/name", also for a claim that is gone.
  CloneProtection(kube::Client& client, Caches& caches, log::Logger log,
                  std::function<bool(const std::string& key)> is_cloning)
      : client_(client),
        caches_(caches),
        log_(std::move(log)),
        is_cloning_(std::move(is_cloning)) {}

  // A claim on its way out that our finalizer holds.
  static bool Wants(const core::PersistentVolumeClaim& claim);
  // By "namespace/name". A failure: again after a back-off.
  async::Task<Status> Sync(std::string key);

 private:
  kube::Client& client_;
  Caches& caches_;
  const log::Logger log_;
  const std::function<bool(const std::string& key)> is_cloning_;
};

}  // namespace csinative::provisioner
