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
  if (held && MayRelease(*claim)) {
    End(*claim);
    co_return co_await deps_.hold->Release(*claim);
  }
  // Differs: upstream looks for class, secret and source again, which have often gone with the
  // claim: then the driver is never asked again, and the volume is lost.
  if (auto asked = ToRepeat(*claim)) co_return co_await Repeat(*claim, std::move(asked));
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
    const bool forgotten = claim->metadata().has_deletiontimestamp() && !InProgress(uid);
    if (!held || !forgotten) co_return Status();
    // The node was taken away, as a final answer of the driver does. If it went for another reason,
    // nobody will choose one any more, and the driver has to be asked without.
    if (!deps_.hold->IsDoubtful(uid)) co_return co_await deps_.hold->Release(*claim);
  }
  co_return co_await Attempt(*claim, *klass);
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

bool ClaimSync::IsGone(const core::PersistentVolumeClaim& claim) const {
  const auto current = deps_.caches->claims().Get(KeyOf(claim));
  return !current || current->metadata().uid() != claim.metadata().uid();
}

std::shared_ptr<const Preparation> ClaimSync::ToRepeat(
    const core::PersistentVolumeClaim& claim) const {
  auto asked = prepared_.find(claim.metadata().uid());
  if (asked == prepared_.end()) return nullptr;
  // A held claim on its way out is there only for our sake.
  const bool leaves = claim.metadata().has_deletiontimestamp() && deps_.hold->IsHeld(claim);
  return leaves || IsGone(claim) ? asked->second : nullptr;
}

template <typename Predicate>
bool ClaimSync::IsCreatingFor(Predicate predicate) const {
  const auto matches = [&](const auto& entry) {
    const core::PersistentVolumeClaim& claim = entry.second;
    if (!predicate(claim)) return false;
    const auto current = deps_.caches->claims().Get(KeyOf(claim));
    return !current || current->metadata().uid() != entry.first ||
           current->spec().volumename().empty();
  };
  return std::ranges::any_of(in_progress_, matches) || std::ranges::any_of(running_, matches);
}

bool ClaimSync::IsRestoring(std::string_view snapshot_key, std::string_view except) const {
  return IsCreatingFor([&](const core::PersistentVolumeClaim& claim) {
    return claim.metadata().uid() != except && ReferencedSnapshot(claim) == snapshot_key;
  });
}

bool ClaimSync::IsCloning(std::string_view source_key) const {
  return IsCreatingFor([&](const core::PersistentVolumeClaim& claim) {
    return ReferencedClaim(claim) == source_key;
  });
}

void ClaimSync::Forget(const std::string& uid) {
  deps_.hold->Unsettle(uid);
  // What runs at this moment ends by itself.
  if (!InProgress(uid) && !running_.contains(uid)) deps_.provisioner->Forget(uid);
}

void ClaimSync::End(const core::PersistentVolumeClaim& claim) {
  const std::string& uid = claim.metadata().uid();
  in_progress_.erase(uid);
  prepared_.erase(uid);
  if (!IsGone(claim)) return;
  Forget(uid);
  if (deps_.on_ended) deps_.on_ended(claim);
}

bool ClaimSync::AlreadyHasVolume(const core::PersistentVolumeClaim& claim) const {
  const bool usual =
      deps_.caches->volumes().Get(StrCat("pvc-", claim.metadata().uid())).has_value();
  if (usual) deps_.metrics->ProvisionFailed(claim);
  // Differs: upstream provisions again until its cache has the volume, and always when the volume
  // is not named pvc-<uid>.
  if (!usual && !HasVolume(claim)) return false;
  deps_.log.V(4).Info("Volume exists already, skipping", "PVC", RefOf(claim));
  return true;
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
  if (AlreadyHasVolume(claim)) {
    End(claim);
    co_return Status();
  }
  if (!deps_.names.Knows(klass.provisioner())) {
    deps_.log.Error(nullptr, "Class belongs to another provisioner", "PVC", RefOf(claim), "class",
                    klass.metadata().name(), "provisioner", klass.provisioner());
    deps_.metrics->ProvisionFailed(claim);
    co_return Status();
  }
  co_return co_await Conclude(claim, klass.metadata().uid(),
                              deps_.provisioner->Provision(claim, klass, SelectedNodeOf(claim)));
}

async::Task<Status> ClaimSync::Repeat(core::PersistentVolumeClaim claim,
                                      std::shared_ptr<const Preparation> preparation) {
  if (AlreadyHasVolume(claim)) {
    End(claim);
    co_return Status();
  }
  co_return co_await Conclude(std::move(claim), "", deps_.provisioner->Ask(std::move(preparation)));
}

async::Task<Status> ClaimSync::Conclude(core::PersistentVolumeClaim claim, std::string class_uid,
                                        async::Task<ProvisionResult> attempt) {
  const MonotonicTime started = deps_.loop->Now();
  const std::string uid = claim.metadata().uid();
  Event(claim, kube::EventType::kNormal, "Provisioning",
        StrCat("External provisioner is provisioning volume for claim ", GoQuote(KeyOf(claim))));
  running_[uid] = claim;
  ProvisionResult result = co_await std::move(attempt);
  running_.erase(uid);
  if (result.held_claim) claim = *std::move(result.held_claim);
  switch (result.kind) {
    case ProvisionResult::Kind::kVolume:
      End(claim);
      // What Save() cannot store it keeps trying: for the claim this attempt has succeeded.
      co_await deps_.saver->Save(*std::move(result.volume));
      deps_.metrics->Provisioned(claim, deps_.loop->Now() - started);
      co_return Status();
    case ProvisionResult::Kind::kIgnored:
      deps_.log.V(4).Info("Claim is ignored", "PVC", RefOf(claim), "reason",
                          result.status.message());
      deps_.metrics->ProvisionFailed(claim);
      if (!InProgress(uid)) End(claim);
      co_return Status();
    case ProvisionResult::Kind::kFailed:
      break;
  }
  deps_.metrics->ProvisionFailed(claim);
  const Status error = OnFailure(claim, class_uid, result);
  if (!InProgress(uid)) End(claim);
  const bool reschedule = result.state == ProvisionState::kReschedule && !IsInfeasible(error);
  if (!reschedule || IsGone(claim) ||
      !apis::HasEntry(claim.metadata().annotations(), apis::kAnnSelectedNode)) {
    co_return error;
  }
  const bool known = result.driver_asked || InProgress(uid) || deps_.hold->IsSettled(uid);
  if (!known && deps_.hold->IsHeld(claim)) deps_.hold->Doubt(uid);
  co_return co_await Reschedule(std::move(claim), error);
}

Status ClaimSync::OnFailure(const core::PersistentVolumeClaim& claim, const std::string& class_uid,
                            const ProvisionResult& result) {
  const std::string& uid = claim.metadata().uid();
  const Status error = result.status;
  if (IsInfeasible(error)) {
    Event(claim, kube::EventType::kWarning, "ProvisioningFailed",
          StrCat("Volume provisioning failed with infeasible error. Retries will be delayed. ",
                 error.message()));
    if (!class_uid.empty()) infeasible_.Add(uid, class_uid);
    in_progress_.erase(uid);
    if (deps_.hold->IsHeld(claim)) deps_.hold->Settle(uid);
    return error;
  }
  Event(claim, kube::EventType::kWarning, "ProvisioningFailed", error.message());
  // Differs: upstream forgets claims in progress here, also for faults of class and parameters.
  if (!result.driver_asked) return error;
  switch (result.state) {
    case ProvisionState::kInBackground:
      in_progress_[uid] = claim;
      deps_.hold->Unsettle(uid);
      prepared_[uid] = result.preparation;
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
