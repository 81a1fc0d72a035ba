// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/volume_sync.h"

#include "cmd/provisioner/pv_finalizers.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {

async::Task<Status> VolumeSync::Sync(std::string name) {
  const std::optional<core::PersistentVolume> cached = deps_.caches->volumes().Get(name);
  if (!cached || !IsOwned(*cached, deps_.names)) co_return Status();
  auto volume = co_await MaintainFinalizer(*cached);
  if (!volume.ok()) {
    deps_.log.Error(volume.status(), "Failed to patch the finalizers", "PV", name);
    co_return volume.status();
  }
  if (!ShouldDelete(*volume)) co_return Status();
  co_return co_await Delete(*std::move(volume));
}

bool VolumeSync::Done(const core::PersistentVolume& volume, Step step) const {
  auto it = progress_.find(volume.metadata().name());
  return it != progress_.end() && it->second.uid == volume.metadata().uid() &&
         it->second.step >= step;
}

void VolumeSync::Remember(const core::PersistentVolume& volume, Step step) {
  const std::string& name = volume.metadata().name();
  // The object may have gone while a call was on its way: then nobody will ask, or forget.
  if (deps_.caches->volumes().Get(name)) progress_[name] = {volume.metadata().uid(), step};
}

async::Task<Result<core::PersistentVolume>> VolumeSync::MaintainFinalizer(
    core::PersistentVolume volume) {
  std::string body;
  switch (NeededFinalizerAction(volume)) {
    case FinalizerAction::kNone:
      co_return std::move(volume);
    case FinalizerAction::kAdd:
      body = AddFinalizerPatch(volume);
      break;
    case FinalizerAction::kRemove:
      body = RemoveFinalizerPatch(volume);
      break;
  }
  co_return co_await deps_.client->Patch<core::PersistentVolume>(
      {"", volume.metadata().name()}, kube::PatchType::kStrategic, std::move(body));
}

async::Task<Status> VolumeSync::Delete(core::PersistentVolume volume) {
  const MonotonicTime started = deps_.loop->Now();
  const bool counted = Done(volume, Step::kObjectDeleted);
  Status status = co_await DeleteSteps(volume);
  if (!status.ok()) {
    deps_.metrics->DeleteFailed(volume);
  } else if (!counted) {
    deps_.metrics->Deleted(volume, deps_.loop->Now() - started);
  }
  co_return status;
}

async::Task<Status> VolumeSync::DeleteSteps(core::PersistentVolume volume) {
  const std::string& name = volume.metadata().name();
  if (!Done(volume, Step::kStorageDeleted)) {
    Status deleted = co_await deps_.deletion->Delete(volume);
    if (!deleted.ok()) {
      deps_.log.Error(deleted, "Failed to delete the volume", "PV", name);
      deps_.events.Record(kube::ReferenceTo(volume), kube::EventType::kWarning,
                          "VolumeFailedDelete", deleted.message());
      co_return deleted;
    }
    deps_.log.V(2).Info("Volume is deleted at the driver", "PV", name);
    Remember(volume, Step::kStorageDeleted);
  }
  if (!Done(volume, Step::kObjectDeleted)) {
    // Differs: upstream would also delete another volume that has got this name meanwhile.
    Status deleted = co_await deps_.client->Delete<core::PersistentVolume>(
        {"", name}, {.uid = volume.metadata().uid()});
    // Differs: upstream calls an object that is gone already a failure and tries once more.
    if (!deleted.ok() && !kube::IsNotFound(deleted)) {
      deps_.log.Error(deleted, "Failed to delete the volume's object", "PV", name);
      co_return deleted;
    }
    Remember(volume, Step::kObjectDeleted);
  }
  co_return co_await ReleaseObject(std::move(volume));
}

async::Task<Status> VolumeSync::ReleaseObject(core::PersistentVolume volume) {
  if (volume.metadata().finalizers().empty() || Done(volume, Step::kFinalizerRemoved)) {
    co_return Status();
  }
  const std::string name = volume.metadata().name();
  const std::optional<core::PersistentVolume> current = deps_.caches->volumes().Get(name);
  if (!current || current->metadata().uid() != volume.metadata().uid() ||
      !HasVolumeFinalizer(*current)) {
    co_return Status();
  }
  auto patched = co_await deps_.client->Patch<core::PersistentVolume>(
      {"", name}, kube::PatchType::kStrategic, RemoveFinalizerPatch(*current));
  if (!patched.ok() && !kube::IsNotFound(patched.status())) {
    deps_.log.Error(patched.status(), "Failed to remove the finalizer", "PV", name);
    co_return patched.status();
  }
  Remember(volume, Step::kFinalizerRemoved);
  co_return Status();
}

}  // namespace csinative::provisioner
