// SPDX-License-Identifier: Apache-2.0
#include "test/sim/world.h"

#include <map>
#include <utility>

#include "lib/base/strings.h"
#include "test/sim/programs.h"

namespace csinative::sim {
namespace {

constexpr Duration kTrouble = std::chrono::minutes(45);
// Longer than the longest back-off of a controller (5 minutes) and of the client, several times.
constexpr Duration kQuiet = std::chrono::minutes(15);

std::string NodeName(int i) { return StrCat("node-", i); }

}  // namespace

World::World(WorldOptions options)
    : options_(std::move(options)),
      api_random_(NewSeededRandom(options_.seed + 77)),
      plan_(options_.seed, options_.rates, options_.disabled_faults),
      trace_(loop_, options_.on_line),
      checker_(trace_),
      api_(loop_, *api_random_),
      backend_(checker_, trace_),
      surroundings_{scheduler_,
                    loop_,
                    scope_,
                    plan_,
                    trace_,
                    [this](const IncarnationPtr& process) { AfterEffect(process); },
                    [this](const std::string& name) { NoteUnsaved(name); }},
      driver_(surroundings_, backend_) {
  driver_.set_on_create([this](const std::string& id) { forgotten_.erase(id); });
  backend_.set_may_delete([this](const std::string& id) { return MayDelete(id); });
  Prepare();
}

World::~World() {
  processes_.clear();
  controller_manager_.reset();
  loop_.Discard();
}

void World::Prepare() {
  std::vector<std::string> nodes;
  for (int i = 0; i < options_.nodes; ++i) {
    const std::string name = NodeName(i);
    nodes.push_back(name);
    (void)api_.CreateObject(
        StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name,
               R"("},"status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
    (void)api_.CreateObject(
        StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":")", name,
               R"("},"spec":{"drivers":[{"name":")", kDriverName, R"(","nodeID":")", name,
               R"(","topologyKeys":[]}]}})"));
  }
  (void)api_.CreateObject(
      StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":")",
             kDriverName, R"("},"spec":{"attachRequired":true}})"));
  for (const char* binding : {"immediate", "late"}) {
    for (const char* policy : {"delete", "retain"}) {
      (void)api_.CreateObject(StrCat(
          R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")",
          binding, "-", policy, R"("},"provisioner":")", kDriverName, R"(","reclaimPolicy":")",
          policy == std::string("delete") ? "Delete" : "Retain", R"(","volumeBindingMode":")",
          binding == std::string("late") ? "WaitForFirstConsumer" : "Immediate", "\"}"));
    }
  }

  const auto add = [&](const std::string& name, SimProcess::Factory factory) {
    processes_.push_back(std::make_unique<SimProcess>(name, scheduler_, surroundings_, api_, true,
                                                      std::move(factory)));
    processes_.back()->Start();
  };
  for (const char* replica : {"a", "b"}) {
    add(StrCat("provisioner-", replica),
        [this](Program::Setup setup) { return NewProvisioner(std::move(setup), driver_); });
    add(StrCat("attacher-", replica),
        [this](Program::Setup setup) { return NewAttacher(std::move(setup), driver_); });
  }
  controller_manager_ = std::make_unique<SimProcess>(
      "controller-manager", scheduler_, surroundings_, api_, false,
      [](Program::Setup setup) { return NewControllerManager(std::move(setup)); });
  controller_manager_->Start();

  view_ = std::make_unique<View>(surroundings_, api_,
                                 std::make_shared<Incarnation>(scheduler_, "actors"));
  view_->Run(&scope_);
  scheduler_actor_ = std::make_unique<Scheduler>(*view_, nodes);
  scope_.Spawn(scheduler_actor_->Run());
  for (const std::string& node : nodes) {
    kubelets_.push_back(std::make_unique<Kubelet>(*view_, driver_, node));
    scope_.Spawn(kubelets_.back()->Run());
  }
  users_ = std::make_unique<Users>(*view_);
  scheduler_.Advance(std::chrono::seconds(5));
}

void World::AfterEffect(const IncarnationPtr& process) {
  if (!process->alive || !plan_.Strikes(options_.crash_after_effect)) return;
  for (auto& candidate : processes_) {
    if (!candidate->Is(process)) continue;
    ++crashes_;
    // Not now: the process's own step may be on the stack.
    loop_.Post([this, target = candidate.get(), process] {
      if (target->Is(process)) {
        Crash(target);
      }
    });
  }
}

void World::RandomCrash() {
  SimProcess& victim = *processes_[plan_.Below(processes_.size())];
  if (!victim.running() || !plan_.active()) return;
  ++crashes_;
  Crash(&victim);
}

void World::Crash(SimProcess* process) {
  process->Crash(plan_.Between(std::chrono::milliseconds(500), std::chrono::seconds(40)));
}

void World::NoteUnsaved(const std::string& process) {
  if (!process.starts_with("provisioner")) return;
  std::set<std::string> saved;
  for (const apiserver::ObjectPtr& object : api_.ListObjects("", "persistentvolumes")) {
    saved.insert(apiserver::ParseDocument(*object)["spec"]["csi"]["volumeHandle"].GetString());
  }
  for (const auto& [id, volume] : backend_.volumes()) {
    if (saved.count(id) == 0) forgotten_.insert(id);
  }
  forgotten_.insert(driver_.creating().begin(), driver_.creating().end());
}

void World::ScheduleCrashes(Duration within) {
  for (int i = 0; i < options_.crashes_an_hour; ++i) {
    loop_.PostAt(loop_.Now() + plan_.Between(Duration::zero(), within), [this] { RandomCrash(); });
  }
}

bool World::MayDelete(const std::string& id) {
  for (const apiserver::ObjectPtr& object : api_.ListObjects("", "persistentvolumes")) {
    const auto document = apiserver::ParseDocument(*object);
    const auto& spec = document["spec"];
    if (spec["csi"]["volumeHandle"].GetString() == id) {
      return spec["persistentVolumeReclaimPolicy"].GetString() == std::string("Delete");
    }
  }
  return true;
}

bool World::RunHour() {
  plan_.set_active(true);
  const MonotonicTime quiet = loop_.Now() + kTrouble;
  const MonotonicTime end = quiet + kQuiet;
  ScheduleCrashes(kTrouble);
  scope_.Spawn(users_->Run(options_.concurrent_sets, quiet));
  while (loop_.Now() < end && checker_.ok()) {
    scheduler_.Advance(std::chrono::seconds(10));
    if (loop_.Now() >= quiet) plan_.set_active(false);
    CheckNow();
  }
  plan_.set_active(false);
  if (checker_.ok()) CheckNothingLeft();
  RemoveRetained();
  ++hours_;
  return checker_.ok();
}

void World::CheckNow() {
  std::map<std::string, std::string> volume_of_claim;
  for (const apiserver::ObjectPtr& object : api_.ListObjects("", "persistentvolumes")) {
    const auto document = apiserver::ParseDocument(*object);
    const std::string claim = document["spec"]["claimRef"]["uid"].GetString();
    const std::string handle = document["spec"]["csi"]["volumeHandle"].GetString();
    if (!volume_of_claim.emplace(claim, object->name).second) {
      checker_.Violation(StrCat("claim ", claim, " has two volumes: ", volume_of_claim[claim],
                                " and ", object->name));
    }
    if (backend_.volumes().count(handle) == 0 &&
        !document["metadata"].HasMember("deletionTimestamp") &&
        document["status"]["phase"].GetString() == std::string("Bound")) {
      checker_.Violation(StrCat("nothing is behind volume ", object->name));
    }
  }
}

std::string World::Leftovers() {
  std::string out;
  for (const char* resource : {"pods", "persistentvolumeclaims"}) {
    for (const auto& object : api_.ListObjects("", resource)) {
      out += StrCat(" ", resource, "/", object->name);
    }
  }
  for (const auto& object : api_.ListObjects("storage.k8s.io", "volumeattachments")) {
    out += StrCat(" volumeattachments/", object->name);
  }
  std::set<std::string> kept;
  for (const auto& object : api_.ListObjects("", "persistentvolumes")) {
    const auto document = apiserver::ParseDocument(*object);
    const auto& spec = document["spec"];
    if (spec["persistentVolumeReclaimPolicy"].GetString() == std::string("Retain")) {
      kept.insert(spec["csi"]["volumeHandle"].GetString());
    } else {
      out += StrCat(" persistentvolumes/", object->name);
    }
  }
  for (const auto& [id, volume] : backend_.volumes()) {
    if (!volume.attached.empty()) out += StrCat(" attachment of ", id);
    if (!volume.on_node.empty()) out += StrCat(" mount of ", id);
    if (kept.count(id) == 0 && forgotten_.count(id) == 0) out += StrCat(" volume ", id);
  }
  return out;
}

void World::CheckNothingLeft() {
  const std::string left = Leftovers();
  if (!left.empty()) checker_.Violation(StrCat("left over after a quiet time:", left));
  // What the dead forgot, nobody can know (the original has the same gap). It is counted, and goes.
  for (const std::string& id : forgotten_) {
    if (backend_.volumes().count(id) == 0) continue;
    ++known_leaks_;
    backend_.Remove(id);
  }
  forgotten_.clear();
}

void World::RemoveRetained() {
  for (const auto& object : api_.ListObjects("", "persistentvolumes")) {
    const auto document = apiserver::ParseDocument(*object);
    backend_.Remove(document["spec"]["csi"]["volumeHandle"].GetString());
    struct Body {
      static async::Task<void> Run(View* view, std::string name) {
        (void)co_await view->client->Delete<core::PersistentVolume>({"", name});
      }
    };
    scope_.Spawn(Body::Run(view_.get(), object->name));
  }
  scheduler_.Advance(std::chrono::seconds(30));
}

Totals World::totals() const {
  return {backend_.operations(), plan_.injected().size(), crashes_, hours_, known_leaks_};
}

}  // namespace csinative::sim
