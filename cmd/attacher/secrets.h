// SPDX-License-Identifier: Apache-2.0
//
// Secret data for the driver (attacher 8.5). Loop only.
#pragma once

#include <map>
#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/base/secret.h"
#include "lib/kube/client.h"

namespace csinative::attacher {

using SecretData = std::map<std::string, Secret>;

// GET of the Secret that the volume's publish reference names; empty without a reference. `client`
// outlives the task. REQUIRES: a CSI source.
async::Task<Result<SecretData>> ReadPublishSecret(kube::Client* client,
                                                  core::PersistentVolumeSpec spec);

// Copies the data into the field of a request.
void FillSecrets(const SecretData& data, google::protobuf::Map<std::string, std::string>* field);

}  // namespace csinative::attacher
