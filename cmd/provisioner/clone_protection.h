// SPDX-License-Identifier: Apache-2.0
//
// Lets the source of clones go once none of them is pending (provisioner 14). Exists only for
// drivers that can clone. Loop only.
#pragma once

#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/caches.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class CloneProtection {
 public:
  // Borrowed: client and caches outlive this.
  CloneProtection(kube::Client& client, Caches& caches, log::Logger log)
      : client_(client), caches_(caches), log_(std::move(log)) {}

  // A claim on its way out that our finalizer holds.
  static bool Wants(const core::PersistentVolumeClaim& claim);
  // By "namespace/name". A failure: again after a back-off.
  async::Task<Status> Sync(std::string key);

 private:
  kube::Client& client_;
  Caches& caches_;
  const log::Logger log_;
};

}  // namespace csinative::provisioner
