// SPDX-License-Identifier: Apache-2.0
//
// Compares desired with actual state and starts the operations that make them equal (volumemanager
// 6, 7). A pass starts operations and never waits for one; it runs when something has changed, when
// an operation that failed may be tried again, and every ten seconds as a safety net. Loop only.
//
// Order of a pass: unmount pods' volumes, mount, unmount devices and forget. Nothing is unmounted
// before every pod was looked at and the Node has told what is attached, and never while a
// container of the pod may be running.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "apis/core/v1/node.pb.h"
#include "apis/namespaces.h"
#include "cmd/volumemanager/config.h"
#include "cmd/volumemanager/node_state.h"
#include "cmd/volumemanager/volume_backend.h"
#include "lib/async/scope.h"
#include "lib/async/task.h"
#include "lib/kube/event_recorder.h"
#include "lib/log/logger.h"

namespace csinative::volumemanager {

class Reconciler {
 public:
  // Borrowed parts outlive the reconciler.
  struct Deps {
    async::EventLoop* loop;
    NodeState* state;
    VolumeBackend* backend;
    kube::EventRecorder* events;
    // The own Node from the cache.
    std::function<std::optional<core::Node>()> node;
    Config config;
    log::Logger log;
  };
  explicit Reconciler(Deps deps) : deps_(std::move(deps)), operations_(*deps_.loop) {}

  // Until cancelled; then what is running gets ten seconds to finish.
  async::Task<void> Run();

 private:
  // Names as in logs and metrics.
  struct Operation {
    OperationKey key;
    const char* name;
  };

  // When a pass has to follow at the latest.
  MonotonicTime Pass();
  void SyncWithNode(const core::Node& node);
  void UnmountPods();
  void MountPods(const core::Node& node);
  // False if nothing more can be started for the volume now.
  bool MountPodsOf(const std::string& volume, DesiredPods::const_iterator from,
                   DesiredPods::const_iterator to, const core::Node& node);
  void UnmountDevices();
  // Whether the volume may be mounted now; enters it into the actual state.
  bool EnsureAttached(const std::string& volume, const DesiredVolume& desired,
                      const core::Node& node);

  // `make` is called only if the operation may run; false if not.
  bool Start(Operation operation, std::function<async::Task<Status>()> make);
  async::Task<void> RunOperation(Operation operation, async::Task<Status> task);

  async::Task<Status> MountVolume(std::string volume, std::string uid);
  async::Task<Status> MountWanted(std::string volume, std::string uid);
  async::Task<Status> MountFilesystem(std::string volume, DesiredPod row,
                                      StringMap publish_context);
  async::Task<Status> MapBlock(std::string volume, DesiredPod row, StringMap publish_context);
  async::Task<Status> UnmountVolume(std::string volume, std::string uid);
  async::Task<Status> UnmountDevice(std::string volume);

  // An event on the pod. Returns the failure with its context, for the log.
  Status Fail(const DesiredPod& row, const char* what, const Status& failure);

  const Deps deps_;
  std::optional<MonotonicTime> look_again_;  // of this pass
  async::Scope operations_;                  // last
};

}  // namespace csinative::volumemanager
