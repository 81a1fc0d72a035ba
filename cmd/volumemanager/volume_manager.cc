// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/volume_manager.h"

#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/volumemanager/reconstruction.h"
#include "lib/async/scope.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::volumemanager {
namespace {

// How often the disk is read at the start as long as something that is left cannot be removed, and
// how long that may take to change: a removed mount can be busy for a moment.
constexpr int kScans = 5;
constexpr Duration kScanAgainAfter = std::chrono::milliseconds(200);

// The same for reading from the API which volume it is that the disk does not tell: until then
// nothing is unmounted, and nothing taken off the Node's list.
constexpr int kReads = 60;
constexpr Duration kReadAgainAfter = std::chrono::seconds(1);

// Pod: the UID that a static pod has on its node. Its mirror bears it under both keys.
constexpr std::string_view kAnnConfigHash = "kubernetes.io/config.hash";

void PruneMetadata(meta::ObjectMeta* metadata) {
  metadata->clear_ownerreferences();
  metadata->clear_creationtimestamp();
  metadata->clear_generation();
  metadata->clear_generatename();
  metadata->clear_selflink();
  metadata->clear_finalizers();
}

// Labels decide on node affinity, the two lists on attachment.
void PruneNode(core::Node* node) {
  PruneMetadata(node->mutable_metadata());
  node->mutable_metadata()->clear_annotations();
  node->clear_spec();
  core::NodeStatus status;
  status.mutable_volumesinuse()->Swap(node->mutable_status()->mutable_volumesinuse());
  status.mutable_volumesattached()->Swap(node->mutable_status()->mutable_volumesattached());
  *node->mutable_status() = std::move(status);
}

template <typename Container>
void PruneContainer(Container* container) {
  Container kept;
  kept.set_name(container->name());
  for (const core::VolumeMount& mount : container->volumemounts()) {
    kept.add_volumemounts()->set_name(mount.name());
  }
  for (const core::VolumeDevice& device : container->volumedevices()) {
    kept.add_volumedevices()->set_name(device.name());
  }
  *container = std::move(kept);
}

void PruneStatuses(google::protobuf::RepeatedPtrField<core::ContainerStatus>* statuses) {
  for (core::ContainerStatus& status : *statuses) {
    core::ContainerStatus kept;
    kept.set_name(status.name());
    // Which of the three it is, not since when.
    if (status.state().has_running()) kept.mutable_state()->mutable_running();
    if (status.state().has_terminated()) kept.mutable_state()->mutable_terminated();
    if (status.state().has_waiting()) kept.mutable_state()->mutable_waiting();
    status = std::move(kept);
  }
}

void PruneSpec(core::PodSpec* spec) {
  core::PodSpec kept;
  for (core::Volume& volume : *spec->mutable_volumes()) {
    core::Volume* copy = kept.add_volumes();
    copy->set_name(volume.name());
    core::VolumeSource* source = volume.mutable_volumesource();
    if (source->has_csi()) {
      copy->mutable_volumesource()->mutable_csi()->Swap(source->mutable_csi());
    } else if (source->has_persistentvolumeclaim()) {
      *copy->mutable_volumesource()->mutable_persistentvolumeclaim() =
          source->persistentvolumeclaim();
    } else if (source->has_ephemeral()) {
      copy->mutable_volumesource()->mutable_ephemeral();
    }
  }
  kept.mutable_initcontainers()->Swap(spec->mutable_initcontainers());
  kept.mutable_containers()->Swap(spec->mutable_containers());
  kept.mutable_ephemeralcontainers()->Swap(spec->mutable_ephemeralcontainers());
  for (core::Container& container : *kept.mutable_initcontainers()) PruneContainer(&container);
  for (core::Container& container : *kept.mutable_containers()) PruneContainer(&container);
  for (core::EphemeralContainer& container : *kept.mutable_ephemeralcontainers()) {
    PruneContainer(container.mutable_ephemeralcontainercommon());
    container.clear_targetcontainername();
  }
  kept.set_serviceaccountname(spec->serviceaccountname());
  kept.set_terminationgraceperiodseconds(spec->terminationgraceperiodseconds());
  if (spec->securitycontext().has_fsgroup()) {
    kept.mutable_securitycontext()->set_fsgroup(spec->securitycontext().fsgroup());
  }
  if (spec->securitycontext().has_fsgroupchangepolicy()) {
    kept.mutable_securitycontext()->set_fsgroupchangepolicy(
        spec->securitycontext().fsgroupchangepolicy());
  }
  *spec = std::move(kept);
}

void PrunePod(core::Pod* pod) {
  meta::ObjectMeta* metadata = pod->mutable_metadata();
  PruneMetadata(metadata);
  metadata->clear_labels();
  const bool mirror = apis::HasEntry(metadata->annotations(), apis::kAnnConfigMirror);
  apis::KeepEntries(metadata->mutable_annotations(), [mirror](std::string_view key) {
    return mirror && (key == apis::kAnnConfigMirror || key == kAnnConfigHash);
  });
  PruneSpec(pod->mutable_spec());
  core::PodStatus status;
  status.set_phase(pod->status().phase());
  // Whether there is one.
  if (pod->status().has_starttime()) status.mutable_starttime();
  status.mutable_initcontainerstatuses()->Swap(
      pod->mutable_status()->mutable_initcontainerstatuses());
  status.mutable_containerstatuses()->Swap(pod->mutable_status()->mutable_containerstatuses());
  status.mutable_ephemeralcontainerstatuses()->Swap(
      pod->mutable_status()->mutable_ephemeralcontainerstatuses());
  PruneStatuses(status.mutable_initcontainerstatuses());
  PruneStatuses(status.mutable_containerstatuses());
  PruneStatuses(status.mutable_ephemeralcontainerstatuses());
  *pod->mutable_status() = std::move(status);
}

// Whether reading an object again can help.
bool MayPass(const Status& failure) {
  return !kube::IsNotFound(failure) && !kube::IsForbidden(failure) &&
         failure.code() != Code::kInvalidArgument;
}

bool IsMirror(const core::Pod& pod) {
  return apis::HasEntry(pod.metadata().annotations(), apis::kAnnConfigMirror);
}

}  // namespace

VolumeManager::VolumeManager(Deps deps)
    : deps_(std::move(deps)),
      paths_(deps_.config.root),
      state_(*deps_.loop, {.settle = deps_.config.settle, .force_delay = deps_.config.force_delay}),
      broadcaster_(*deps_.loop, *deps_.random, *deps_.event_client, deps_.log),
      // Whoever reads events looks for kubelet's.
      events_(broadcaster_, "kubelet", deps_.config.node),
      nodes_(*deps_.loop, *deps_.random, *deps_.client, deps_.log,
             {.field_selector = StrCat("metadata.name=", deps_.config.node)}),
      driver_objects_(*deps_.loop, *deps_.random, *deps_.client, deps_.log),
      pods_(*deps_.loop, *deps_.random, *deps_.client, deps_.log,
            {.field_selector = StrCat("spec.nodeName=", deps_.config.node)}),
      node_info_(*deps_.client, *deps_.random, deps_.log, deps_.config.node),
      backend_({.client = deps_.client,
                .fs = deps_.fs,
                .blocking = deps_.blocking,
                .drivers = &drivers_,
                .driver_object = [this](const std::string& name) { return DriverObject(name); },
                .maybe_staged_before =
                    [this](const std::string& name) {
                      const ActualVolume* volume = state_.actual.Find(name);
                      return volume != nullptr && volume->reconstructed &&
                             volume->device == DeviceState::kUncertain;
                    },
                .config = deps_.config,
                .log = deps_.log}),
      populator_(
          {.loop = deps_.loop,
           .random = deps_.random,
           .client = deps_.client,
           .events = &events_,
           .state = &state_,
           .traits = [this](const std::string& name) { return TraitsOf(DriverObject(name)); },
           .config = deps_.config,
           .log = deps_.log}),
      reconciler_({.loop = deps_.loop,
                   .state = &state_,
                   .backend = &backend_,
                   .events = &events_,
                   .node = [this] { return nodes_.Get(deps_.config.node); },
                   .config = deps_.config,
                   .log = deps_.log}),
      in_use_({.loop = deps_.loop,
               .client = deps_.client,
               .nodes = &nodes_,
               .state = &state_,
               .config = deps_.config,
               .log = deps_.log}),
      directories_({.loop = deps_.loop,
                    .fs = deps_.fs,
                    .blocking = deps_.blocking,
                    .state = &state_,
                    .config = deps_.config,
                    .log = deps_.log}),
      sockets_({.loop = deps_.loop,
                .fs = deps_.fs,
                .blocking = deps_.blocking,
                .watch = deps_.watch,
                .connector = deps_.connector,
                .drivers = &drivers_,
                .node_info = &node_info_,
                .root = deps_.config.root,
                .log = deps_.log}) {
  FeedControllers();
}

void VolumeManager::FeedControllers() {
  nodes_.set_prune(PruneNode);
  pods_.set_prune(PrunePod);
  auto on_node = [this](const core::Node& node) {
    in_use_.OnNode(node);
    node_info_.OnNode(node.metadata().uid());
    state_.reconcile.Notify();
  };
  nodes_.AddHandler({.on_add = [on_node](const core::Node& n, kube::AddKind) { on_node(n); },
                     .on_update = [on_node](const core::Node&, const core::Node& n) { on_node(n); },
                     .on_delete = nullptr});
  auto on_driver = [this] { populator_.OnDriverChanged(); };
  driver_objects_.AddHandler(
      {.on_add = [on_driver](const storage::CSIDriver&, kube::AddKind) { on_driver(); },
       .on_update = [on_driver](const storage::CSIDriver&,
                                const storage::CSIDriver&) { on_driver(); },
       .on_delete = [on_driver](const storage::CSIDriver&) { on_driver(); }});
  pods_.AddHandler({.on_add = [this](const core::Pod& pod, kube::AddKind) { OnPod(pod); },
                    .on_update =
                        [this](const core::Pod& old_pod, const core::Pod& pod) {
                          // A new pod under an old name.
                          if (old_pod.metadata().uid() != pod.metadata().uid()) {
                            populator_.OnPodGone(old_pod);
                          }
                          OnPod(pod);
                        },
                    .on_delete = [this](const core::Pod& pod) { populator_.OnPodGone(pod); }});
  drivers_.set_on_change([this] {
    // What failed for want of a driver need not wait any longer.
    state_.pending.ClearBackoff();
    state_.reconcile.Notify();
  });
}

void VolumeManager::OnPod(const core::Pod& pod) {
  if (!IsMirror(pod)) return populator_.OnPod(pod);
  // Directories of a static pod bear the hash of its configuration.
  for (const std::string_view key : {apis::kAnnConfigMirror, kAnnConfigHash}) {
    state_.pods.AddStatic(std::string(apis::GetEntryOr(pod.metadata().annotations(), key)));
  }
}

async::Task<Result<DiskScan>> VolumeManager::ReadDisk() {
  co_return co_await async::Blocking(
      *deps_.blocking, [fs = deps_.fs, paths = paths_]() -> Result<DiskScan> {
        CSI_RETURN_IF_ERROR(fs->MakeDirectories(paths.Pods(), kDirectoryMode));
        CSI_RETURN_IF_ERROR(fs->MakeDirectories(paths.Plugins(), kDirectoryMode));
        CSI_RETURN_IF_ERROR(fs->MakeDirectories(paths.Registry(), kDirectoryMode));
        return ScanDisk(*fs, paths);
      });
}

async::Task<Status> VolumeManager::PrepareDisk() {
  auto scan = co_await ReadDisk();
  // Nothing else looks at what is left of volumes that are gone until the next start.
  for (int tries = 1; scan.ok() && scan->refused && tries < kScans; ++tries) {
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(kScanAgainAfter));
    scan = co_await ReadDisk();
  }
  if (!scan.ok()) co_return scan.status();
  for (const std::string& failure : scan->failures) {
    deps_.log.Error(failure, "Could not reconstruct a volume information");
  }
  AddFound(*scan, &state_.actual);
  for (const std::string& uid : scan->pods) state_.pods.AddDirectory(uid);
  unreadable_ = std::move(scan->unreadable);
  deps_.log.Info("Reconstructed volumes from disk", "volumes", scan->volumes.size());
  co_return Status();
}

async::Task<Result<VolumeSpec>> VolumeManager::ReadSpec(std::string volume) {
  auto object = co_await deps_.client->Get<core::PersistentVolume>({"", volume});
  if (!object.ok()) co_return object.status();
  if (!object->spec().persistentvolumesource().has_csi()) {
    co_return InvalidArgumentError(StrCat("PV ", volume, " is not of a CSI driver"));
  }
  co_return SpecOf(*object, false);
}

// Differs: upstream tries to unmount such a volume once, which fails, and then lets go of it: it
// can be detached while it is mounted.
async::Task<void> VolumeManager::Identify(std::vector<UnreadableVolume> volumes) {
  // Before that nobody can be asked.
  if (!volumes.empty() && !(co_await nodes_.WaitForSync()).ok()) co_return;
  for (const UnreadableVolume& volume : volumes) {
    auto spec = co_await ReadSpec(volume.name);
    for (int tries = 1; tries < kReads && !spec.ok() && MayPass(spec.status()); ++tries) {
      if (!(co_await async::Sleep(kReadAgainAfter)).ok()) co_return;
      spec = co_await ReadSpec(volume.name);
    }
    const std::string path = paths_.PublishTarget(volume.uid, volume.name);
    if (spec.ok()) {
      AddUnreadable(*spec, volume.uid, paths_, &state_.actual);
      deps_.log.Error(nullptr, "Volume without readable vol_data.json is left mounted", "path",
                      path, "driver", spec->driver, "volumeHandle", spec->handle);
    } else {
      deps_.log.Error(spec.status(), "Unknown volume is left mounted", "path", path);
    }
  }
  state_.disk_known = true;
  state_.reconcile.Notify();
}

async::Task<void> VolumeManager::WatchPods(async::Scope* scope) {
  // A driver that is not known yet would count as one that needs attaching.
  Status synced = co_await driver_objects_.WaitForSync();
  if (synced.ok()) synced = co_await nodes_.WaitForSync();
  if (!synced.ok()) co_return;
  scope->Spawn(pods_.Run());
  synced = co_await pods_.WaitForSync();
  if (!synced.ok()) co_return;
  deps_.log.Info("The node's pods are known", "pods", pods_.size());
  populator_.OnListed();
}

async::Task<Status> VolumeManager::Run() {
  CSI_CO_RETURN_IF_ERROR(co_await PrepareDisk());
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*deps_.loop, context.cancel);
  deps_.log.Info("Starting volume manager", "node", deps_.config.node, "root", deps_.config.root);
  scope.Spawn(broadcaster_.Run());
  scope.Spawn(Identify(std::move(unreadable_)));
  scope.Spawn(nodes_.Run());
  scope.Spawn(driver_objects_.Run());
  scope.Spawn(WatchPods(&scope));
  scope.Spawn(node_info_.Run());
  scope.Spawn(sockets_.Run());
  scope.Spawn(populator_.Run());
  scope.Spawn(reconciler_.Run());
  scope.Spawn(in_use_.Run());
  scope.Spawn(directories_.Run());
  co_await scope.Join();
  co_return Status();
}

}  // namespace csinative::volumemanager
