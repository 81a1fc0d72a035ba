// SPDX-License-Identifier: Apache-2.0
//
// From pods to the desired state (volumemanager 5, 19.4). Each pod is looked at when it appears or
// changes, again after a minute (claims and volumes are read again, and volumes that want it are
// published again), and sooner after a failure. Loop only.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "apis/core/v1/pod.pb.h"
#include "apis/namespaces.h"
#include "cmd/volumemanager/config.h"
#include "cmd/volumemanager/driver_traits.h"
#include "cmd/volumemanager/node_state.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/kube/work_queue.h"
#include "lib/log/logger.h"

namespace csinative::volumemanager {

class Populator {
 public:
  // Borrowed parts outlive the populator.
  struct Deps {
    async::EventLoop* loop;
    Random* random;
    kube::Client* client;
    kube::EventRecorder* events;
    NodeState* state;
    std::function<DriverTraits(const std::string& driver)> traits;
    Config config;
    log::Logger log;
  };
  explicit Populator(Deps deps);

  // What the pod informer says.
  void OnPod(const core::Pod& pod);
  void OnPodGone(const core::Pod& pod);
  // The first list is complete.
  void OnListed();
  // A driver's object has changed, so what is attachable may have.
  void OnDriverChanged();

  // Until cancelled.
  async::Task<void> Run();

 private:
  struct Failure {
    std::vector<std::string> texts;
  };
  async::Task<Status> Sync(std::string uid);
  async::Task<Status> AddVolumes(std::string uid);
  // Fails if the pod has the same volume already, as a PersistentVolume of another name.
  Status CheckUnique(const VolumeSpec& spec, const std::string& uid, const std::string& name) const;
  void RemoveRows(const std::string& uid);
  void Report(const core::Pod& pod, const std::vector<std::string>& texts);
  void MarkLooked(const std::string& uid);
  void CheckFirstPass();

  const Deps deps_;
  kube::WorkQueue queue_;
  std::set<std::string> first_pass_;               // UIDs that were not looked at yet
  std::map<std::string, MonotonicTime> reported_;  // last event of each pod that fails
};

}  // namespace csinative::volumemanager
