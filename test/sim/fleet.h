// SPDX-License-Identifier: Apache-2.0
//
// The nodes of a world in which csi-volume-manager runs: machines, the driver's plugins and
// container agents on them, what goes wrong with these, and what must hold for them. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "test/sim/agent.h"
#include "test/sim/node.h"
#include "test/sim/node_driver.h"
#include "test/sim/process.h"

namespace csinative::sim {

class Fleet {
 public:
  // Borrowed parts outlive the fleet. `kill` ends a process at once, wherever it is.
  struct Parts {
    Surroundings& world;
    Checker& checker;
    Backend& backend;
    Driver& calls;
    apiserver::ApiHandler& api;
    std::function<void(const IncarnationPtr&)> kill;
  };
  explicit Fleet(Parts parts);

  // Adds a machine for this Node, with its driver. Returns what its volume manager is made by.
  SimProcess::Factory Add(const std::string& node);
  // The volume manager of the machine added last.
  void Bind(SimProcess* process) { nodes_.back().process = process; }
  void RunAgents(View& view, async::Scope* scope);

  // By number, in the order in which they were added.
  bool IsUp(size_t node) const { return nodes_[node].machine->up(); }
  // Everything that goes on there ends where it is; nothing is mounted any more.
  void PowerOff(size_t node);
  void PowerOn(size_t node);
  // The driver on this node is replaced, if it runs.
  void UpgradeDriver(size_t node) { nodes_[node].driver->Upgrade(); }

  // What holds at every moment.
  void CheckNow();
  // What is not as it was before the first pod.
  std::string Leftovers() const;

 private:
  struct Node {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<NodeDriver> driver;
    std::unique_ptr<ContainerAgent> agent;
    SimProcess* process = nullptr;
  };
  void CheckAgreement(const Node& node);
  std::string Leftovers(const Node& node) const;

  const Parts parts_;
  std::vector<Node> nodes_;
};

}  // namespace csinative::sim
