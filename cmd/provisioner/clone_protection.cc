// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/clone_protection.h"

#include <utility>

#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/claim_writer.h"
#include "cmd/provisioner/clone_source.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {

bool CloneProtection::Wants(const core::PersistentVolumeClaim& claim) {
  return claim.metadata().has_deletiontimestamp() && HasCloneFinalizer(claim);
}

async::Task<Status> CloneProtection::Sync(std::string key) {
  const std::optional<core::PersistentVolumeClaim> source = caches_.claims().Get(key);
  if (!source || !Wants(*source)) co_return Status();
  const auto pending = caches_.PendingClonesOf(key);
  if (!pending.empty()) {
    co_return FailedPreconditionError(StrCat("claim ", key,
                                             " is still the source of the pending claim ",
                                             pending.front().metadata().name()));
  }
  // Differs: upstream lets go of it, and the driver reads a source that is being deleted.
  if (is_cloning_(key)) {
    co_return FailedPreconditionError(
        StrCat("claim ", key, " is still the source of a clone whose claim is gone"));
  }
  auto edited = co_await EditClaim(&client_, *source, RemoveFinalizer(apis::kFinalizerCloning));
  Status removed = edited.status();
  if (kube::IsNotFound(removed)) co_return Status();
  if (!removed.ok()) log_.Error(removed, "Failed to remove the clone finalizer", "PVC", key);
  co_return removed;
}

}  // namespace csinative::provisioner
