// SPDX-License-Identifier: Apache-2.0
//
// Secret data for the driver, and the references that go into a volume (provisioner 7 steps 18 and
// 19, 8.3). Loop only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "apis/core/v1/secret.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/persistent_volume.h"
#include "cmd/provisioner/secret_templates.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/base/secret.h"
#include "lib/kube/client.h"

namespace csinative::provisioner {

using SecretData = std::map<std::string, Secret>;

// GET of the Secret. `client` outlives the task.
async::Task<Result<SecretData>> ReadSecret(kube::Client* client, core::SecretReference reference);

// All purposes except the provisioner's own, in the order of provisioner 7 step 19.
Status ResolvePublishedSecrets(const Parameters& parameters, const SecretContext& context,
                               SecretReferences* out);

// Copies the data of this Secret into the field of a request. Fails, and names the key, for a value
// that is no text: CSI has no way to send it.
Status FillSecrets(const core::SecretReference& reference, const SecretData& data,
                   google::protobuf::Map<std::string, std::string>* field);

}  // namespace csinative::provisioner
