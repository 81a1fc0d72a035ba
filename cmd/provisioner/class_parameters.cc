// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/class_parameters.h"

#include <algorithm>

#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/secret_templates.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

bool IsKnownPrefixed(std::string_view key) {
  if (key == apis::kParameterFsType) return true;
  const auto& kinds = AllSecretKinds();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const SecretKeys* keys) { return key == keys->name || key == keys->ns; });
}

}  // namespace

Parameters ParametersOf(const apis::Entries<apis::StringEntry>& entries) {
  Parameters out;
  for (const apis::StringEntry& entry : entries) out[entry.key()] = entry.value();
  return out;
}

Result<Parameters> StripPrefixed(const Parameters& parameters) {
  Parameters out;
  for (const auto& [key, value] : parameters) {
    if (!key.starts_with(apis::kParameterPrefix)) {
      out.emplace(key, value);
    } else if (!IsKnownPrefixed(key)) {
      return InvalidArgumentError(StrCat("found unknown parameter key \"", key,
                                         "\" with reserved namespace ", apis::kParameterPrefix));
    }
  }
  return out;
}

Result<FsType> FsTypeOf(const Parameters& parameters, std::string_view fallback) {
  FsType found;
  int keys = 0;
  for (const auto& [key, value] : parameters) {
    const bool deprecated = EqualsIgnoreCase(key, "fstype");
    if (!deprecated && key != apis::kParameterFsType) continue;
    ++keys;
    found = {value, deprecated};
  }
  if (keys > 1) {
    return InvalidArgumentError(StrCat("fstype specified in parameters with both \"fstype\" and \"",
                                       apis::kParameterFsType, "\" keys"));
  }
  if (found.value.empty()) found.value = std::string(fallback);
  return found;
}

}  // namespace csinative::provisioner
