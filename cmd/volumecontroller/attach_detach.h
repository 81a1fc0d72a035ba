// SPDX-License-Identifier: Apache-2.0
//
// Makes and deletes VolumeAttachments so that each attachable CSI volume is attached where pods use
// it, and keeps node.status.volumesAttached, which kubelet mounts by (volumecontroller 6). Loop
// only.
//
// A volume leaves the node's list before its attachment is deleted, and the attachment is deleted
// only after a fresh look at the node found the volume not in use: kubelet announces use before it
// looks at the list, so one of the two sees the other.
//
// Not modelled: in-tree volumes, forced detach by the out-of-service taint, events, verification
// against the driver.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cmd/volumecontroller/caches.h"
#include "lib/kube/work_queue.h"

namespace csinative::volumecontroller {

// Whether the pod has ended as far as its volumes are concerned (volumecontroller 2).
bool IsTerminated(const core::Pod& pod);

class AttachDetach {
 public:
  // Borrowed: all outlive this. Adds handlers to the caches, so it is made before they run.
  AttachDetach(async::EventLoop& loop, kube::Client& client, Caches& caches, log::Logger log);

  // Works until cancelled. The caches have synced before.
  async::Task<void> Run();

 private:
  struct Wanted {
    core::PersistentVolume volume;
    std::string node;
  };

  // By name of the attachment.
  std::map<std::string, Wanted> WantedAttachments() const;
  bool IsAttachable(const core::PersistentVolume& volume) const;
  async::Task<Status> Reconcile();
  async::Task<Status> Attach(std::string name, Wanted wanted);
  async::Task<Status> Detach(storage::VolumeAttachment attachment);
  // kAlways: also when the cached node has this list already, for the cache may lag behind a list
  // of ours that said more.
  enum class Report { kIfDifferent, kAlways };
  // Brings the list of the node to what is attached and not being detached.
  async::Task<Status> ReportNode(std::string node, Report report);

  async::EventLoop& loop_;
  kube::Client& client_;
  Caches& caches_;
  log::Logger log_;
  kube::WorkQueue queue_;
  std::set<std::string> leaving_;  // attachments that are no longer reported
  std::map<std::string, MonotonicTime> unwanted_since_;
};

}  // namespace csinative::volumecontroller
