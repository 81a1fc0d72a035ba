// SPDX-License-Identifier: Apache-2.0
#include "test/sim/agent.h"

#include <algorithm>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/csi/volume_names.h"

namespace csinative::sim {
namespace {

constexpr Duration kLook = std::chrono::seconds(1);
// Containers are killed after the grace time of their pod, which users do not set here.
constexpr Duration kGrace = std::chrono::seconds(30);
constexpr Duration kLifeOfJob = std::chrono::minutes(3);

// `state` is of the one container.
std::string StatusPatch(const char* phase, const std::string& state, int restarts) {
  return StrCat(R"("status":{"phase":")", phase,
                R"(","startTime":"2024-01-01T00:00:00Z","containerStatuses":[{"name":"c",)"
                R"("image":"i","imageID":"","ready":false,"restartCount":)",
                restarts, R"(,"state":{)", state, "}}]}");
}

std::string Waiting(int restarts) {
  return StatusPatch(restarts == 0 ? "Pending" : "Running",
                     StrCat(R"("waiting":{"reason":")",
                            restarts == 0 ? "ContainerCreating" : "CrashLoopBackOff", "\"}"),
                     restarts);
}
std::string Running(int restarts) {
  return StatusPatch("Running", R"("running":{"startedAt":"2024-01-01T00:00:00Z"})", restarts);
}
std::string Terminated(const char* phase, int restarts) {
  return StatusPatch(phase, R"("terminated":{"exitCode":0})", restarts);
}

}  // namespace

ContainerAgent::ContainerAgent(View& view, Machine& machine)
    : view_(view), machine_(machine), pods_(view.world.loop) {}

async::Task<void> ContainerAgent::Run() {
  while ((co_await async::Sleep(kLook)).ok()) {
    if (!machine_.up()) continue;
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [key, pod] : view_.pod_infos) {
      if (pod.node == machine_.node() && serving_.count(pod.uid) == 0) {
        found.emplace_back(key, pod.uid);
      }
    }
    for (auto& [key, uid] : found) {
      serving_.insert(uid);
      pods_.Spawn(Serve(key, uid));
    }
  }
  co_await pods_.Close();
}

bool ContainerAgent::Exists(const std::string& key, const std::string& uid) const {
  const auto pod = view_.pod_infos.find(key);
  return pod != view_.pod_infos.end() && pod->second.uid == uid;
}

bool ContainerAgent::IsWanted(const std::string& key, const std::string& uid) const {
  return Exists(key, uid) && !view_.pod_infos.at(key).deleting;
}

bool ContainerAgent::FindVolumes(const std::string& key, const std::string& uid,
                                 std::vector<OpenVolume>* volumes) const {
  volumes->clear();
  const volumemanager::VolumeManager* manager = machine_.manager();
  const auto pod = view_.pod_infos.find(key);
  // Only the volume manager knows whether a mount is complete.
  if (manager == nullptr || pod == view_.pod_infos.end()) return false;
  for (const std::string& name : pod->second.claims) {
    const auto claim = view_.claims.Get(StrCat(kUserNamespace, "/", name));
    if (!claim) return false;
    const auto volume = view_.volumes.Get(claim->spec().volumename());
    if (!volume) return false;
    const auto& csi = volume->spec().persistentvolumesource().csi();
    OpenVolume open;
    open.volume = csi::UniqueVolumeName(csi.driver(), csi.volumehandle());
    const volumemanager::Paths& paths = machine_.paths();
    const std::string& spec = volume->metadata().name();
    if (pod->second.block) {
      open.mounts = {StrCat(paths.BlockMap(spec), "/", uid)};
      open.files = {paths.BlockPublishTarget(spec, uid)};
      // The link leads the container to it, once.
      if (!machine_.fs().Stat(paths.PodDeviceLink(uid, spec)).ok()) return false;
    } else {
      open.mounts = {paths.PublishTarget(uid, spec),
                     paths.StagingTarget(csi.driver(), csi.volumehandle())};
    }
    const auto* mounted = manager->state().actual.Find(open.volume, uid);
    if (mounted == nullptr || mounted->state != volumemanager::PodMountState::kMounted) {
      return false;
    }
    volumes->push_back(std::move(open));
  }
  return true;
}

async::Task<bool> ContainerAgent::WriteStatus(std::string key, std::string uid,
                                              std::string status) {
  while (Exists(key, uid)) {
    // Refused for another pod of this name.
    const auto written = co_await view_.client->Patch<core::Pod>(
        kube::ObjectName::FromKey(key), kube::PatchType::kMerge,
        StrCat(R"({"metadata":{"uid":")", uid, R"("},)", status, "}"), "status");
    if (written.ok()) co_return !written->metadata().has_deletiontimestamp();
    if (!(co_await async::Sleep(kLook)).ok()) break;
  }
  co_return false;
}

async::Task<bool> ContainerAgent::WaitForVolumes(std::string key, std::string uid,
                                                 std::vector<OpenVolume>* volumes) {
  while (IsWanted(key, uid)) {
    if (machine_.up() && FindVolumes(key, uid, volumes)) co_return true;
    if (!(co_await async::Sleep(kLook)).ok()) break;
  }
  co_return false;
}

async::Task<ContainerAgent::End> ContainerAgent::RunContainers(std::string key, std::string uid) {
  FaultPlan& plan = view_.world.plan;
  const bool job = plan.Below(6) == 0;
  const bool crashes = plan.Below(4) == 0;
  for (int restarts = 0; IsWanted(key, uid); ++restarts) {
    std::vector<OpenVolume> volumes;
    if (!(co_await WriteStatus(key, uid, Waiting(restarts)))) break;
    if (!(co_await WaitForVolumes(key, uid, &volumes))) break;
    machine_.StartContainer(uid, volumes);
    (void)co_await WriteStatus(key, uid, Running(restarts));
    const MonotonicTime end = view_.world.loop.Now() + plan.Between(kLook, kLifeOfJob);
    while (IsWanted(key, uid) && machine_.Runs(uid)) {
      if (!(co_await async::Sleep(kLook)).ok()) co_return End::kAsked;
      if (view_.world.loop.Now() < end || !(job || crashes)) continue;
      machine_.StopContainer(uid);
      (void)co_await WriteStatus(key, uid, Terminated(job ? "Succeeded" : "Running", restarts));
      if (job) co_return End::kCompleted;
    }
    // It has crashed, or the machine has.
    while (!machine_.up()) {
      if (!(co_await async::Sleep(kLook)).ok()) co_return End::kAsked;
    }
  }
  co_return End::kAsked;
}

async::Task<void> ContainerAgent::StopContainer(std::string uid) {
  if (!machine_.Runs(uid)) co_return;
  (void)co_await async::Sleep(view_.world.plan.Between(kLook / 5, kGrace));
  machine_.StopContainer(uid);
}

async::Task<void> ContainerAgent::WaitUnmounted(std::string uid) {
  const std::string directory = StrCat("pods/", uid, "/");  // files
  const std::string name = StrCat("/", uid);                // devices
  while (true) {
    const std::vector<std::string> mounts = machine_.fs().Mounts();
    const auto of_pod = [&](const std::string& path) {
      return path.starts_with(directory) || path.ends_with(name);
    };
    if (std::none_of(mounts.begin(), mounts.end(), of_pod)) co_return;
    if (!(co_await async::Sleep(kLook)).ok()) co_return;
  }
}

async::Task<void> ContainerAgent::Serve(std::string key, std::string uid) {
  const End end = co_await RunContainers(key, uid);
  while (end == End::kCompleted && IsWanted(key, uid)) {
    if (!(co_await async::Sleep(kLook)).ok()) co_return;
  }
  co_await StopContainer(uid);
  while (!machine_.up()) {
    if (!(co_await async::Sleep(kLook)).ok()) co_return;
  }
  if (end == End::kAsked) (void)co_await WriteStatus(key, uid, Terminated("Running", 0));
  // As kubelet; another agent need not wait.
  if (view_.world.plan.Below(3) != 0) co_await WaitUnmounted(uid);
  kube::DeleteOptions now;
  now.uid = uid;
  now.grace_period_seconds = 0;
  while (Exists(key, uid)) {
    (void)co_await view_.client->Delete<core::Pod>(kube::ObjectName::FromKey(key), now);
    if (!(co_await async::Sleep(kLook)).ok()) co_return;
  }
}

}  // namespace csinative::sim
