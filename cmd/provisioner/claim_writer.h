// SPDX-License-Identifier: Apache-2.0
//
// Changes of claims. Only PUT is granted on them (provisioner 20), and a message of ours does not
// know all fields; so the stored document is read, edited and put back. Loop only.
#pragma once

#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/document.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"

namespace csinative::provisioner {

// Edits the claim as it was when `seen` was read: a conflict when it has changed since then. Its
// resource version afterwards. `client` outlives the task.
async::Task<Result<std::string>> EditClaim(kube::Client* client, core::PersistentVolumeClaim seen,
                                           DocumentEdit edit);

}  // namespace csinative::provisioner
