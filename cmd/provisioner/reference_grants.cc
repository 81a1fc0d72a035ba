// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/reference_grants.h"

#include <algorithm>

template <>
const csinative::kube::ResourceInfo&
csinative::kube::ResourceOf<csinative::gateway::ReferenceGrant>() {
  static constexpr ResourceInfo kResource = {.group = "gateway.networking.k8s.io",
                                             .version = "v1beta1",
                                             .kind = "ReferenceGrant",
                                             .plural = "referencegrants",
                                             .singular = "referencegrant",
                                             .namespaced = true};
  return kResource;
}

namespace csinative::provisioner {
namespace {

bool IsFromClaims(const gateway::ReferenceGrantFrom& from, std::string_view claim_namespace) {
  return from.group().empty() && from.kind() == kClaimKind && from.namespace_() == claim_namespace;
}

bool IsToSource(const gateway::ReferenceGrantTo& to, const DataSource& source) {
  return to.group() == source.group && to.kind() == source.kind &&
         (to.name().empty() || to.name() == source.name);
}

}  // namespace

bool IsGranted(std::string_view claim_namespace, const DataSource& source,
               const std::vector<gateway::ReferenceGrant>& grants) {
  return std::ranges::any_of(grants, [&](const gateway::ReferenceGrant& grant) {
    return grant.metadata().namespace_() == source.ns &&
           std::ranges::any_of(
               grant.spec().from(),
               [&](const auto& from) { return IsFromClaims(from, claim_namespace); }) &&
           std::ranges::any_of(grant.spec().to(),
                               [&](const auto& to) { return IsToSource(to, source); });
  });
}

}  // namespace csinative::provisioner
