// SPDX-License-Identifier: Apache-2.0
//
// The attaching controllers together: caches, queues, workers, and what feeds what (attacher 6).
// Loop only.
#pragma once

#include <memory>
#include <string>

#include "cmd/attacher/attachment_queue.h"
#include "cmd/attacher/caches.h"
#include "cmd/attacher/config.h"
#include "cmd/attacher/driver_features.h"
#include "cmd/attacher/handler.h"
#include "cmd/attacher/missing_objects.h"
#include "cmd/attacher/reconciler.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/work_queue.h"
#include "lib/log/logger.h"
#include "lib/metrics/registry.h"
#include "lib/metrics/workqueue_metrics.h"
#include "lib/rpc/channel.h"

namespace csinative::attacher {

class AttachController {
 public:
  // Borrowed parts outlive the controller.
  struct Deps {
    async::EventLoop* loop;
    Random* random;
    kube::Client* client;
    rpc::Channel* channel;
    // For calls about volumes that were of an in-tree plugin; null: the same.
    rpc::Channel* migrated_channel = nullptr;
    metrics::Registry* registry;
    log::Logger log;
    DriverFeatures features;
    AttachConfig config;
  };
  explicit AttachController(Deps deps);

  // Until cancelled; everything that was started has ended when it returns.
  async::Task<void> Run();

  // For /debug: calls visit(title, queue, name_of), where name_of tells the object that a key
  // stands for, or "" if it does not know.
  template <typename Visit>
  void ForEachQueue(Visit visit) const {
    const auto describe = [this](const std::string& name) { return Describe(name); };
    visit("attach", attachment_queue_.attaches(), describe);
    visit("detach", attachment_queue_.detaches(), describe);
    visit("volume finalizers", volume_queue_, [](const std::string& name) { return name; });
  }
  // For tests and /debug.
  const Caches& caches() const { return caches_; }
  const MissingObjects& missing() const { return missing_; }

 private:
  std::string Describe(const std::string& attachment) const;
  std::unique_ptr<Handler> ChooseHandler();
  std::unique_ptr<Reconciler> ChooseReconciler();
  Operation OperationOn(const std::string& attachment) const;
  void FeedQueues();
  bool IsOurs(const storage::VolumeAttachment& attachment) const {
    return attachment.spec().attacher() == deps_.features.name;
  }
  void OnVolume(const core::PersistentVolume& volume);
  // The object is there now: attachments that waited for it need not wait for their back-off.
  void Wake(MissingObjects::Kind kind, const std::string& object);
  async::Task<Status> SyncAttachment(std::string name);
  async::Task<Status> SyncVolume(std::string name);

  const Deps deps_;
  const std::string finalizer_;
  Caches caches_;
  MissingObjects missing_;
  std::unique_ptr<Handler> handler_;
  std::unique_ptr<Reconciler> reconciler_;  // if the driver can be compared with
  metrics::WorkQueueMetrics queue_metrics_;
  AttachmentQueue attachment_queue_;
  kube::WorkQueue volume_queue_;
};

}  // namespace csinative::attacher
