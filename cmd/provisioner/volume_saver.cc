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

async::Task<Status> Create(kube::Client* client, core::PersistentVolume volume) {
  auto created = co_await client->Create(std::move(volume));
  if (!created.ok() && kube::IsAlreadyExists(created.status())) co_return Status();
  co_return created.status();
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
  CSI_CO_RETURN_IF_ERROR(co_await Create(deps_.client, std::move(volume)));
  const MonotonicTime now = deps_.loop->Now();
  std::erase_if(saved_, [&](const auto& entry) { return now - entry.second >= kSavedExpiry; });
  if (!deps_.caches->volumes().Get(name)) saved_[claim_uid] = now;
  deps_.log.V(4).Info("Volume is saved", "PV", name);
  if (const auto claim = deps_.caches->UnboundClaim(claim_uid)) {
    deps_.events.Record(kube::ReferenceTo(*claim), kube::EventType::kNormal,
                        "ProvisioningSucceeded", StrCat("Successfully provisioned volume ", name));
  }
  if (deps_.on_saved) deps_.on_saved(claim_uid);
  co_return Status();
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
