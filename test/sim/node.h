// SPDX-License-Identifier: Apache-2.0
//
// A machine of the simulated cluster: its disk and mounts, which outlive its processes, and the
// containers that run on it and have volumes open. Watches that nothing is taken away from under a
// running container, and that nobody but containers touches what is in a volume. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cmd/volumemanager/volume_manager.h"
#include "lib/async/blocking.h"
#include "lib/base/unique_function.h"
#include "test/sim/checker.h"
#include "test/sim/links.h"
#include "test/support/fake_file_system.h"

namespace csinative::sim {

inline constexpr char kKubeletRoot[] = "/var/lib/kubelet";

// What a container has open, wherever it goes through.
struct OpenVolume {
  std::string volume;               // unique name
  std::vector<std::string> mounts;  // mount points that must stay
  std::vector<std::string> files;   // what else must stay
};

class Machine {
 public:
  // `kill` ends a process at once. Borrowed: world and checker outlive the machine.
  Machine(Surroundings& world, Checker& checker, std::string node,
          std::function<void(const IncarnationPtr&)> kill);

  const std::string& node() const { return node_; }
  testing::FakeFileSystem& fs() { return fs_; }
  const volumemanager::Paths& paths() const { return paths_; }

  // False between a power cut and the next start.
  bool up() const { return up_; }
  // Containers and mounts are gone. Processes are ended by whoever owns them.
  void PowerOff();
  void PowerOn() { up_ = true; }

  // The volume manager that runs here now; null while none does.
  const volumemanager::VolumeManager* manager() const { return manager_; }
  void set_manager(const volumemanager::VolumeManager* manager) { manager_ = manager; }

  // A container of this pod runs from now on, until it is stopped or the machine is.
  void StartContainer(const std::string& uid, std::vector<OpenVolume> volumes);
  void StopContainer(const std::string& uid);
  bool Runs(const std::string& uid) const { return containers_.count(uid) > 0; }
  const std::map<std::string, std::vector<OpenVolume>>& containers() const { return containers_; }

  // Does work of a process on the disk; the process may die before, between or after any two
  // changes, and no change follows then.
  void Work(const IncarnationPtr& process, UniqueFunction<void()> work);

  // What is open is still there.
  void CheckContainers();

 private:
  Status BeforeDiskCall(const std::string& operation, const std::string& path);

  Surroundings& world_;
  Checker& checker_;
  const std::string node_;
  const std::function<void(const IncarnationPtr&)> kill_;
  const volumemanager::Paths paths_{kKubeletRoot};
  testing::FakeFileSystem fs_{kKubeletRoot};
  bool up_ = true;
  const volumemanager::VolumeManager* manager_ = nullptr;
  std::map<std::string, std::vector<OpenVolume>> containers_;  // by pod
  // Of the work that is being done.
  IncarnationPtr worker_;
  bool changed_ = false;
  bool dying_ = false;
};

// The pool of a simulated process: work takes time, and two pieces of it may end in any order.
class SimDisk final : public async::BlockingExecutor {
 public:
  SimDisk(Surroundings& world, Machine& machine, IncarnationPtr process)
      : world_(world), machine_(machine), process_(std::move(process)) {}
  void Submit(UniqueFunction<void()> work) override;

 private:
  Surroundings& world_;
  Machine& machine_;
  const IncarnationPtr process_;
};

}  // namespace csinative::sim
