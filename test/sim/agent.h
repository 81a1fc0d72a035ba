// SPDX-License-Identifier: Apache-2.0
//
// The container agent of one machine, which runs the pods that csi-volume-manager mounts volumes
// for. It obeys what such an agent has to (volumemanager 19): a status with a start time is written
// before anything is started, and one that says "waiting" before a container is started again; a
// start that finds the pod going away is not made; "terminated" is said only when nothing runs. It
// sees no faults of the API and stops only with its machine. One thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/async/scope.h"
#include "test/sim/actors.h"
#include "test/sim/node.h"

namespace csinative::sim {

class ContainerAgent {
 public:
  // Borrowed: both outlive the agent.
  ContainerAgent(View& view, Machine& machine);

  // Until cancelled.
  async::Task<void> Run();

 private:
  // What becomes of a pod on its machine.
  enum class End { kAsked, kCompleted };

  async::Task<void> Serve(std::string key, std::string uid);
  async::Task<End> RunContainers(std::string key, std::string uid);
  // Writes the status; false if the pod is gone or going away.
  async::Task<bool> WriteStatus(std::string key, std::string uid, std::string status);
  async::Task<bool> WaitForVolumes(std::string key, std::string uid,
                                   std::vector<OpenVolume>* volumes);
  async::Task<void> StopContainer(std::string uid);
  async::Task<void> WaitUnmounted(std::string uid);
  // What the pod's container will have open; false while something of it is not mounted.
  bool FindVolumes(const std::string& key, const std::string& uid,
                   std::vector<OpenVolume>* volumes) const;
  bool Exists(const std::string& key, const std::string& uid) const;
  // Exists, and is not going away.
  bool IsWanted(const std::string& key, const std::string& uid) const;

  View& view_;
  Machine& machine_;
  async::Scope pods_;
  std::set<std::string> serving_;  // pod uids
};

}  // namespace csinative::sim
