// SPDX-License-Identifier: Apache-2.0
#include "test/sim/world.h"

#include <map>
#include <utility>

#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "lib/csi/volume_names.h"
#include "test/sim/programs.h"

namespace csinative::sim {
namespace {

constexpr Duration kTrouble = std::chrono::minutes(45);
// Longer than the longest back-off of a controller (5 minutes) and of the client, several times.
constexpr Duration kQuiet = std::chrono::minutes(15);
// How long before the end of the quiet time users are in a hurry: less than most periods after
// which controllers look at everything again.
constexpr Duration kHaste = std::chrono::minutes(4);
// The longest call of the driver and the longest back-off, twice.
constexpr Duration kMayBeUnsaved = std::chrono::minutes(15);
// Of a node: longer than volumes wait for a node before they are taken away by force (6 minutes).
constexpr Duration kLongestLoss = std::chrono::minutes(12);

// Several comparisons with the driver's list, some of which fail, leaders that die and pause, and
// calls that hang.
constexpr Duration kMendedWithin = std::chrono::minutes(15);

constexpr char kProvisionerFinalizer[] = "external-provisioner.volume.kubernetes.io/finalizer";
constexpr char kAttacherFinalizer[] = "external-attacher/sim-csi-example";

bool HasFinalizer(const apiserver::JsonDocument& document, std::string_view finalizer) {
  const auto& metadata = document["metadata"];
  if (!metadata.HasMember("finalizers")) return false;
  for (const auto& one : metadata["finalizers"].GetArray()) {
    if (one.GetString() == finalizer) return true;
  }
  return false;
}

std::string NodeName(size_t i) { return StrCat("node-", i); }

}  // namespace

World::World(WorldOptions options)
    : options_(std::move(options)),
      api_random_(NewSeededRandom(options_.seed + 77)),
      plan_(options_.seed, options_.rates, options_.disabled_faults),
      trace_(loop_, options_.on_line),
      checker_(trace_),
      api_(loop_, *api_random_),
      conduct_(checker_, loop_, api_),
      backend_(checker_, trace_, loop_),
      surroundings_{scheduler_,
                    loop_,
                    scope_,
                    plan_,
                    trace_,
                    conduct_,
                    options_.watch_logs,
                    [this](const IncarnationPtr& process) { AfterEffect(process); },
                    [this](const std::string& name) { NoteUnsaved(name); }},
      driver_(surroundings_, backend_) {
  driver_.set_on_create([this](const std::string& id) {
    forgotten_.erase(id);
    asked_for_[id] = loop_.Now();
  });
  backend_.set_may_delete([this](const std::string& id) { return MayDelete(id); });
  Prepare();
}

World::~World() {
  processes_.clear();
  controller_manager_.reset();
  loop_.Discard();
}

void World::Prepare() {
  driver_.set_abilities({.lists_published_nodes = lists_volumes()});
  std::vector<std::string> nodes;
  for (int i = 0; i < options_.nodes; ++i) {
    const std::string name = NodeName(static_cast<size_t>(i));
    nodes.push_back(name);
    (void)api_.CreateObject(
        StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name,
               R"("},"status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
    if (options_.volume_manager) continue;  // which writes the CSINode itself
    (void)api_.CreateObject(
        StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":")", name,
               R"("},"spec":{"drivers":[{"name":")", kDriverName, R"(","nodeID":")", name,
               R"(","topologyKeys":[]}]}})"));
  }
  (void)api_.CreateObject(
      StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":")",
             kDriverName, R"("},"spec":{"attachRequired":true}})"));
  (void)api_.CreateObject(
      StrCat(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"driver","namespace":")",
             kSystemNamespace, R"("},"data":{")", kSecretKey, R"(":")", Base64Encode(kSecretMarker),
             "\"}}"));
  std::string parameters;
  for (const char* use : {"provisioner", "controller-publish", "node-stage", "node-publish"}) {
    parameters += StrCat(parameters.empty() ? "" : ",", R"("csi.storage.k8s.io/)", use,
                         R"(-secret-name":"driver","csi.storage.k8s.io/)", use,
                         R"(-secret-namespace":")", kSystemNamespace, "\"");
  }
  for (const char* binding : {"immediate", "late"}) {
    for (const char* policy : {"delete", "retain"}) {
      (void)api_.CreateObject(StrCat(
          R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")",
          binding, "-", policy, R"("},"provisioner":")", kDriverName, R"(","reclaimPolicy":")",
          policy == std::string("delete") ? "Delete" : "Retain", R"(","volumeBindingMode":")",
          binding == std::string("late") ? "WaitForFirstConsumer" : "Immediate",
          R"(","parameters":{)", parameters, "}}"));
    }
  }

  for (const char* replica : {"a", "b"}) {
    AddProcess(StrCat("provisioner-", replica), [this](Program::Setup setup) {
      return NewProvisioner(std::move(setup), driver_,
                            options_.hold_claims ? HoldClaims::kYes : HoldClaims::kNo);
    });
    AddProcess(StrCat("attacher-", replica),
               [this](Program::Setup setup) { return NewAttacher(std::move(setup), driver_); });
  }
  view_ = std::make_unique<View>(surroundings_, api_,
                                 std::make_shared<Incarnation>(scheduler_, "actors"));
  controller_manager_ = std::make_unique<SimProcess>(
      "controller-manager", scheduler_, surroundings_, api_, false, [this](Program::Setup setup) {
        return NewControllerManager(std::move(setup), view_->caches);
      });
  controller_manager_->Start();
  view_->Run(&scope_);
  scheduler_actor_ = std::make_unique<Scheduler>(*view_, nodes);
  scope_.Spawn(scheduler_actor_->Run());
  pod_collector_ = std::make_unique<PodCollector>(*view_);
  scope_.Spawn(pod_collector_->Run());
  PrepareNodes(nodes);
  Habits habits = options_.volume_manager
                      ? Habits{.force_delete = 0.15, .second_pod = 0.3, .block = 0.25, .group = 0.3}
                      : Habits();
  if (lists_volumes()) habits.long_stay = 0.3;
  if (options_.hold_claims) habits.fickle = 0.4;
  users_ = std::make_unique<Users>(*view_, habits);
  // What holding claims is for: that who makes the volume dies, too.
  if (options_.hold_claims) users_->set_on_change_of_mind([this] { CrashProvisionersSoon(); });
  scheduler_.Advance(std::chrono::seconds(5));
}

SimProcess* World::AddProcess(const std::string& name, SimProcess::Factory factory) {
  processes_.push_back(std::make_unique<SimProcess>(name, scheduler_, surroundings_, api_, true,
                                                    std::move(factory)));
  processes_.back()->Start();
  return processes_.back().get();
}

void World::PrepareNodes(const std::vector<std::string>& nodes) {
  if (!options_.volume_manager) {
    for (const std::string& node : nodes) {
      kubelets_.push_back(std::make_unique<Kubelet>(*view_, driver_, node));
      scope_.Spawn(kubelets_.back()->Run());
    }
    return;
  }
  fleet_ = std::make_unique<Fleet>(
      Fleet::Parts{.world = surroundings_,
                   .checker = checker_,
                   .backend = backend_,
                   .calls = driver_,
                   .api = api_,
                   .kill = [this](const IncarnationPtr& process) { Kill(process); }});
  for (const std::string& node : nodes) {
    fleet_->Bind(AddProcess(StrCat("volume-manager-", node), fleet_->Add(node)));
  }
  fleet_->RunAgents(*view_, &scope_);
}

void World::AfterEffect(const IncarnationPtr& process) {
  if (!process->alive) return;
  const bool crash = plan_.Strikes(options_.crash_after_effect);
  if (!crash && !plan_.Strikes(options_.pause_after_effect)) return;
  for (auto& candidate : processes_) {
    if (!candidate->Is(process)) continue;
    if (!crash) {
      loop_.Post([this, target = candidate.get(), process] {
        if (target->Is(process)) Pause(target);
      });
      continue;
    }
    ++crashes_;
    // Not now: the process's own step may be on the stack.
    loop_.Post([this, target = candidate.get(), process] {
      if (target->Is(process)) {
        Crash(target);
      }
    });
  }
}

SimProcess* World::RandomProcess() {
  SimProcess& process = *processes_[plan_.Below(processes_.size())];
  return process.running() && plan_.Strikes(1) ? &process : nullptr;
}

void World::RandomCrash() {
  SimProcess* victim = RandomProcess();
  if (victim == nullptr) return;
  ++crashes_;
  Crash(victim);
}

void World::CrashProvisionersSoon() {
  if (!plan_.Strikes(0.3)) return;
  const Duration delay = plan_.Between(Duration::zero(), std::chrono::seconds(10));
  loop_.PostAt(loop_.Now() + delay, [this] {
    for (auto& process : processes_) {
      if (!process->name().starts_with("provisioner") || !process->running()) continue;
      ++crashes_;
      Crash(process.get());
    }
  });
}

void World::RandomPause() {
  SimProcess* victim = RandomProcess();
  if (victim == nullptr) return;
  Pause(victim);
}

void World::Pause(SimProcess* process) {
  process->Pause(plan_.Between(std::chrono::seconds(1), std::chrono::minutes(3)));
}

void World::RandomPartition() {
  SimProcess* victim = RandomProcess();
  if (victim == nullptr) return;
  const Duration time = plan_.Between(std::chrono::seconds(1), std::chrono::minutes(3));
  victim->CutOff(time);
  // Before it is back, so that its watches are too old.
  loop_.PostAt(loop_.Now() + time * 9 / 10, [this] { api_.Compact(); });
}

void World::UpgradeDriver() {
  const uint64_t first = plan_.Below(2);
  const bool multi_writer = plan_.Below(2) == 0;
  const Duration time = plan_.Between(std::chrono::seconds(2), std::chrono::minutes(2));
  if (!plan_.Strikes(1)) return;
  trace_.Add("driver",
             StrCat("is upgraded, single-node multi-writer: ", multi_writer ? "yes" : "no"));
  driver_.set_abilities(
      {.single_node_multi_writer = multi_writer, .lists_published_nodes = lists_volumes()});
  // Sidecars exit when their driver goes, and start again when it is back.
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (i / 2 == first) processes_[i]->Crash(time);
  }
}

void World::Steal() {
  std::vector<std::pair<std::string, std::string>> attached;
  for (const auto& [id, volume] : backend_.volumes()) {
    for (const std::string& node : volume.attached) attached.emplace_back(id, node);
  }
  if (attached.empty()) return;
  const auto& [id, node] = attached[plan_.Below(attached.size())];
  if (!plan_.Strikes(1)) return;
  trace_.Add("somebody", StrCat("takes ", id, " off ", node));
  backend_.TakeAway(id, node);
  thefts_[{id, node}] = loop_.Now();
  ++stolen_;
}

bool World::SaysAttached(const std::string& id, const std::string& node) {
  constexpr std::string_view kIdPrefix = "id-of-";
  const std::string name = node.starts_with(kIdPrefix) ? node.substr(kIdPrefix.size()) : node;
  const apiserver::ObjectPtr object = api_.GetObject("storage.k8s.io", "volumeattachments", "",
                                                     csi::AttachmentName(id, kDriverName, name));
  if (!object) return false;
  const auto document = apiserver::ParseDocument(*object);
  return !document["metadata"].HasMember("deletionTimestamp") &&
         document["status"].HasMember("attached") && document["status"]["attached"].GetBool();
}

void World::CheckThefts() {
  for (auto it = thefts_.begin(); it != thefts_.end();) {
    const auto& [id, node] = it->first;
    const auto volume = backend_.volumes().find(id);
    const bool mended =
        volume != backend_.volumes().end() && volume->second.attached.contains(node);
    if (mended || volume == backend_.volumes().end() || !SaysAttached(id, node)) {
      if (mended) ++mended_;
      it = thefts_.erase(it);
      continue;
    }
    if (loop_.Now() - it->second > kMendedWithin) {
      checker_.Violation(StrCat(id, " was taken off ", node, " and nobody attaches it again"));
    }
    ++it;
  }
}

void World::LoseNode() {
  const size_t node = plan_.Below(static_cast<uint64_t>(options_.nodes));
  const Duration time = plan_.Between(std::chrono::minutes(1), kLongestLoss);
  const std::string name = NodeName(node);
  if (!IsUp(node) || !plan_.Strikes(1)) return;
  PowerOff(node);
  scheduler_actor_->set_usable(name, false);
  pod_collector_->set_lost(name, true);
  scope_.Spawn(SetReady(name, false));
  loop_.PostAt(loop_.Now() + time, [this, node] { ReturnNode(node); });
}

void World::ReturnNode(size_t node) {
  const std::string name = NodeName(node);
  PowerOn(node);
  scheduler_actor_->set_usable(name, true);
  pod_collector_->set_lost(name, false);
  scope_.Spawn(SetReady(name, true));
}

void World::PowerCut() {
  const size_t node = plan_.Below(static_cast<uint64_t>(options_.nodes));
  const Duration time = plan_.Between(std::chrono::seconds(5), std::chrono::seconds(60));
  if (!IsUp(node) || !plan_.Strikes(1)) return;
  PowerOff(node);
  loop_.PostAt(loop_.Now() + time, [this, node] { PowerOn(node); });
}

bool World::IsUp(size_t node) const {
  return fleet_ ? fleet_->IsUp(node) : !backend_.IsLost(NodeName(node));
}

void World::PowerOff(size_t node) {
  trace_.Add(NodeName(node), "loses power");
  if (fleet_) {
    ++crashes_;
    fleet_->PowerOff(node);
  } else {
    backend_.LoseNode(NodeName(node));
    kubelets_[node]->Lose();
  }
}

void World::PowerOn(size_t node) {
  trace_.Add(NodeName(node), "comes back");
  if (fleet_) {
    fleet_->PowerOn(node);
  } else {
    backend_.ReturnNode(NodeName(node));
    kubelets_[node]->Return();
  }
}

void World::UpgradeNodeDriver() {
  const size_t node = plan_.Below(static_cast<uint64_t>(options_.nodes));
  if (plan_.Strikes(1)) fleet_->UpgradeDriver(node);
}

async::Task<void> World::SetReady(std::string node, bool ready) {
  (void)co_await view_->client->Patch<core::Node>(
      {"", node}, kube::PatchType::kStrategic,
      StrCat(R"({"status":{"conditions":[{"type":"Ready","status":")", ready ? "True" : "Unknown",
             R"("}]}})"),
      "status");
}

void World::Kill(const IncarnationPtr& process) {
  for (auto& candidate : processes_) {
    if (!candidate->Is(process)) continue;
    ++crashes_;
    Crash(candidate.get());
  }
}

void World::Crash(SimProcess* process) {
  process->Crash(plan_.Between(std::chrono::milliseconds(500), std::chrono::seconds(60)));
}

std::set<std::string> World::SavedVolumes() {
  std::set<std::string> out;
  for (const apiserver::ObjectPtr& object : api_.ListObjects("", "persistentvolumes")) {
    out.insert(apiserver::ParseDocument(*object)["spec"]["csi"]["volumeHandle"].GetString());
  }
  return out;
}

void World::NoteUnsaved(const std::string& process) {
  if (!process.starts_with("provisioner")) return;
  const std::set<std::string> saved = SavedVolumes();
  // One that lives saves its volumes before long.
  for (const auto& [id, volume] : backend_.volumes()) {
    if (saved.count(id) == 0 && loop_.Now() - asked_for_[id] < kMayBeUnsaved) {
      forgotten_.insert(id);
    }
  }
  forgotten_.insert(driver_.creating().begin(), driver_.creating().end());
}

void World::ScheduleTrouble(Duration within) {
  const auto spread = [&](int count, Duration last, void (World::*event)()) {
    for (int i = 0; i < count; ++i) {
      loop_.PostAt(loop_.Now() + plan_.Between(Duration::zero(), last),
                   [this, event] { (this->*event)(); });
    }
  };
  spread(options_.crashes_an_hour, within, &World::RandomCrash);
  spread(options_.pauses_an_hour, within, &World::RandomPause);
  spread(options_.partitions_an_hour, within, &World::RandomPartition);
  spread(options_.upgrades_an_hour, within, &World::UpgradeDriver);
  if (lists_volumes()) spread(options_.thefts_an_hour, within, &World::Steal);
  spread(options_.node_losses_an_hour, within - kLongestLoss, &World::LoseNode);
  if (!fleet_) return;
  spread(options_.power_cuts_an_hour, within, &World::PowerCut);
  spread(options_.node_upgrades_an_hour, within, &World::UpgradeNodeDriver);
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
  ScheduleTrouble(kTrouble);
  scope_.Spawn(users_->Run(options_.concurrent_sets, quiet));
  scope_.Spawn(users_->Haste(end - kHaste));
  while (loop_.Now() < end && checker_.ok()) {
    scheduler_.Advance(std::chrono::seconds(20));
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
  if (fleet_) fleet_->CheckNow();
  std::map<std::string, std::string> volume_of_claim;
  std::map<std::string, bool> held_by_attacher;  // by volume
  for (const apiserver::ObjectPtr& object : api_.ListObjects("", "persistentvolumes")) {
    const auto document = apiserver::ParseDocument(*object);
    const std::string claim = document["spec"]["claimRef"]["uid"].GetString();
    const std::string handle = document["spec"]["csi"]["volumeHandle"].GetString();
    if (!volume_of_claim.emplace(claim, object->name).second) {
      checker_.Violation(StrCat("claim ", claim, " has two volumes: ", volume_of_claim[claim],
                                " and ", object->name));
    }
    const bool backed = backend_.volumes().count(handle) > 0;
    if (!backed && !document["metadata"].HasMember("deletionTimestamp") &&
        document["status"]["phase"].GetString() == std::string("Bound")) {
      checker_.Violation(StrCat("nothing is behind volume ", object->name));
    }
    if (backed &&
        document["spec"]["persistentVolumeReclaimPolicy"].GetString() == std::string("Delete") &&
        !HasFinalizer(document, kProvisionerFinalizer)) {
      checker_.Violation(StrCat("nothing keeps volume ", object->name, " until it is deleted"));
    }
    held_by_attacher[object->name] = HasFinalizer(document, kAttacherFinalizer);
  }
  CheckAttachments(held_by_attacher);
  CheckThefts();
}

void World::CheckAttachments(const std::map<std::string, bool>& held_volumes) {
  for (const auto& object : api_.ListObjects("storage.k8s.io", "volumeattachments")) {
    const auto document = apiserver::ParseDocument(*object);
    if (!document["status"].HasMember("attached") || !document["status"]["attached"].GetBool()) {
      continue;
    }
    // While it is being detached the finalizer goes first, the mark second.
    if (!document["metadata"].HasMember("deletionTimestamp") &&
        !HasFinalizer(document, kAttacherFinalizer)) {
      checker_.Violation(
          StrCat("nothing keeps attachment ", object->name, " until it is detached"));
    }
    const std::string volume = document["spec"]["source"]["persistentVolumeName"].GetString();
    const auto held = held_volumes.find(volume);
    if (held == held_volumes.end()) {
      checker_.Violation(StrCat("volume ", volume, " has gone while it is attached"));
    } else if (!held->second) {
      checker_.Violation(StrCat("nothing keeps volume ", volume, " while it is attached"));
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
  if (fleet_) out += fleet_->Leftovers();
  return out;
}

void World::CheckNothingLeft() {
  const std::string left = Leftovers();
  if (!left.empty()) checker_.Violation(StrCat("left over after a quiet time:", left));
  // What the dead forgot, nobody can know (the original has the same gap). It is counted, and goes.
  // A provisioner that holds claims forgets nothing. A request that was on its way when its sender
  // died may have saved the volume after all.
  const std::set<std::string> saved = SavedVolumes();
  for (const std::string& id : forgotten_) {
    if (backend_.volumes().count(id) == 0 || saved.count(id) != 0) continue;
    if (options_.hold_claims) checker_.Violation(StrCat("volume ", id, " was forgotten"));
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
  return {.operations = backend_.operations(),
          .faults = plan_.injected().size(),
          .crashes = crashes_,
          .hours = hours_,
          .thefts = stolen_,
          .mended = mended_,
          .known_leaks = known_leaks_,
          .max_requests = conduct_.max_requests(),
          .max_calls = conduct_.max_calls()};
}

}  // namespace csinative::sim
