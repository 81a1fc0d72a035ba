// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/claim_sync.h"

#include <algorithm>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/claim_writer.h"
#include "cmd/provisioner/data_source.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {
namespace {

std::string KeyOf(const core::PersistentVolumeClaim& claim) {
  return StrCat(claim.metadata().namespace_(), "/", claim.metadata().name());
}

log::ObjectRef RefOf(const core::PersistentVolumeClaim& claim) {
  return {claim.metadata().namespace_(), claim.metadata().name()};
}

}  // namespace

async::Task<Status> ClaimSync::Sync(std::string uid) {
  Status status = co_await SyncOnce(uid);
  if (!status.ok() && !IsCancelled(status)) {
    deps_.log.Error(status, "Failed to sync claim, retrying later", "uid", uid);
  }
  co_return status;
}

async::Task<Status> ClaimSync::SyncOnce(std::string uid) {
  const std::optional<core::PersistentVolumeClaim> claim = Find(uid);
  if (!claim) {
    deps_.log.V(4).Info("Claim is gone", "uid", uid);
    co_return Status();
  }
  const bool held = deps_.hold->IsHeld(*claim);
  if (held && MayRelease(*claim)) co_return co_await deps_.hold->Release(*claim);
  const auto klass = deps_.caches->classes().Get(ClassNameOf(*claim));
  if (klass && infeasible_.MustWait(uid, klass->metadata().uid())) {
    co_return FailedPreconditionError(
        StrCat("claim ", KeyOf(*claim), " is infeasible, its next attempt is delayed"));
  }
  // Differs: upstream forgets a claim here that the driver may still create a volume for, which is
  // lost when the claim is deleted. It stays in progress, and its deletion wakes it.
  if (!IsCandidate(*claim, deps_.names)) co_return Status();
  if (!klass) {
    // No event: the control plane's volume controller reports it.
    deps_.metrics->ProvisionFailed(*claim);
    co_return kube::CacheNotFound("storageclass.storage.k8s.io", ClassNameOf(*claim));
  }
  if (!IsReadyToBind(*claim, *klass)) {
    // The node was taken away, and only a final answer of the driver does so.
    const bool forgotten = claim->metadata().has_deletiontimestamp() && !InProgress(uid);
    if (held && forgotten) co_return co_await deps_.hold->Release(*claim);
    co_return Status();
  }
  Status status = co_await Attempt(*claim, *klass);
  if (status.ok()) in_progress_.erase(uid);
  co_return status;
}

std::optional<core::PersistentVolumeClaim> ClaimSync::Find(const std::string& uid) const {
  if (auto waiting = deps_.caches->UnboundClaim(uid)) return waiting;
  auto stored = in_progress_.find(uid);
  if (stored == in_progress_.end()) return std::nullopt;
  // Bound claims are not found by UID.
  auto current = deps_.caches->claims().Get(KeyOf(stored->second));
  if (current && current->metadata().uid() == uid) return current;
  return stored->second;
}

bool ClaimSync::IsRestoring(std::string_view snapshot_key, std::string_view except) const {
  return std::ranges::any_of(in_progress_, [&](const auto& entry) {
    return entry.first != except && ReferencedSnapshot(entry.second) == snapshot_key;
  });
}

bool ClaimSync::AlreadyHasVolume(const core::PersistentVolumeClaim& claim) const {
  const std::string& uid = claim.metadata().uid();
  if (deps_.caches->volumes().Get(StrCat("pvc-", uid))) {
    deps_.metrics->ProvisionFailed(claim);
    return true;
  }
  // Differs: upstream provisions again until its cache has the volume, and always when the volume
  // is not named pvc-<uid>.
  return HasVolume(claim);
}

bool ClaimSync::HasVolume(const core::PersistentVolumeClaim& claim) const {
  return deps_.saver->Knows(claim.metadata().uid()) || IsSaved(claim);
}

bool ClaimSync::MayRelease(const core::PersistentVolumeClaim& claim) const {
  const std::string& uid = claim.metadata().uid();
  if (IsSaved(claim)) return true;
  if (InProgress(uid) || deps_.saver->Knows(uid)) return false;
  // Bound to a volume of somebody else, or handed to another driver.
  if (!IsCandidate(claim, deps_.names)) return true;
  // One that is not on its way out will be tried again.
  return claim.metadata().has_deletiontimestamp() && deps_.hold->IsSettled(uid);
}

bool ClaimSync::IsSaved(const core::PersistentVolumeClaim& claim) const {
  const std::string& uid = claim.metadata().uid();
  if (deps_.saver->IsSaved(uid)) return true;
  const Result<std::string> name = VolumeName(deps_.naming, uid);
  if (!name.ok()) return false;
  const auto volume = deps_.caches->volumes().Get(*name);
  return volume && volume->spec().claimref().uid() == uid;
}

async::Task<Status> ClaimSync::Attempt(core::PersistentVolumeClaim claim,
                                       storage::StorageClass klass) {
  const MonotonicTime started = deps_.loop->Now();
  const std::string uid = claim.metadata().uid();
  if (AlreadyHasVolume(claim)) {
    deps_.log.V(4).Info("Volume exists already, skipping", "PVC", RefOf(claim));
    co_return Status();
  }
  if (!deps_.names.Knows(klass.provisioner())) {
    deps_.log.Error(nullptr, "Class belongs to another provisioner", "PVC", RefOf(claim), "class",
                    klass.metadata().name(), "provisioner", klass.provisioner());
    deps_.metrics->ProvisionFailed(claim);
    co_return Status();
  }
  Event(claim, kube::EventType::kNormal, "Provisioning",
        StrCat("External provisioner is provisioning volume for claim ", GoQuote(KeyOf(claim))));
  ProvisionResult result =
      co_await deps_.provisioner->Provision(claim, klass, SelectedNodeOf(claim));
  if (result.held_claim) claim = *std::move(result.held_claim);
  switch (result.kind) {
    case ProvisionResult::Kind::kVolume:
      in_progress_.erase(uid);
      // What Save() cannot store it keeps trying: for the claim this attempt has succeeded.
      co_await deps_.saver->Save(*std::move(result.volume));
      deps_.metrics->Provisioned(claim, deps_.loop->Now() - started);
      co_return Status();
    case ProvisionResult::Kind::kIgnored:
      deps_.log.V(4).Info("Claim is ignored", "PVC", RefOf(claim), "reason",
                          result.status.message());
      deps_.metrics->ProvisionFailed(claim);
      co_return Status();
    case ProvisionResult::Kind::kFailed:
      break;
  }
  deps_.metrics->ProvisionFailed(claim);
  const Status error = OnFailure(claim, klass, result);
  const bool reschedule = result.state == ProvisionState::kReschedule && !IsInfeasible(error);
  if (reschedule && apis::HasEntry(claim.metadata().annotations(), apis::kAnnSelectedNode)) {
    co_return co_await Reschedule(std::move(claim), error);
  }
  co_return error;
}

Status ClaimSync::OnFailure(const core::PersistentVolumeClaim& claim,
                            const storage::StorageClass& klass, const ProvisionResult& result) {
  const std::string& uid = claim.metadata().uid();
  const Status error = result.status;
  if (IsInfeasible(error)) {
    Event(claim, kube::EventType::kWarning, "ProvisioningFailed",
          StrCat("Volume provisioning failed with infeasible error. Retries will be delayed. ",
                 error.message()));
    infeasible_.Add(uid, klass.metadata().uid());
    in_progress_.erase(uid);
    if (deps_.hold->IsHeld(claim)) deps_.hold->Settle(uid);
    return error;
  }
  Event(claim, kube::EventType::kWarning, "ProvisioningFailed", error.message());
  switch (result.state) {
    case ProvisionState::kInBackground:
      in_progress_[uid] = claim;
      deps_.hold->Unsettle(uid);
      break;
    case ProvisionState::kFinished:
    case ProvisionState::kReschedule:
      in_progress_.erase(uid);
      if (deps_.hold->IsHeld(claim)) deps_.hold->Settle(uid);
      break;
    case ProvisionState::kNoChange:
      break;
  }
  return error;
}

async::Task<Status> ClaimSync::Reschedule(core::PersistentVolumeClaim claim, Status error) {
  auto edited = co_await EditClaim(deps_.client, claim, RemoveAnnotation(apis::kAnnSelectedNode));
  Status removed = edited.status();
  if (!removed.ok()) {
    deps_.log.Error(removed, "Failed to remove the selected node", "PVC", RefOf(claim));
    co_return error;
  }
  deps_.log.V(2).Info("Selected node removed, waiting for another one", "PVC", RefOf(claim));
  // Until the watch delivers the change, a sync must not see the old node again. A newer object in
  // the cache stays.
  const auto cached = deps_.caches->claims().Get(KeyOf(claim));
  if (cached && cached->metadata().resourceversion() == claim.metadata().resourceversion()) {
    apis::EraseEntry(claim.mutable_metadata()->mutable_annotations(), apis::kAnnSelectedNode);
    deps_.caches->claims().OverwriteForNow(claim);
  }
  co_return Status();
}

void ClaimSync::Event(const core::PersistentVolumeClaim& claim, kube::EventType type,
                      std::string reason, std::string message) {
  deps_.events.Record(kube::ReferenceTo(claim), type, std::move(reason), std::move(message));
}

}  // namespace csinative::provisioner
