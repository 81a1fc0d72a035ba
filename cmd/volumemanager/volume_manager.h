// SPDX-License-Identifier: Apache-2.0
//
// The controllers of one node together: caches, states, and what feeds what. Everything that is not
// deterministic comes in from outside, so that it runs in production, in virtual time and in
// simulation. Loop only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/pod.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/volumemanager/config.h"
#include "cmd/volumemanager/directory_watch.h"
#include "cmd/volumemanager/driver_registry.h"
#include "cmd/volumemanager/node_info.h"
#include "cmd/volumemanager/node_state.h"
#include "cmd/volumemanager/plugin_sockets.h"
#include "cmd/volumemanager/pod_directories.h"
#include "cmd/volumemanager/populator.h"
#include "cmd/volumemanager/reconciler.h"
#include "cmd/volumemanager/reconstruction.h"
#include "cmd/volumemanager/volume_backend.h"
#include "cmd/volumemanager/volumes_in_use.h"
#include "lib/async/blocking.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/kube/informer.h"
#include "lib/log/logger.h"
#include "lib/mount/file_system.h"

namespace csinative::volumemanager {

class VolumeManager {
 public:
  // Borrowed parts outlive the manager. The root of `fs` is config.root.
  struct Deps {
    async::EventLoop* loop;
    Random* random;
    kube::Client* client;
    kube::Client* event_client;
    mount::FileSystem* fs;
    async::BlockingExecutor* blocking;
    DirectoryWatch* watch;
    PluginConnector* connector;
    Config config;
    log::Logger log;
  };
  explicit VolumeManager(Deps deps);

  // Until cancelled; everything that was started has ended when it returns. Nothing is unmounted
  // at the end. Fails at once when the folders below the root cannot be made.
  async::Task<Status> Run();

  // For tests and /debug.
  const NodeState& state() const { return state_; }
  const DriverRegistry& drivers() const { return drivers_; }
  // `visit` takes any Informer.
  template <typename Visit>
  void ForEachInformer(Visit visit) const {
    visit(nodes_);
    visit(driver_objects_);
    visit(pods_);
  }

 private:
  async::Task<Result<DiskScan>> ReadDisk();
  async::Task<Status> PrepareDisk();
  // Asks the API which volumes these are.
  async::Task<void> Identify(std::vector<UnreadableVolume> volumes);
  async::Task<Result<VolumeSpec>> ReadSpec(std::string volume);
  void FeedControllers();
  void OnPod(const core::Pod& pod);
  std::optional<storage::CSIDriver> DriverObject(const std::string& name) const {
    return driver_objects_.Get(name);
  }
  async::Task<void> WatchPods(async::Scope* scope);

  const Deps deps_;
  const Paths paths_;
  std::vector<UnreadableVolume> unreadable_;  // until Run() has started to identify them
  NodeState state_;
  DriverRegistry drivers_;
  kube::EventBroadcaster broadcaster_;
  kube::EventRecorder events_;
  kube::Informer<core::Node> nodes_;
  kube::Informer<storage::CSIDriver> driver_objects_;
  kube::Informer<core::Pod> pods_;
  NodeInfo node_info_;
  VolumeBackend backend_;
  Populator populator_;
  Reconciler reconciler_;
  VolumesInUse in_use_;
  PodDirectories directories_;
  PluginSockets sockets_;
};

}  // namespace csinative::volumemanager
