// SPDX-License-Identifier: Apache-2.0
//
// Which Secret a StorageClass names for a purpose, after its templates are resolved for one claim
// (provisioner 8). Pure functions; any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/class_parameters.h"
#include "lib/base/result.h"

namespace csinative::provisioner {

// The parameter keys of one purpose. The deprecated pair is empty where there never was one.
struct SecretKeys {
  std::string_view purpose;  // for error texts
  std::string_view name;
  std::string_view ns;
  std::string_view deprecated_name;
  std::string_view deprecated_ns;
};

namespace secret_kind {
extern const SecretKeys kDefault;  // used for every purpose that has no keys of its own
extern const SecretKeys kProvisioner;
extern const SecretKeys kControllerPublish;
extern const SecretKeys kNodeStage;
extern const SecretKeys kNodePublish;
extern const SecretKeys kControllerExpand;
extern const SecretKeys kNodeExpand;
extern const SecretKeys kControllerModify;
}  // namespace secret_kind

// All of the above.
const std::array<const SecretKeys*, 8>& AllSecretKinds();

// Who the templates are resolved for.
struct SecretContext {
  std::string volume_name;
  // Null: only ${pv.name} resolves. For a deletion, a claim with nothing but namespace and name.
  const core::PersistentVolumeClaim* claim = nullptr;
};

// The reference of one purpose; nothing when the class names none. Fails for half a pair, a pair
// given twice, an empty value, an unknown token, or a resolved text that is no valid name.
Result<std::optional<core::SecretReference>> ResolveSecret(const SecretKeys& keys,
                                                           const Parameters& parameters,
                                                           const SecretContext& context);

}  // namespace csinative::provisioner
