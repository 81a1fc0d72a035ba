// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/volume_saver.h"

#include <chrono>
#include <utility>

#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {
namespace {

// Upstream gives the first try no limit at all. One that hangs is as good as failed: it moves on to
// the queue, and a volume that was saved after all answers AlreadyExists.
constexpr Duration kPostTimeout = std::chrono::seconds(60);
constexpr Duration kSavedExpiry = std::chrono::seconds(60);
constexpr int kWorkers = 4;  // sig-storage-lib-external-provisioner, NewVolumeStoreQueue users

// Whether both stand for the same volume of the same claim.
bool IsSame(const core::PersistentVolume& a, const core::PersistentVolume& b) {
  return a.spec().claimref().uid() == b.spec().claimref().uid() &&
         a.spec().persistentvolumesource().csi().volumehandle() ==
             b.spec().persistentvolumesource().csi().volumehandle();
}

}  // namespace

VolumeSaver::VolumeSaver(Deps deps)
    : deps_(std::move(deps)),
      queue_(*deps_.loop, {.name = "unsavedpvs",
                           .limiter = kube::NewDefaultControllerLimiter(*deps_.loop),
                           .metrics = deps_.queue_metrics}) {}

async::Task<void> VolumeSaver::Save(core::PersistentVolume volume) {
  const std::string name = volume.metadata().name();
  Status status = co_await async::Shielded(async::WithTimeout(kPostTimeout, Post(volume)));
  if (status.ok()) co_return;
  deps_.log.Error(status, "Failed to save volume, it is queued", "PV", name);
  unsaved_[name] = std::move(volume);
  queue_.Add(name);
}

async::Task<Status> VolumeSaver::Post(core::PersistentVolume volume) {
  const std::string name = volume.metadata().name();
  const std::string claim_uid = volume.spec().claimref().uid();
  std::optional<core::PersistentVolume> other;
  Status created = (co_await deps_.client->Create(volume)).status();
  if (kube::IsAlreadyExists(created)) {
    // Mostly our own, whose answer was lost. Who may not read it takes it for that, as upstream.
    auto found = co_await deps_.client->Get<core::PersistentVolume>({"", name});
    if (!found.ok() && !kube::IsNotFound(found.status()) && !kube::IsForbidden(found.status())) {
      co_return found.status();
    }
    if (found.ok() && !IsSame(*found, volume)) other = *std::move(found);
    created = Status();
  }
  if (!created.ok()) co_return created;
  const MonotonicTime now = deps_.loop->Now();
  std::erase_if(saved_, [&](const auto& entry) { return now - entry.second >= kSavedExpiry; });
  if (!deps_.caches->volumes().Get(name)) saved_[claim_uid] = now;
  Tell(volume, other);
  if (deps_.on_saved) deps_.on_saved(claim_uid);
  co_return Status();
}

void VolumeSaver::Tell(const core::PersistentVolume& volume,
                       const std::optional<core::PersistentVolume>& other) {
  const std::string& name = volume.metadata().name();
  const core::ObjectReference& owner = volume.spec().claimref();
  // Differs: upstream looks among claims that are not bound. The control plane is often faster than
  // an answer that has to be asked for twice.
  auto claim = deps_.caches->claims().Get(StrCat(owner.namespace_(), "/", owner.name()));
  if (claim && claim->metadata().uid() != owner.uid()) claim.reset();
  if (!other) {
    deps_.log.V(4).Info("Volume is saved", "PV", name);
    if (!claim) return;
    deps_.events.Record(kube::ReferenceTo(*claim), kube::EventType::kNormal,
                        "ProvisioningSucceeded", StrCat("Successfully provisioned volume ", name));
    return;
  }
  const auto handle = [](const core::PersistentVolume& of) {
    return of.spec().persistentvolumesource().csi().volumehandle();
  };
  deps_.log.Error(nullptr, "Another volume has the name of the one that was made", "PV", name,
                  "handle", handle(volume), "otherHandle", handle(*other), "otherClaim",
                  other->spec().claimref().uid());
  if (!claim) return;
  deps_.events.Record(kube::ReferenceTo(*claim), kube::EventType::kWarning, "ProvisioningFailed",
                      StrCat("PersistentVolume ", name, " exists already and is not the volume ",
                             handle(volume), " that was made for this claim"));
}

async::Task<Status> VolumeSaver::Retry(std::string name) {
  auto it = unsaved_.find(name);
  if (it == unsaved_.end()) co_return Status();
  Status status = co_await async::WithTimeout(kPostTimeout, Post(it->second));
  if (status.ok()) {
    unsaved_.erase(name);
  } else {
    deps_.log.Error(status, "Failed to save volume", "PV", name);
  }
  co_return status;
}

async::Task<void> VolumeSaver::Run() {
  co_await kube::RunWorkers(&queue_, kWorkers,
                            [this](std::string name) { return Retry(std::move(name)); });
}

bool VolumeSaver::IsSaved(const std::string& claim_uid) const {
  auto it = saved_.find(claim_uid);
  return it != saved_.end() && deps_.loop->Now() - it->second < kSavedExpiry;
}

bool VolumeSaver::Knows(const std::string& claim_uid) const {
  if (IsSaved(claim_uid)) return true;
  for (const auto& [name, volume] : unsaved_) {
    if (volume.spec().claimref().uid() == claim_uid) return true;
  }
  return false;
}

void VolumeSaver::Seen(const core::PersistentVolume& volume) {
  saved_.erase(volume.spec().claimref().uid());
}

}  // namespace csinative::provisioner
