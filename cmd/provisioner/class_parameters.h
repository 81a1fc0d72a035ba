// SPDX-License-Identifier: Apache-2.0
//
// What the provisioner itself reads from the parameters of a StorageClass, and what is left of them
// for the driver (provisioner 7, steps 11 and 20). Pure functions; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/map_entry.pb.h"
#include "lib/base/result.h"

namespace csinative::provisioner {

// Parameters in the order of their keys.
using Parameters = std::map<std::string, std::string, std::less<>>;

Parameters ParametersOf(const apis::Entries<apis::StringEntry>& entries);

// Without the keys under csi.storage.k8s.io/ that are known to the provisioner. Fails for an
// unknown key there. The deprecated unprefixed keys stay: drivers have always seen them.
Result<Parameters> StripPrefixed(const Parameters& parameters);

struct FsType {
  std::string value;        // may be empty
  bool deprecated = false;  // the unprefixed key was used: worth a warning
};

// The one file system key of the class, whose empty value counts as absent, else `fallback`. Fails
// when the class has more than one such key.
Result<FsType> FsTypeOf(const Parameters& parameters, std::string_view fallback);

}  // namespace csinative::provisioner
