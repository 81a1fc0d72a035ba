// SPDX-License-Identifier: Apache-2.0
//
// What connects a simulated process with the API server and the driver: latency, errors, lost
// answers, broken watches. The other end lives on the world's own loop and goes on when the process
// dies; what it sends then goes nowhere. One thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "lib/async/scope.h"
#include "lib/async/virtual_loop.h"
#include "lib/kube/transport.h"
#include "lib/rpc/channel.h"
#include "test/sim/backend.h"
#include "test/sim/conduct.h"
#include "test/sim/fault_plan.h"
#include "test/support/apiserver/api_handler.h"

namespace csinative::sim {

// One run of a process. Shared with everything that may still send to it after its death.
struct Incarnation {
  Incarnation(async::VirtualScheduler& scheduler, std::string process_name)
      : name(std::move(process_name)), loop(scheduler) {}
  const std::string name;
  async::VirtualLoop loop;
  bool alive = true;
  bool under_test = false;
  // For those that act only while they lead: the Lease and what it then names. Empty: for all.
  std::string lease, identity;
  // No request gets through before.
  MonotonicTime cut_off_until{};
  // Streams to end when the process dies.
  std::list<std::weak_ptr<async::CancelSource>> streams;
};
using IncarnationPtr = std::shared_ptr<Incarnation>;

// What both links need from the world. Outlives them.
struct Surroundings {
  async::VirtualScheduler& scheduler;
  async::VirtualLoop& loop;  // of the world: never discarded while it runs
  async::Scope& scope;       // on that loop
  FaultPlan& plan;
  Trace& trace;
  Conduct& conduct;
  bool watch_logs;
  // Called after an effect of this process became real, before it hears of it.
  std::function<void(const IncarnationPtr&)> after_effect;
  // Called with the name of a process that is about to die.
  std::function<void(const std::string&)> before_death;
};

// `faulty`: false for stand-ins that are not under test; they see latency only.
std::unique_ptr<kube::ApiTransport> NewApiLink(Surroundings& world, apiserver::ApiHandler& api,
                                               IncarnationPtr process, bool faulty);

// The driver's process. Calls that are in it when it dies are lost.
class Driver {
 public:
  Driver(Surroundings& world, Backend& backend) : world_(world), backend_(backend) {}

  // Runs the call and gives its outcome to `done`; never answers for a hanging one before it ends.
  async::Task<void> Execute(IncarnationPtr caller, std::string method, std::string node_id,
                            std::shared_ptr<const google::protobuf::Message> request,
                            std::shared_ptr<google::protobuf::Message> response,
                            std::function<void(Status)> done);
  // What the driver can, as its newest version says.
  struct Abilities {
    bool single_node_multi_writer = false;
    bool lists_published_nodes = false;
  };
  const Abilities& abilities() const { return abilities_; }
  void set_abilities(Abilities abilities) { abilities_ = abilities; }
  // Volumes that a running call is to make.
  const std::multiset<std::string>& creating() const { return creating_; }
  // Called when a CreateVolume arrives, with its volume.
  void set_on_create(std::function<void(const std::string&)> on_create) {
    on_create_ = std::move(on_create);
  }

 private:
  Surroundings& world_;
  Backend& backend_;
  Abilities abilities_;
  std::set<std::string> busy_;  // subjects of running calls
  std::multiset<std::string> creating_;
  std::function<void(const std::string&)> on_create_;
};

std::unique_ptr<rpc::Channel> NewDriverLink(Surroundings& world, Driver& driver,
                                            IncarnationPtr process, std::string node_id);

}  // namespace csinative::sim
