// SPDX-License-Identifier: Apache-2.0
//
// A simulated cluster: API server, driver and backend, programs under test, and actors, on one
// virtual clock, all decided by a seed. One thread.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/sim/actors.h"
#include "test/sim/fleet.h"
#include "test/sim/process.h"

namespace csinative::sim {

struct WorldOptions {
  uint64_t seed = 1;
  FaultRates rates;
  std::set<uint64_t> disabled_faults;
  double crash_after_effect = 0.004;  // chance for each write or driver call
  double pause_after_effect = 0.004;
  int crashes_an_hour = 6;     // at random moments, besides
  int pauses_an_hour = 2;      // a process is stopped for a while and goes on
  int partitions_an_hour = 2;  // a process loses its API server; history is compacted
  int upgrades_an_hour = 1;    // of the driver, beside one replica of the sidecars
  int node_losses_an_hour = 1;
  // csi-provisioner holds claims (--hold-claims): then nothing may be forgotten.
  bool hold_claims = false;
  bool watch_logs = false;  // at the highest verbosity, for secrets; slow
  int nodes = 3;
  int concurrent_sets = 2;
  // Nodes are served by csi-volume-manager on machines with a disk, instead of by a stand-in.
  bool volume_manager = false;
  int power_cuts_an_hour = 2;     // too short for anybody to give the node up
  int node_upgrades_an_hour = 4;  // of the driver on one node
  int thefts_an_hour = 8;         // volumes detached out of band, where the driver lists volumes
  std::function<void(std::string_view line)> on_line;
};

// What a run did, to show that it was worth it.
struct Totals {
  uint64_t operations = 0;  // calls that the backend performed
  uint64_t faults = 0;
  uint64_t crashes = 0;
  uint64_t hours = 0;
  uint64_t thefts = 0, mended = 0;  // volumes taken off a node out of band, and put back
  uint64_t known_leaks = 0;  // claims deleted while csi-provisioner was dead: nobody can know
  // The most that one process did in one minute (conduct.h).
  int max_requests = 0, max_calls = 0;

  Totals& operator+=(const Totals& other) {
    operations += other.operations;
    faults += other.faults;
    crashes += other.crashes;
    hours += other.hours;
    thefts += other.thefts;
    mended += other.mended;
    known_leaks += other.known_leaks;
    max_requests = std::max(max_requests, other.max_requests);
    max_calls = std::max(max_calls, other.max_calls);
    return *this;
  }
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();

  // One hour: trouble for most of it, then quiet, and at its end nothing may be left. False after
  // the first violation.
  bool RunHour();
  const std::vector<std::string>& violations() const { return checker_.violations(); }
  const Trace& trace() const { return trace_; }
  const FaultPlan& plan() const { return plan_; }
  Totals totals() const;
  const Conduct& conduct() const { return conduct_; }

 private:
  void Prepare();
  // Whether the driver lists volumes with their nodes, so that what happens out of band is noticed.
  // Of the seed alone: other worlds stay as they are.
  bool lists_volumes() const { return options_.seed % 4 == 0; }
  SimProcess* AddProcess(const std::string& name, SimProcess::Factory factory);
  void PrepareNodes(const std::vector<std::string>& nodes);
  void AfterEffect(const IncarnationPtr& process);
  void ScheduleTrouble(Duration within);
  void RandomCrash();
  void CrashProvisionersSoon();
  void RandomPause();
  void RandomPartition();
  void UpgradeDriver();
  void Steal();
  void LoseNode();
  void ReturnNode(size_t node);
  async::Task<void> SetReady(std::string node, bool ready);
  // A process under test that runs; null if that one does not just now.
  SimProcess* RandomProcess();
  void Crash(SimProcess* process);
  void Pause(SimProcess* process);
  void Kill(const IncarnationPtr& process);
  bool IsUp(size_t node) const;
  void PowerOff(size_t node);
  void PowerOn(size_t node);
  void PowerCut();
  void UpgradeNodeDriver();
  // The handles that PersistentVolumes name.
  std::set<std::string> SavedVolumes();
  void NoteUnsaved(const std::string& process);
  void CheckNow();
  // `held_volumes`: whether the attacher's finalizer is on each volume that exists.
  void CheckAttachments(const std::map<std::string, bool>& held_volumes);
  // What was taken off a node out of band is attached again as long as it is to be.
  void CheckThefts();
  // Whether an attachment says that the volume is to be on the node, and is.
  bool SaysAttached(const std::string& id, const std::string& node);
  void CheckNothingLeft();
  void RemoveRetained();
  bool MayDelete(const std::string& id);
  std::string Leftovers();

  const WorldOptions options_;
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::unique_ptr<Random> api_random_;
  FaultPlan plan_;
  Trace trace_;
  Checker checker_;
  apiserver::ApiHandler api_;
  Conduct conduct_;
  Backend backend_;
  async::Scope scope_{loop_};
  Surroundings surroundings_;
  Driver driver_;
  std::unique_ptr<Fleet> fleet_;                        // with csi-volume-manager
  std::vector<std::unique_ptr<SimProcess>> processes_;  // under test
  std::unique_ptr<SimProcess> controller_manager_;
  std::unique_ptr<View> view_;
  std::unique_ptr<Scheduler> scheduler_actor_;
  std::unique_ptr<PodCollector> pod_collector_;
  std::vector<std::unique_ptr<Kubelet>> kubelets_;  // without a fleet
  std::unique_ptr<Users> users_;
  // Volumes that a csi-provisioner was making when it died. Its successor makes them too if the
  // claim is still there; the claim's deletion in between leaves nothing that points to them.
  std::set<std::string> forgotten_;
  std::map<std::string, MonotonicTime> asked_for_;  // volume: the newest CreateVolume
  std::map<std::pair<std::string, std::string>, MonotonicTime> thefts_;  // volume, node: since
  uint64_t stolen_ = 0, mended_ = 0;
  uint64_t known_leaks_ = 0;
  uint64_t crashes_ = 0;
  uint64_t hours_ = 0;
};

}  // namespace csinative::sim
