// SPDX-License-Identifier: Apache-2.0
//
// Keeps a claim from going away while the driver may be making its volume, so that a process which
// starts anew still knows what its predecessor has begun (--hold-claims). Without it such a volume
// is lost when the claim is deleted while no process runs, as it is upstream (external-provisioner
// issue 486). Loop only.
//
// Guarantee, where claims are held: CreateVolume is not called before the server has confirmed the
// finalizer, and the finalizer goes only when the volume is saved or the driver said that nothing
// is there. A claim that is being deleted already cannot be held any more: it gets no volume.
// Finalizers are taken off whether or not claims are held now.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/meta/v1/finalizers.h"
#include "apis/namespaces.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"

namespace csinative::provisioner {

// The finalizer of this driver.
std::string HoldFinalizer(std::string_view driver);

class ClaimHold {
 public:
  enum class Mode { kOff, kHold };
  // client outlives this.
  ClaimHold(kube::Client* client, std::string_view driver, Mode mode)
      : client_(client), finalizer_(HoldFinalizer(driver)), mode_(mode) {}

  bool IsHeld(const core::PersistentVolumeClaim& claim) const {
    return apis::HasFinalizer(claim.metadata(), finalizer_);
  }
  // Before the driver is called. The claim as it is then; a conflict when it has changed since it
  // was read.
  async::Task<Result<core::PersistentVolumeClaim>> Hold(core::PersistentVolumeClaim claim);
  // Takes the finalizer off; a claim that is gone is no failure.
  async::Task<Status> Release(core::PersistentVolumeClaim claim);

  // How the last attempt of this process ended, by UID: the driver has nothing of the claim, or it
  // may have.
  void Settle(const std::string& uid) {
    settled_.insert(uid);
    doubtful_.erase(uid);
  }
  void Unsettle(const std::string& uid) {
    settled_.erase(uid);
    doubtful_.erase(uid);
  }
  bool IsSettled(const std::string& uid) const { return settled_.contains(uid); }
  // A predecessor may have begun a volume, and this process took the selected node off the claim
  // without having asked the driver: that a node is missing says nothing then.
  void Doubt(const std::string& uid) { doubtful_.insert(uid); }
  bool IsDoubtful(const std::string& uid) const { return doubtful_.contains(uid); }

 private:
  kube::Client* const client_;
  const std::string finalizer_;
  const Mode mode_;
  std::unordered_set<std::string> settled_;
  std::unordered_set<std::string> doubtful_;
};

}  // namespace csinative::provisioner
