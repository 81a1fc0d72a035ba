// SPDX-License-Identifier: Apache-2.0
//
// Whether a claim can be filled from a snapshot (provisioner 9.4, checks 2 to 10). Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "cmd/provisioner/document.h"
#include "lib/base/result.h"

namespace csinative::provisioner {

// Checks 2 and 3. The name of the content that belongs to the snapshot.
Result<std::string> BoundContentName(const rapidjson::Document& snapshot);

enum class ModeConversion { kFree, kNeedsPermission };  // --prevent-volume-mode-conversion

// Checks 5 to 10; `provisioner` is that of the claim's class. The handle to restore from.
Result<std::string> RestorableHandle(const core::PersistentVolumeClaim& claim,
                                     const rapidjson::Document& snapshot,
                                     const rapidjson::Document& content,
                                     const std::string& provisioner, ModeConversion conversion);

}  // namespace csinative::provisioner
