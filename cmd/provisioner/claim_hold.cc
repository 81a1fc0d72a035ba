// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/claim_hold.h"

#include "cmd/provisioner/claim_writer.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {

std::string HoldFinalizer(std::string_view driver) {
  return StrCat("creating.csi-native.io/", driver);
}

async::Task<Result<core::PersistentVolumeClaim>> ClaimHold::Hold(
    core::PersistentVolumeClaim claim) {
  if (mode_ == Mode::kOff || IsHeld(claim)) co_return std::move(claim);
  if (claim.metadata().has_deletiontimestamp()) {
    // The API server takes no new finalizer any more, and nobody needs the volume.
    co_return FailedPreconditionError("the claim is being deleted");
  }
  auto version = co_await EditClaim(client_, claim, AppendFinalizer(finalizer_));
  if (!version.ok()) {
    co_return version.status().WithContext("failed to hold the claim while its volume is made");
  }
  claim.mutable_metadata()->add_finalizers(finalizer_);
  claim.mutable_metadata()->set_resourceversion(*std::move(version));
  co_return std::move(claim);
}

async::Task<Status> ClaimHold::Release(core::PersistentVolumeClaim claim) {
  auto version = co_await EditClaim(client_, claim, RemoveFinalizer(finalizer_));
  if (!version.ok() && !kube::IsNotFound(version.status())) co_return version.status();
  Unsettle(claim.metadata().uid());
  co_return Status();
}

}  // namespace csinative::provisioner
