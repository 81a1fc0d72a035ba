// SPDX-License-Identifier: Apache-2.0
#include "test/sim/fleet.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/strings.h"
#include "lib/mount/volume_data.h"
#include "test/sim/node_program.h"
#include "test/sim/programs.h"

namespace csinative::sim {
namespace {

// Whether a directory of the disk is there without any pod.
bool IsPermanent(const std::string& entry) {
  return entry == "pods/" || entry == "plugins/" || entry == "plugins/kubernetes.io/" ||
         entry == "plugins/kubernetes.io/csi/" ||
         entry == StrCat("plugins/kubernetes.io/csi/", kDriverName, "/") ||
         entry == "plugins/kubernetes.io/csi/volumeDevices/" ||
         entry == "plugins/kubernetes.io/csi/volumeDevices/staging/" ||
         entry == "plugins/kubernetes.io/csi/volumeDevices/publish/" ||
         entry.starts_with("plugins_registry/");
}

bool EndsOperations(const volumemanager::NodeState& state) {
  return state.pods_added && state.states_synced && state.pending.running() == 0;
}

}  // namespace

Fleet::Fleet(Parts parts) : parts_(std::move(parts)) {
  parts_.backend.set_node_service([this](const std::string& id) -> NodeService* {
    for (const Node& node : nodes_) {
      if (node.driver->id() == id) return node.driver.get();
    }
    return nullptr;
  });
}

SimProcess::Factory Fleet::Add(const std::string& name) {
  Node node;
  node.machine = std::make_unique<Machine>(parts_.world, parts_.checker, name, parts_.kill);
  // The driver's name of a node is not Kubernetes' name of it.
  node.driver = std::make_unique<NodeDriver>(parts_.world, parts_.checker, *node.machine,
                                             StrCat("id-of-", name));
  node.driver->Start();
  nodes_.push_back(std::move(node));
  return [calls = &parts_.calls, machine = nodes_.back().machine.get(),
          driver = nodes_.back().driver.get()](Program::Setup setup) {
    return NewVolumeManager(std::move(setup), *calls, *machine, *driver);
  };
}

void Fleet::RunAgents(View& view, async::Scope* scope) {
  for (Node& node : nodes_) {
    node.agent = std::make_unique<ContainerAgent>(view, *node.machine);
    scope->Spawn(node.agent->Run());
  }
}

void Fleet::PowerOff(size_t number) {
  Node& node = nodes_[number];
  node.process->Stop();
  node.machine->PowerOff();
  node.driver->Crash();
  parts_.backend.LoseNode(node.driver->id());
}

void Fleet::PowerOn(size_t number) {
  Node& node = nodes_[number];
  node.machine->PowerOn();
  parts_.backend.ReturnNode(node.driver->id());
  node.process->Start();
  node.driver->StartSoon();
}

void Fleet::CheckNow() {
  for (const Node& node : nodes_) {
    node.machine->CheckContainers();
    CheckAgreement(node);
  }
}

// Between operations memory and machine say the same. What is uncertain may or may not be there.
void Fleet::CheckAgreement(const Node& node) {
  Machine& machine = *node.machine;
  if (machine.manager() == nullptr) return;
  const volumemanager::NodeState& state = machine.manager()->state();
  if (!EndsOperations(state)) return;
  const auto mounted = machine.fs().Mounts();
  std::set<std::string> unexplained(mounted.begin(), mounted.end());
  const auto expect = [&](const std::string& path, const std::string& data, bool certain) {
    const size_t there = unexplained.erase(path.substr(sizeof(kKubeletRoot)));
    if (!certain) return;
    if (there == 0) {
      parts_.checker.Violation(StrCat(machine.node(), ": ", path, " counts as mounted and is not"));
    }
    const auto file = mount::LoadVolumeData(machine.fs(), data);
    if (!file.ok()) {
      parts_.checker.Violation(StrCat(machine.node(), ": ", file.status().message()));
    }
  };
  const volumemanager::Paths& paths = machine.paths();
  for (const auto& [name, volume] : state.actual.volumes()) {
    if (volume.spec.block()) {
      for (const auto& [uid, pod] : volume.pods) {
        expect(StrCat(paths.BlockMap(pod.spec.name), "/", uid), paths.BlockData(pod.spec.name),
               pod.state == volumemanager::PodMountState::kMounted);
      }
      continue;
    }
    if (volume.device != volumemanager::DeviceState::kNotMounted) {
      expect(paths.StagingTarget(volume.spec.driver, volume.spec.handle),
             paths.Staged(volume.spec.driver, volume.spec.handle),
             volume.device == volumemanager::DeviceState::kMounted);
    }
    for (const auto& [uid, pod] : volume.pods) {
      expect(paths.PublishTarget(uid, pod.spec.name), paths.PodVolume(uid, pod.spec.name),
             pod.state == volumemanager::PodMountState::kMounted);
    }
  }
  for (const std::string& path : unexplained) {
    parts_.checker.Violation(
        StrCat(machine.node(), ": ", path, " is mounted and the volume manager does not know"));
  }
}

std::string Fleet::Leftovers() const {
  std::string out;
  for (const Node& node : nodes_) out += Leftovers(node);
  for (const apiserver::ObjectPtr& object : parts_.api.ListObjects("", "nodes")) {
    const auto document = apiserver::ParseDocument(*object);
    if (document["status"].HasMember("volumesInUse")) {
      out += StrCat(" volumesInUse of ", object->name);
    }
  }
  return out;
}

std::string Fleet::Leftovers(const Node& node) const {
  Machine& machine = *node.machine;
  std::string out;
  const auto add = [&](const std::string& what) { out += StrCat(" ", machine.node(), ":", what); };
  for (const auto& [uid, volumes] : machine.containers()) add("container of " + uid);
  for (const std::string& path : machine.fs().Mounts()) add("mount " + path);
  for (const std::string& entry : machine.fs().Entries()) {
    if (!IsPermanent(entry)) add(entry);
  }
  if (machine.manager() == nullptr) {
    add("no volume manager");
    return out;
  }
  const volumemanager::NodeState& state = machine.manager()->state();
  for (const auto& [name, volume] : state.desired.volumes()) add("desired " + name);
  for (const auto& [name, volume] : state.actual.volumes()) add("actual " + name);
  for (const std::string& uid : state.pods.Tombstones()) add("tombstone of " + uid);
  return out;
}

}  // namespace csinative::sim
