// SPDX-License-Identifier: Apache-2.0
//
// Whether a claim may be filled from an object of another namespace (provisioner 9.5). Pure
// functions; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "apis/gateway/v1beta1/gateway.pb.h"
#include "cmd/provisioner/data_source.h"
#include "lib/kube/resource.h"

// Only csi-provisioner reads this kind.
template <>
const csinative::kube::ResourceInfo&
csinative::kube::ResourceOf<csinative::gateway::ReferenceGrant>();

namespace csinative::provisioner {

// One grant in the source's namespace allows claims of `claim_namespace` and names the source.
bool IsGranted(std::string_view claim_namespace, const DataSource& source,
               const std::vector<gateway::ReferenceGrant>& grants);

}  // namespace csinative::provisioner
