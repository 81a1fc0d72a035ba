// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/reconciler.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "apis/core/v1/well_known.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

constexpr Duration kSafetyNet = std::chrono::seconds(10);
// How long operations may take to finish when the process is told to end (volumemanager 19.8).
constexpr Duration kLastCalls = std::chrono::seconds(10);
constexpr Duration kLastCallsPoll = std::chrono::milliseconds(20);

constexpr char kMountVolume[] = "volume_mount";
constexpr char kMapVolume[] = "map_volume";
constexpr char kUnmountVolume[] = "volume_unmount";
constexpr char kUnmapVolume[] = "unmap_volume";
constexpr char kUnmountDevice[] = "unmount_device";
constexpr char kUnmapDevice[] = "unmap_device";

bool IsAttachedTo(const core::Node& node, const std::string& volume) {
  const auto& attached = node.status().volumesattached();
  return std::any_of(attached.begin(), attached.end(),
                     [&](const core::AttachedVolume& entry) { return entry.name() == volume; });
}

void Earliest(std::optional<MonotonicTime>* of, std::optional<MonotonicTime> when) {
  if (when && (!*of || *when < **of)) *of = when;
}

}  // namespace

// --- passes --------------------------------------------------------------------------------------

async::Task<void> Reconciler::Run() {
  for (;;) {
    const MonotonicTime next = Pass();
    Status waited = co_await deps_.state->reconcile.Wait(next);
    if (!waited.ok()) break;
  }
  const MonotonicTime limit = deps_.loop->Now() + kLastCalls;
  while (!operations_.empty() && deps_.loop->Now() < limit) {
    (void)co_await async::Shielded(async::Sleep(kLastCallsPoll));
  }
  co_await operations_.Close();
}

MonotonicTime Reconciler::Pass() {
  look_again_.reset();
  NodeState& state = *deps_.state;
  const bool may_unmount = state.pods_added && state.states_synced;
  const std::optional<core::Node> node = deps_.node();
  if (may_unmount) UnmountPods();
  if (node) MountPods(*node);
  if (may_unmount) UnmountDevices();
  if (node && state.disk_known && !state.states_synced) SyncWithNode(*node);
  if (!state.pods.Tombstones().empty()) state.directories.Notify();
  const MonotonicTime now = deps_.loop->Now();
  std::optional<MonotonicTime> next = look_again_;
  Earliest(&next, state.pending.NextRetry());
  return next ? std::min(*next, now + kSafetyNet) : now + kSafetyNet;
}

void Reconciler::SyncWithNode(const core::Node& node) {
  NodeState& state = *deps_.state;
  std::vector<std::string> names;
  for (const auto& [name, volume] : state.actual.volumes()) names.push_back(name);
  for (const std::string& name : names) {
    state.actual.SetAttachability(name, IsAttachedTo(node, name));
  }
  state.states_synced = true;
  state.report.Notify();
  state.reconcile.Notify();
}

void Reconciler::UnmountPods() {
  NodeState& state = *deps_.state;
  for (const auto& [name, volume] : state.actual.volumes()) {
    for (const auto& [uid, pod] : volume.pods) {
      if (pod.held || state.desired.Find(name, uid) != nullptr) continue;
      const OperationKey key{name, uid};
      if (state.pending.IsRunning(key)) continue;
      // Differs: upstream unmounts what is not desired, also under running containers.
      const PodStates::Verdict verdict = state.pods.Judge(uid);
      if (!verdict.removable) {
        Earliest(&look_again_, verdict.ask_again);
        continue;
      }
      Start({key, pod.spec.block() ? kUnmapVolume : kUnmountVolume},
            [this, name = name, uid = uid] { return UnmountVolume(name, uid); });
    }
  }
}

void Reconciler::MountPods(const core::Node& node) {
  NodeState& state = *deps_.state;
  for (const auto& [name, volume] : state.desired.volumes()) {
    // One that fails must not keep the others waiting for ever.
    const auto behind = volume.pods.upper_bound(volume.last_tried);
    if (!MountPodsOf(name, behind, volume.pods.end(), node)) continue;
    (void)MountPodsOf(name, volume.pods.begin(), behind, node);
  }
}

bool Reconciler::MountPodsOf(const std::string& volume, DesiredPods::const_iterator from,
                             DesiredPods::const_iterator to, const core::Node& node) {
  NodeState& state = *deps_.state;
  for (auto pod = from; pod != to; ++pod) {
    const auto& [uid, row] = *pod;
    if (state.pending.IsRunning({volume, ""})) return false;
    const MountedPod* mounted = state.actual.Find(volume, uid);
    if (mounted != nullptr && mounted->state == PodMountState::kMounted && !mounted->remount) {
      continue;
    }
    if (!EnsureAttached(volume, *state.desired.Find(volume), node)) return false;
    // Volumes with a step for the whole node are mounted for one pod at a time.
    const OperationKey key{volume, row.spec.device_mountable() ? "" : uid};
    const bool started = Start({key, row.spec.block() ? kMapVolume : kMountVolume},
                               [this, volume, uid = uid] { return MountVolume(volume, uid); });
    if (started) state.desired.SetLastTried(volume, uid);
  }
  return true;
}

// Differs: upstream has an operation of its own for this, which reads the Node again. Here the
// cached Node decides, which the API server has sent; the attachment itself is read live by the
// mount operation.
bool Reconciler::EnsureAttached(const std::string& volume, const DesiredVolume& desired,
                                const core::Node& node) {
  NodeState& state = *deps_.state;
  if (state.actual.Find(volume) != nullptr) return true;
  if (desired.attachable && !(desired.reported_in_use && IsAttachedTo(node, volume))) return false;
  state.actual.MarkAttached(volume, desired.pods.begin()->second.spec,
                            desired.attachable ? Attachability::kYes : Attachability::kNo);
  return true;
}

void Reconciler::UnmountDevices() {
  NodeState& state = *deps_.state;
  std::vector<std::string> idle;
  for (const auto& [name, volume] : state.actual.volumes()) {
    if (volume.pods.empty() && state.desired.Find(name) == nullptr &&
        !state.pending.IsRunning({name, ""})) {
      idle.push_back(name);
    }
  }
  for (const std::string& name : idle) {
    const ActualVolume* volume = state.actual.Find(name);
    if (volume->device != DeviceState::kNotMounted) {
      Start({{name, ""}, volume->spec.block() ? kUnmapDevice : kUnmountDevice},
            [this, name] { return UnmountDevice(name); });
      continue;
    }
    state.actual.Forget(name);
    state.pending.Forget(name);
    state.report.Notify();
    state.directories.Notify();
    deps_.log.Info("Volume detached", "volume", name, "node", deps_.config.node);
  }
}

// --- operations ----------------------------------------------------------------------------------

bool Reconciler::Start(Operation operation, std::function<async::Task<Status>()> make) {
  NodeState& state = *deps_.state;
  if (deps_.config.max_operations > 0 &&
      state.pending.running() >= static_cast<size_t>(deps_.config.max_operations)) {
    return false;  // the end of one of them starts the next pass
  }
  if (state.pending.TryStart(operation.key, operation.name) != PendingOperations::Start::kStarted) {
    return false;
  }
  deps_.log.V(4).Info("Starting operation", "operation", operation.name, "volume",
                      operation.key.volume, "podUID", operation.key.pod);
  operations_.Spawn(RunOperation(std::move(operation), make()));
  return true;
}

async::Task<void> Reconciler::RunOperation(Operation operation, async::Task<Status> task) {
  Status result = co_await std::move(task);
  const Duration wait = deps_.state->pending.Finish(operation.key, result);
  if (!result.ok() && !IsCancelled(result)) {
    // Tools look for this text (volumemanager 7.0).
    deps_.log.Errorf(
        "Operation for \"{}\" failed. No retries permitted until {} (durationBeforeRetry {}). "
        "Error: {}",
        StrCat("{volumeName:", operation.key.volume, " podName:", operation.key.pod, " nodeName:}"),
        deps_.loop->WallNow() + wait, wait, result.message());
  }
  deps_.state->reconcile.Notify();
  deps_.state->report.Notify();
}

Status Reconciler::Fail(const DesiredPod& row, const char* what, const Status& failure) {
  // The process is ending: nobody failed.
  if (IsCancelled(failure)) return failure;
  const std::string text =
      StrCat(what, " for volume \"", row.spec.name, "\" : ", failure.message());
  if (const core::Pod* pod = deps_.state->pods.Find(row.pod.uid)) {
    const bool map =
        row.spec.block() && std::string_view(what).find("NodeAffinity") == std::string_view::npos;
    deps_.events->Record(kube::ReferenceTo(*pod), kube::EventType::kWarning,
                         map ? "FailedMapVolume" : "FailedMount", text);
  }
  return failure.WithMessage(text);
}

async::Task<Status> Reconciler::MountVolume(std::string volume, std::string uid) {
  Status mounted = co_await MountWanted(volume, uid);
  // It may have gone meanwhile, and been forgotten because nothing of it was there yet.
  if (deps_.state->desired.Find(volume, uid) == nullptr) {
    deps_.state->pods.AddDirectory(uid);
    deps_.state->directories.Notify();
  }
  co_return mounted;
}

async::Task<Status> Reconciler::MountWanted(std::string volume, std::string uid) {
  NodeState& state = *deps_.state;
  const DesiredPod* desired = state.desired.Find(volume, uid);
  if (desired == nullptr) co_return Status();
  const DesiredPod row = *desired;
  const bool block = row.spec.block();
  const auto node = deps_.node();
  Status allowed = node ? CheckNodeAffinity(row.spec, node->metadata())
                        : UnavailableError("the node is not in the cache");
  if (!allowed.ok()) {
    co_return Fail(
        row,
        block ? "MapVolume.NodeAffinity check failed" : "MountVolume.NodeAffinity check failed",
        allowed);
  }
  if (row.spec.access_modes == std::vector<std::string>{std::string(apis::kReadWriteOncePod)} &&
      state.actual.MountedElsewhere(volume, uid)) {
    co_return Fail(row, block ? "MapVolume.SetUpDevice failed" : "MountVolume.SetUp failed",
                   FailedPreconditionError("volume uses the ReadWriteOncePod access mode and is "
                                           "already in use by another pod"));
  }
  StringMap publish_context;
  if (block) {
    Outcome saved = co_await deps_.backend->SaveBlockData(row.spec);
    // Whatever happens now, there is something to remove.
    const ActualVolume* actual = state.actual.Find(volume);
    if (actual != nullptr && actual->device == DeviceState::kNotMounted) {
      state.actual.MarkDeviceUncertain(volume, deps_.backend->paths().BlockMap(row.spec.name));
    }
    if (!saved.ok()) {
      co_return Fail(row, "MapVolume.NewBlockVolumeMapper initialization failed", saved.status);
    }
  }
  // Asked again: the driver's object may have changed since the volume was taken in.
  if (IsAttachable(row.spec, deps_.backend->Traits(row.spec.driver))) {
    auto attachment = co_await deps_.backend->ReadAttachment(row.spec);
    if (!attachment.ok()) {
      co_return Fail(row,
                     block ? "MapVolume.WaitForAttach failed" : "MountVolume.WaitForAttach failed",
                     attachment.status());
    }
    state.actual.SetDevicePath(volume, attachment->name);
    state.actual.MarkAttachable(volume);
    state.report.Notify();
    publish_context = std::move(attachment->publish_context);
  }
  if (block) co_return co_await MapBlock(volume, row, std::move(publish_context));
  co_return co_await MountFilesystem(volume, row, std::move(publish_context));
}

async::Task<Status> Reconciler::MountFilesystem(std::string volume, DesiredPod row,
                                                StringMap publish_context) {
  NodeState& state = *deps_.state;
  const std::string uid = row.pod.uid;
  const ActualVolume* actual = state.actual.Find(volume);
  if (actual == nullptr) co_return Status();
  if (row.spec.device_mountable() && actual->device != DeviceState::kMounted) {
    const std::string path = deps_.backend->paths().StagingTarget(row.spec.driver, row.spec.handle);
    Outcome staged = co_await deps_.backend->MountDevice(row.spec, row.pod, publish_context);
    if (!staged.ok()) {
      state.actual.MarkDeviceFailed(volume, staged.kind, path);
      co_return Fail(row, "MountVolume.MountDevice failed", staged.status);
    }
    state.actual.MarkDeviceMounted(volume, path);
    deps_.log.Info("MountVolume.MountDevice succeeded", "volume", volume, "path", path);
  }
  const MountedPod* mounted = state.actual.Find(volume, uid);
  const bool kept =
      mounted != nullptr && (mounted->reconstructed || mounted->state == PodMountState::kMounted);
  Outcome set_up = co_await deps_.backend->SetUp(
      row.spec, row.pod, std::move(publish_context),
      kept ? VolumeBackend::Previous::kKept : VolumeBackend::Previous::kNew);
  if (!set_up.ok()) {
    state.actual.MarkPodFailed(volume, uid, row.spec, set_up.kind);
    co_return Fail(row, "MountVolume.SetUp failed", set_up.status);
  }
  state.actual.MarkPodMounted(volume, uid, row.spec);
  deps_.log.Info("MountVolume.SetUp succeeded", "volume", volume, "pod",
                 log::ObjectRef{row.pod.ns, row.pod.name});
  co_return Status();
}

async::Task<Status> Reconciler::MapBlock(std::string volume, DesiredPod row,
                                         StringMap publish_context) {
  NodeState& state = *deps_.state;
  const std::string uid = row.pod.uid;
  const ActualVolume* actual = state.actual.Find(volume);
  if (actual == nullptr) co_return Status();
  if (actual->device != DeviceState::kMounted) {
    const std::string path = deps_.backend->paths().BlockMap(row.spec.name);
    Outcome staged = co_await deps_.backend->SetUpDevice(row.spec, publish_context);
    if (!staged.ok()) {
      state.actual.MarkDeviceFailed(volume, staged.kind, path);
      co_return Fail(row, "MapVolume.SetUpDevice failed", staged.status);
    }
    state.actual.MarkDeviceMounted(volume, path);
  }
  const VolumeBackend::Mapped mapped =
      co_await deps_.backend->MapPodDevice(row.spec, row.pod, std::move(publish_context));
  if (!mapped.outcome.ok()) {
    state.actual.MarkPodFailed(volume, uid, row.spec, mapped.outcome.kind);
    co_return Fail(
        row, mapped.published ? "MapVolume.MapBlockVolume failed" : "MapVolume.MapPodDevice failed",
        mapped.outcome.status);
  }
  state.actual.SetDevicePath(volume, mapped.device_path);
  state.actual.MarkPodMounted(volume, uid, row.spec);
  if (const core::Pod* pod = state.pods.Find(uid)) {
    const std::string prefix =
        StrCat("MapVolume.MapPodDevice succeeded for volume \"", row.spec.name, "\" ");
    const kube::ObjectReference about = kube::ReferenceTo(*pod);
    deps_.events->Record(
        about, kube::EventType::kNormal, "SuccessfulMountVolume",
        StrCat(prefix, "globalMapPath \"", deps_.backend->paths().BlockMap(row.spec.name), "\""));
    deps_.events->Record(about, kube::EventType::kNormal, "SuccessfulMountVolume",
                         StrCat(prefix, "volumeMapPath \"", mount::ParentOf(mapped.link), "\""));
  }
  co_return Status();
}

async::Task<Status> Reconciler::UnmountVolume(std::string volume, std::string uid) {
  NodeState& state = *deps_.state;
  const MountedPod* mounted = state.actual.Find(volume, uid);
  if (mounted == nullptr) co_return Status();
  const VolumeSpec spec = mounted->spec;
  Outcome done;
  if (spec.block()) {
    state.actual.MarkPodUncertain(volume, uid, spec);
    done = co_await deps_.backend->UnmapPodDevice(spec, uid);
  } else {
    done = co_await deps_.backend->TearDown(spec, uid);
  }
  if (!done.ok()) {
    if (done.kind != FailureKind::kTransient) state.actual.MarkPodUncertain(volume, uid, spec);
    co_return done.status;
  }
  state.actual.MarkPodUnmounted(volume, uid);
  state.directories.Notify();
  deps_.log.Info("UnmountVolume.TearDown succeeded", "volume", volume, "podUID", uid);
  co_return Status();
}

async::Task<Status> Reconciler::UnmountDevice(std::string volume) {
  NodeState& state = *deps_.state;
  const ActualVolume* actual = state.actual.Find(volume);
  if (actual == nullptr) co_return Status();
  const VolumeSpec spec = actual->spec;
  const std::string path = actual->device_mount_path;
  Outcome done = spec.block() ? co_await deps_.backend->TearDownDevice(spec)
                              : co_await deps_.backend->UnmountDevice(spec);
  if (!done.ok()) {
    state.actual.MarkDeviceUncertain(volume, path);
    co_return done.status;
  }
  state.actual.MarkDeviceUnmounted(volume);
  deps_.log.Info("UnmountDevice succeeded", "volume", volume, "node", deps_.config.node);
  co_return Status();
}

}  // namespace csinative::volumemanager
