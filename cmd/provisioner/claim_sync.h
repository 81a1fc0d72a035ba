// SPDX-License-Identifier: Apache-2.0
//
// One look at one claim: whether it needs a volume from us now, an attempt to make it, and what
// follows from how that ended (provisioner 5, 6). Loop only.
//
// Memory of a claim: one whose volume the driver may still be creating is kept, so that it is
// driven to an end even if it is deleted meanwhile, or was bound to another volume or lost its node
// before that; an infeasible one is left alone for a while. What the driver was asked is kept too:
// claims go together with secret, source and class, as with their namespace. Only an answer of the
// driver, or a saved volume, ends it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/provisioner/caches.h"
#include "cmd/provisioner/claim_filter.h"
#include "cmd/provisioner/claim_hold.h"
#include "cmd/provisioner/infeasible_claims.h"
#include "cmd/provisioner/metrics.h"
#include "cmd/provisioner/provision.h"
#include "cmd/provisioner/volume_saver.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class ClaimSync {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    async::EventLoop* loop;
    kube::Client* client;
    Caches* caches;
    Provisioner* provisioner;
    VolumeSaver* saver;
    ProvisionMetrics* metrics;
    kube::EventRecorder events;
    log::Logger log;
    DriverNames names;
    VolumeNaming naming;
    ClaimHold* hold;
    // The claim is gone, and the driver makes no volume for it.
    std::function<void(const core::PersistentVolumeClaim&)> on_ended = {};
  };
  explicit ClaimSync(Deps deps) : deps_(std::move(deps)), infeasible_(*deps_.loop) {}

  // Whether the claim is worth a sync: what the queue takes.
  bool Wants(const core::PersistentVolumeClaim& claim) const {
    return IsCandidate(claim, deps_.names) || InProgress(claim.metadata().uid()) ||
           deps_.hold->IsHeld(claim);
  }

  // Ok: nothing more to do until the claim changes. A failure: again after a back-off.
  async::Task<Status> Sync(std::string uid);

  // A claim whose volume the driver may be creating, other than the one with the UID `except`, is
  // to be filled from this snapshot. One that got another volume does not count: it may stay for
  // ever, and its source with it.
  bool IsRestoring(std::string_view snapshot_key, std::string_view except = {}) const;
  // The same for the source of a clone.
  bool IsCloning(std::string_view source_key) const;

  // The claim is gone.
  void Forget(const std::string& uid);

  // Its volume is saved, or waits to be.
  bool HasVolume(const core::PersistentVolumeClaim& claim) const;

  // The driver may be creating a volume for this claim.
  bool InProgress(const std::string& uid) const { return in_progress_.contains(uid); }
  const InfeasibleClaims& infeasible() const { return infeasible_; }

 private:
  async::Task<Status> SyncOnce(std::string uid);
  std::optional<core::PersistentVolumeClaim> Find(const std::string& uid) const;
  // There is no claim of this incarnation any more.
  bool IsGone(const core::PersistentVolumeClaim& claim) const;
  // What to ask the driver when the objects of the cluster do not matter any more; else null.
  std::shared_ptr<const Preparation> ToRepeat(const core::PersistentVolumeClaim& claim) const;
  template <typename Predicate>
  bool IsCreatingFor(Predicate predicate) const;
  // The driver makes no volume for this claim.
  void End(const core::PersistentVolumeClaim& claim);
  bool AlreadyHasVolume(const core::PersistentVolumeClaim& claim) const;
  // Whether nothing is lost when the claim, which is held, goes.
  bool MayRelease(const core::PersistentVolumeClaim& claim) const;
  bool IsSaved(const core::PersistentVolumeClaim& claim) const;
  async::Task<Status> Attempt(core::PersistentVolumeClaim claim, storage::StorageClass klass);
  async::Task<Status> Repeat(core::PersistentVolumeClaim claim,
                             std::shared_ptr<const Preparation> preparation);
  // Runs the attempt. `class_uid` is empty when no further one will look at the class.
  async::Task<Status> Conclude(core::PersistentVolumeClaim claim, std::string class_uid,
                               async::Task<ProvisionResult> attempt);
  Status OnFailure(const core::PersistentVolumeClaim& claim, const std::string& class_uid,
                   const ProvisionResult& result);
  async::Task<Status> Reschedule(core::PersistentVolumeClaim claim, Status error);
  void Event(const core::PersistentVolumeClaim& claim, kube::EventType type, std::string reason,
             std::string message);

  Deps deps_;
  std::unordered_map<std::string, core::PersistentVolumeClaim> in_progress_;  // by UID
  // Of each claim in progress what the driver was asked, secrets included.
  std::unordered_map<std::string, std::shared_ptr<const Preparation>> prepared_;  // by UID
  // Whose attempt runs at this moment, in progress or not.
  std::unordered_map<std::string, core::PersistentVolumeClaim> running_;  // by UID
  InfeasibleClaims infeasible_;
};

}  // namespace csinative::provisioner
