// SPDX-License-Identifier: Apache-2.0
//
// Saves PersistentVolumes of volumes that exist at the driver, for as long as it takes (provisioner
// 11). Once CreateVolume has succeeded a volume is never given up because the API server could not
// take its object. An object of that name that is there already counts as saved; if it is another
// volume, that is told and nothing is touched. Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/caches.h"
#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/kube/work_queue.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class VolumeSaver {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    async::EventLoop* loop;
    kube::Client* client;
    Caches* caches;
    kube::EventRecorder events;
    log::Logger log;
    metrics::WorkQueueMetrics* queue_metrics;
    std::function<void(const std::string& claim_uid)> on_saved = {};
  };
  explicit VolumeSaver(Deps deps);

  // Tries once, whether or not the caller is cancelled; on failure the object is kept and Run()
  // goes on trying.
  async::Task<void> Save(core::PersistentVolume volume);
  // Retries what could not be saved, until cancelled.
  async::Task<void> Run();

  // Whether this claim's volume was saved or waits to be: a second attempt to provision it would
  // only repeat the calls.
  bool Knows(const std::string& claim_uid) const;
  // The volume is saved, although the cache may not have it yet.
  bool IsSaved(const std::string& claim_uid) const;
  // The cache has the volume, or had it: from here on the cache tells.
  void Seen(const core::PersistentVolume& volume);

  size_t unsaved() const { return unsaved_.size(); }
  const kube::WorkQueue& queue() const { return queue_; }
  int Requeues(const std::string& volume_name) const { return queue_.Failures(volume_name); }

 private:
  async::Task<Status> Post(core::PersistentVolume volume);
  // Log and event of a volume that is saved, or whose name `other` has.
  void Tell(const core::PersistentVolume& volume,
            const std::optional<core::PersistentVolume>& other);
  async::Task<Status> Retry(std::string name);

  Deps deps_;
  kube::WorkQueue queue_;
  std::map<std::string, core::PersistentVolume> unsaved_;  // by name
  // Claims whose volume was saved a moment ago, until the cache has it. Should the cache never see
  // it (created and deleted within a gap of the watch), the entry expires.
  std::unordered_map<std::string, MonotonicTime> saved_;
};

}  // namespace csinative::provisioner
