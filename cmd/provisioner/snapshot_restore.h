// SPDX-License-Identifier: Apache-2.0
//
// Reads a VolumeSnapshot to restore from, and keeps it from going away meanwhile (provisioner 9.4,
// 15.1). Snapshots are read when they are needed and never cached. Loop only.
#pragma once

#include <string>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/data_source.h"
#include "cmd/provisioner/snapshot_source.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

// VolumeSnapshot has no message here: it is read and written as a document.
const kube::ResourceInfo& SnapshotResource();

class SnapshotRestore {
 public:
  // client outlives this.
  SnapshotRestore(kube::Client* client, log::Logger log, ModeConversion conversion)
      : client_(client), log_(std::move(log)), conversion_(conversion) {}

  // The handle of the snapshot, after all checks.
  async::Task<Result<std::string>> Handle(core::PersistentVolumeClaim claim, DataSource source,
                                          std::string provisioner);
  // Puts our finalizer on the snapshot. No right to do so is no failure.
  async::Task<Status> Protect(DataSource source);
  // Takes it off; a failure is only logged, the sweep of orphans comes after.
  async::Task<void> Release(std::string ns, std::string name);

 private:
  // Reads, edits and puts back.
  async::Task<Status> Edit(kube::ObjectName name, DocumentEdit edit);

  kube::Client* const client_;
  const log::Logger log_;
  const ModeConversion conversion_;
};

}  // namespace csinative::provisioner
