// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/populator.h"

#include <algorithm>
#include <utility>

#include "cmd/volumemanager/claim_resolver.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

constexpr int kWorkers = 8;
// Differs: upstream reads again every 100 ms until the pod's first sync fails, then every 10 to 15
// seconds. A claim that is just being bound should not cost that.
constexpr Duration kFirstRetry = std::chrono::milliseconds(200);
constexpr Duration kLongestRetry = std::chrono::seconds(10);
// Events of a pod whose volumes cannot be found out: as often as upstream's sync.
constexpr Duration kEventPause = std::chrono::seconds(10);

bool SameSpec(const core::Pod& a, const core::Pod& b) {
  return a.spec().SerializeAsString() == b.spec().SerializeAsString();
}

std::string ListText(const std::vector<std::string>& names) {
  return StrCat("[", Join(names, " "), "]");
}

}  // namespace

Populator::Populator(Deps deps)
    : deps_(std::move(deps)),
      queue_(*deps_.loop,
             {.limiter = std::make_shared<kube::ExponentialLimiter>(kFirstRetry, kLongestRetry)}) {}

void Populator::OnPod(const core::Pod& pod) {
  const std::string& uid = pod.metadata().uid();
  const core::Pod* known = deps_.state->pods.Find(uid);
  const bool new_spec = known == nullptr || !SameSpec(*known, pod);
  deps_.state->pods.Update(pod);
  // Status alone matters only once the pod comes to its end.
  if (new_spec || deps_.state->pods.Judge(uid).terminating) queue_.Add(uid);
}

void Populator::OnPodGone(const core::Pod& pod) {
  deps_.state->pods.Remove(pod.metadata().uid());
  queue_.Add(pod.metadata().uid());
}

void Populator::OnListed() {
  if (deps_.state->pods.listed()) return;
  deps_.state->pods.SetListed();
  for (const std::string& uid : deps_.state->pods.Uids()) {
    first_pass_.insert(uid);
    queue_.Add(uid);
  }
  CheckFirstPass();
  deps_.state->reconcile.Notify();
}

void Populator::OnDriverChanged() {
  for (const auto& [name, volume] : deps_.state->desired.volumes()) {
    const VolumeSpec& spec = volume.pods.begin()->second.spec;
    const bool attachable = IsAttachable(spec, deps_.traits(spec.driver));
    if (attachable != volume.attachable) deps_.state->desired.SetAttachable(name, attachable);
  }
  deps_.state->reconcile.Notify();
  deps_.state->report.Notify();
}

async::Task<void> Populator::Run() {
  co_await kube::RunWorkers(&queue_, kWorkers,
                            [this](std::string uid) { return Sync(std::move(uid)); });
}

void Populator::CheckFirstPass() {
  if (deps_.state->pods_added || !deps_.state->pods.listed() || !first_pass_.empty()) return;
  deps_.state->pods_added = true;
  // Those that were taken in although they are going away.
  for (const std::string& uid : deps_.state->pods.Uids()) {
    if (deps_.state->pods.Judge(uid).terminating) queue_.Add(uid);
  }
  deps_.state->reconcile.Notify();
}

void Populator::MarkLooked(const std::string& uid) {
  first_pass_.erase(uid);
  CheckFirstPass();
}

void Populator::RemoveRows(const std::string& uid) {
  for (const std::string& volume : deps_.state->desired.VolumesOf(uid)) {
    deps_.state->desired.Remove(volume, uid);
  }
  reported_.erase(uid);
  deps_.state->reconcile.Notify();
  deps_.state->directories.Notify();
}

async::Task<Status> Populator::Sync(std::string uid) {
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  // OnListed() queues all of them again: whether a pod has ended is not judged before that.
  if (!deps_.state->pods.listed()) co_return Status();
  const PodStates::Verdict verdict = deps_.state->pods.Judge(uid);
  if (verdict.removable) {
    RemoveRows(uid);
    MarkLooked(uid);
    co_return Status();
  }
  if (verdict.ask_again) queue_.AddAfter(uid, *verdict.ask_again - deps_.loop->Now());
  // After a restart containers of a pod that is going away may still run: its volumes stay.
  const bool add =
      deps_.state->pods.Find(uid) != nullptr && !(verdict.terminating && deps_.state->pods_added);
  if (!add) {
    MarkLooked(uid);
    co_return Status();
  }
  Status added = co_await AddVolumes(uid);
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  MarkLooked(uid);
  co_return added;
}

// A node knows a volume by its handle, and publishes it for a pod in one place. Differs: upstream
// publishes one of the two, and the pod waits for the other for ever, without an event.
Status Populator::CheckUnique(const VolumeSpec& spec, const std::string& uid,
                              const std::string& name) const {
  const NodeState& state = *deps_.state;
  const std::string unique = UniqueNameOf(spec, uid);
  const DesiredPod* row = state.desired.Find(unique, uid);
  const MountedPod* mounted = state.actual.Find(unique, uid);
  std::string other;
  if (mounted != nullptr && mounted->spec.name != spec.name) {
    other = mounted->spec.name;
  } else if (row != nullptr && row->spec.name != spec.name) {
    // Before anything was done a claim can be made anew and bound to another one.
    const bool replaced = mounted == nullptr && row->names == std::set<std::string>{name} &&
                          !state.pending.IsRunning({unique, uid});
    if (!replaced) other = row->spec.name;
  }
  if (other.empty()) return Status();
  return FailedPreconditionError(StrCat(
      "PersistentVolumes \"", other, "\" and \"", spec.name, "\" have the same volumeHandle \"",
      spec.handle, "\" of driver \"", spec.driver, "\": a pod can use only one of them"));
}

async::Task<Status> Populator::AddVolumes(std::string uid) {
  const core::Pod* object = deps_.state->pods.Find(uid);
  const PodFacts pod = FactsOf(*object);
  std::vector<std::pair<core::Volume, VolumeUse>> volumes;
  for (const core::Volume& volume : object->spec().volumes()) {
    const VolumeUse use = UseOf(*object, volume.name());
    if (MayBeCsi(volume) && (use.mounted || use.device)) volumes.emplace_back(volume, use);
  }
  if (volumes.empty()) co_return Status();
  std::vector<std::string> failures;
  for (const auto& [volume, use] : volumes) {
    auto spec = co_await ResolveVolume(deps_.client, volume, pod, use);
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    // It may have come to its end meanwhile.
    const PodStates::Verdict verdict = deps_.state->pods.Judge(uid);
    if (verdict.removable || (verdict.terminating && deps_.state->pods_added)) {
      queue_.Add(uid);
      co_return Status();
    }
    if (!spec.ok()) {
      failures.push_back(spec.status().message());
      continue;
    }
    if (!*spec) continue;
    Status unique = CheckUnique(**spec, uid, volume.name());
    if (!unique.ok()) {
      failures.push_back(unique.message());
      continue;
    }
    const DriverTraits traits = deps_.traits((*spec)->driver);
    const std::string name =
        deps_.state->desired.Add(pod, **spec, volume.name(), IsAttachable(**spec, traits));
    if (traits.republish) deps_.state->actual.MarkRemount(name, uid);
    deps_.state->reconcile.Notify();
    deps_.state->report.Notify();
  }
  if (failures.empty()) {
    reported_.erase(uid);
    const double spread = 1.0 + 0.5 * deps_.random->Unit();
    queue_.AddAfter(uid, std::chrono::duration_cast<Duration>(deps_.config.sync_period * spread));
    co_return Status();
  }
  if (const core::Pod* now = deps_.state->pods.Find(uid)) Report(*now, failures);
  co_return FailedPreconditionError(Join(failures, "; "));
}

void Populator::Report(const core::Pod& pod, const std::vector<std::string>& texts) {
  const std::string& uid = pod.metadata().uid();
  const auto last = reported_.find(uid);
  if (last != reported_.end() && deps_.loop->Now() - last->second < kEventPause) return;
  reported_[uid] = deps_.loop->Now();
  std::vector<std::string> unmounted, unattached, missing;
  for (const core::Volume& volume : pod.spec().volumes()) {
    const VolumeUse use = UseOf(pod, volume.name());
    if (!MayBeCsi(volume) || (!use.mounted && !use.device)) continue;
    bool desired = false, mounted = false, attached = true;
    for (const std::string& unique : deps_.state->desired.VolumesOf(uid)) {
      if (!deps_.state->desired.Find(unique, uid)->names.contains(volume.name())) continue;
      desired = true;
      attached = deps_.state->actual.Find(unique) != nullptr ||
                 !deps_.state->desired.Find(unique)->attachable;
      const MountedPod* entry = deps_.state->actual.Find(unique, uid);
      mounted = entry != nullptr && entry->state == PodMountState::kMounted;
    }
    if (!mounted) unmounted.push_back(volume.name());
    if (!attached) unattached.push_back(volume.name());
    if (!desired) missing.push_back(volume.name());
  }
  for (auto* list : {&unmounted, &unattached, &missing}) std::sort(list->begin(), list->end());
  std::vector<std::string> sorted = texts;
  std::sort(sorted.begin(), sorted.end());
  const std::string text = StrCat(
      "unmounted volumes=", ListText(unmounted), ", unattached volumes=", ListText(unattached),
      ", failed to process volumes=", ListText(missing), ": ", Join(sorted, "; "));
  deps_.log.Error(text, "Unable to attach or mount volumes for pod; skipping pod", "pod",
                  log::ObjectRef{pod.metadata().namespace_(), pod.metadata().name()});
  deps_.events->Record(kube::ReferenceTo(pod), kube::EventType::kWarning, "FailedMount",
                       StrCat("Unable to attach or mount volumes: ", text));
}

}  // namespace csinative::volumemanager
