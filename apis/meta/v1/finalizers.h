// SPDX-License-Identifier: Apache-2.0
//
// Finalizers of an object. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <string_view>

#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"

namespace csinative::apis {

inline bool HasFinalizer(const meta::ObjectMeta& metadata, std::string_view finalizer) {
  return std::ranges::find(metadata.finalizers(), finalizer) != metadata.finalizers().end();
}

}  // namespace csinative::apis
